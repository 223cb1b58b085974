import type { InstallationStore } from '@slack/bolt';
import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import type { AdapterContext } from '../adapter.ts';
import type { Seal } from '../seal.ts';
import { createShelf, type Shelf } from '../shelf.ts';
import { tenantOf } from './receive.ts';

/** Installations of several workspaces in the state store, sealed; an organisation's under its own id. */
export function createInstallations(
  context: AdapterContext,
  seal: Seal,
): InstallationStore & Pick<Shelf<string>, 'drop'> {
  const shelf = createShelf(context, { name: 'slack/installation', shape: z.string() });
  return {
    async storeInstallation({ team, enterprise, isEnterpriseInstall = false, bot, user }) {
      // Tokens of people are none of ours.
      const person = { id: user.id };
      const kept = { team, enterprise, isEnterpriseInstall, bot, user: person, authVersion: 'v2' };
      const tenant = tenantOf({ team: team?.id, enterprise: enterprise?.id, orgWide: isEnterpriseInstall });
      await shelf.put(tenant, seal.close(JSON.stringify(kept)));
    },
    async fetchInstallation({ teamId, enterpriseId, isEnterpriseInstall }) {
      const tenant = tenantOf({ team: teamId, enterprise: enterpriseId, orgWide: isEnterpriseInstall });
      const opened = seal.open((await shelf.find(tenant)) ?? '');
      if (opened === undefined) throw new AppError('platform-refused', 'the app is not installed in this workspace');
      // Sealed by ourselves, so it is what `storeInstallation` wrote.
      return JSON.parse(opened);
    },
    drop: shelf.drop,
  };
}

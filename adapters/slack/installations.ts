import type { Installation, InstallationQuery, InstallationStore } from '@slack/bolt';
import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import type { AdapterContext } from '../adapter.ts';
import type { Seal } from '../seal.ts';
import { createShelf } from '../shelf.ts';
import { tenantOf, type Workspace } from './receive.ts';

export interface Installations extends InstallationStore {
  drop(tenant: string): Promise<void>;
}

/** Installations of several workspaces in the state store, sealed; an organisation's under its own id. */
export function createInstallations(context: AdapterContext, seal: Seal): Installations {
  const shelf = createShelf(context, { name: 'slack/installation', shape: z.string() });
  return {
    async storeInstallation({ team, enterprise, isEnterpriseInstall = false, bot, user }) {
      const workspace = { team: team?.id ?? null, enterprise: enterprise?.id ?? null, orgWide: isEnterpriseInstall };
      // Tokens of people are none of ours.
      const person = { id: user.id };
      const kept = { team, enterprise, isEnterpriseInstall, bot, user: person, authVersion: 'v2' };
      await shelf.put(tenantOf(workspace), seal.close(JSON.stringify(kept)));
    },
    async fetchInstallation({ teamId, enterpriseId, isEnterpriseInstall }: InstallationQuery<boolean>) {
      const workspace: Workspace = {
        team: teamId ?? null,
        enterprise: enterpriseId ?? null,
        orgWide: isEnterpriseInstall,
      };
      const opened = seal.open((await shelf.find(tenantOf(workspace))) ?? '');
      if (opened === undefined) throw new AppError('platform-refused', 'the app is not installed in this workspace');
      // Sealed by ourselves, so it is what `storeInstallation` wrote.
      const found: Installation<'v2', boolean> = JSON.parse(opened);
      return found;
    },
    drop: shelf.drop,
  };
}

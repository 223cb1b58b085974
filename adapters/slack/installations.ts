import type { Installation, InstallationQuery, InstallationStore } from '@slack/bolt';
import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import type { AdapterContext } from '../adapter.ts';
import type { Seal } from '../seal.ts';
import { tenantOf, type Workspace } from './receive.ts';

const named = z.object({ id: z.string(), name: z.string().exactOptional() });
const stored = z.object({
  team: named.optional(),
  enterprise: named.optional(),
  isEnterpriseInstall: z.boolean().default(false),
  user: z.object({ id: z.string() }),
  bot: z.object({
    id: z.string(),
    userId: z.string(),
    token: z.string(),
    refreshToken: z.string().exactOptional(),
    expiresAt: z.number().exactOptional(),
    scopes: z.array(z.string()),
  }),
});

const forgottenAtOnce = 1_000;

export interface Installations extends InstallationStore {
  /** With what is kept about threads and answers there; the rest expires. */
  remove(workspace: Workspace): Promise<void>;
}

/** Installations of several workspaces in the state store, sealed; an organisation's under its own id. */
export function createInstallations({ store }: AdapterContext, seal: Seal): Installations {
  const keyOf = (workspace: Workspace): string => `slack/installation/${tenantOf(workspace)}`;
  return {
    async storeInstallation(installation) {
      const value = stored.parse(installation);
      const { team, enterprise, isEnterpriseInstall: orgWide } = value;
      const workspace = { team: team?.id ?? null, enterprise: enterprise?.id ?? null, orgWide };
      await store.set(keyOf(workspace), seal.close(JSON.stringify(value)));
    },
    async fetchInstallation({ teamId, enterpriseId, isEnterpriseInstall }: InstallationQuery<boolean>) {
      const workspace = { team: teamId ?? null, enterprise: enterpriseId ?? null, orgWide: isEnterpriseInstall };
      const entry = await store.get(keyOf(workspace));
      const opened = typeof entry?.value === 'string' ? seal.open(entry.value) : undefined;
      if (opened === undefined) throw new AppError('platform-refused', 'the app is not installed in this workspace');
      const { user, team, enterprise, ...rest } = stored.parse(JSON.parse(opened));
      const person = { id: user.id, token: undefined, scopes: undefined };
      const found: Installation<'v2', boolean> = { ...rest, team, enterprise, user: person, authVersion: 'v2' };
      return found;
    },
    async remove(workspace) {
      await store.delete(keyOf(workspace));
      for (const kind of ['thread', 'answer']) {
        const entries = await store.list(`slack/${kind}/${tenantOf(workspace)}/`, forgottenAtOnce);
        await Promise.all(entries.map(({ key }) => store.delete(key)));
      }
    },
  };
}

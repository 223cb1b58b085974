import { type InstallationStore, webApi } from '@slack/bolt';
import { AppError, asAppError } from '../../src/errors.ts';
import type { AdapterContext } from '../adapter.ts';
import { createProfileLocales } from '../profile-locales.ts';
import { type SlackAdapterConfig, slackScopes } from './config.ts';
import { identityOf, type SlackAddress, type Workspace } from './receive.ts';
import { boltLogger, call, webClientOptions } from './web.ts';

/** Tokens and clients of workspaces, and the languages of their people. */
export function createWorkspaces(config: SlackAdapterConfig, context: AdapterContext, installed: InstallationStore) {
  const { credentials } = config;
  const logger = boltLogger(context.logger);
  const localeOf = createProfileLocales(context.now);
  const clients = new Map<string, webApi.WebClient>();
  let botUser: string | undefined;

  const clientOf = (token: string): webApi.WebClient => {
    const client = clients.get(token) ?? new webApi.WebClient(token, webClientOptions(config, logger));
    clients.set(token, client);
    return client;
  };
  const clientFor = async ({ team, enterprise, orgWide }: Workspace): Promise<webApi.WebClient> => {
    if (credentials.transport !== 'oauth') return clientOf(credentials.botToken);
    const query = { teamId: team ?? undefined, enterpriseId: enterprise ?? undefined, isEnterpriseInstall: orgWide };
    return clientOf((await installed.fetchInstallation(query)).bot?.token ?? '');
  };
  /** Tries the token; a line for each missing optional scope. @throws AppError when refused or unreachable. */
  const verify = async (): Promise<readonly string[]> => {
    if (credentials.transport === 'oauth') return [];
    const answer = await call('auth.test', clientOf(credentials.botToken).auth.test());
    botUser = answer.user_id;
    return missingScopes(answer.response_metadata?.scopes);
  };
  return {
    clientFor,
    verify,
    /** Our bot user, where one token serves one workspace and was verified. */
    botUser: () => botUser,
    /** Language of the person's profile; undefined when Slack does not say in time. */
    localeOf: (address: SlackAddress) =>
      localeOf(identityOf(address).userId, async () => {
        const client = await clientFor(address);
        return (await client.users.info({ user: address.user, include_locale: true })).user?.locale;
      }),
    /** Tries all credentials; a line for each problem. */
    async check(): Promise<readonly string[]> {
      const problems = await verify().catch((error: unknown) => [asAppError(error).message]);
      if (credentials.transport !== 'socket') return problems;
      const opened = call('apps.connections.open', clientOf(credentials.appToken).apps.connections.open({}));
      const failure = await opened.then(() => undefined, asAppError);
      if (failure === undefined) return problems;
      return [...problems, `SLACK_APP_TOKEN: ${failure.message} (it needs the scope connections:write)`];
    },
  };
}

export type Workspaces = ReturnType<typeof createWorkspaces>;

/** @throws AppError when a scope is missing without which nothing works. */
function missingScopes(granted: readonly string[] | undefined): readonly string[] {
  if (granted === undefined) return [];
  const missing = (scopes: readonly string[]) => scopes.filter((scope) => !granted.includes(scope));
  const needed = missing(slackScopes.required).join(', ');
  if (needed !== '') {
    const remedy = 'add it under OAuth & Permissions and reinstall the app';
    throw new AppError('platform-refused', `the bot token lacks the scope ${needed}: ${remedy}`);
  }
  return missing(slackScopes.optional).map((scope) => `SLACK_BOT_TOKEN has no scope ${scope}: what needs it is off`);
}

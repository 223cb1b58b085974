import { webApi } from '@slack/bolt';
import { AppError } from '../../src/errors.ts';
import type { Locale } from '../../src/message.ts';
import type { AdapterContext } from '../adapter.ts';
import { createProfileLocales } from '../profile-locales.ts';
import { type SlackAdapterConfig, slackScopes } from './config.ts';
import type { Installations } from './installations.ts';
import { type SlackAddress, userIdOf, type Workspace } from './receive.ts';
import { boltLogger, call, webClientOptions } from './web.ts';

export interface Workspaces {
  clientFor(workspace: Workspace): Promise<webApi.WebClient>;
  /** Language of the person's profile; undefined when Slack does not say in time. */
  localeOf(address: SlackAddress): Promise<Locale | undefined>;
  /** Tries the token; a line for each missing optional scope. @throws AppError when refused or unreachable. */
  verify(): Promise<readonly string[]>;
  /** Tries all credentials; a line for each problem. */
  check(): Promise<readonly string[]>;
  /** Our bot user, where one token serves one workspace and was verified. */
  botUser(): string | undefined;
}

/** Tokens and clients of workspaces, and the languages of their people. */
export function createWorkspaces(
  config: SlackAdapterConfig,
  context: AdapterContext,
  installations: Installations,
): Workspaces {
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
    return clientOf((await installations.fetchInstallation(query)).bot?.token ?? '');
  };
  const verify = async (): Promise<readonly string[]> => {
    if (credentials.transport === 'oauth') return [];
    const answer = await call('auth.test', clientOf(credentials.botToken).auth.test());
    botUser = answer.user_id;
    return missingScopes(answer.response_metadata?.scopes);
  };
  return {
    clientFor,
    verify,
    botUser: () => botUser,
    localeOf: (address) =>
      localeOf(userIdOf(address), async () => {
        const client = await clientFor(address);
        return (await client.users.info({ user: address.user, include_locale: true })).user?.locale;
      }),
    async check() {
      const lineOf = (error: unknown): string => (error instanceof Error ? error.message : 'failed');
      const problems = await verify().catch((error: unknown) => [lineOf(error)]);
      if (credentials.transport !== 'socket') return problems;
      const opened = call('apps.connections.open', clientOf(credentials.appToken).apps.connections.open({}));
      const advice = (error: unknown) => `SLACK_APP_TOKEN: ${lineOf(error)} (it needs the scope connections:write)`;
      return opened.then(
        () => problems,
        (error: unknown) => [...problems, advice(error)],
      );
    },
  };
}

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

import { setTimeout as wait } from 'node:timers/promises';
import type { webApi } from '@slack/bolt';
import { AppError } from '../../src/errors.ts';
import type { Locale } from '../../src/message.ts';
import type { AdapterContext } from '../adapter.ts';
import { createMemory, type Remembered } from '../memory.ts';
import { type SlackAdapterConfig, slackScopes } from './config.ts';
import type { Installations } from './installations.ts';
import { type SlackAddress, userIdOf, type Workspace } from './receive.ts';
import { boltLogger, call, createWebClient } from './web.ts';

const localeWaitMs = 1_500;
const localeLifeMs = 86_400_000;
/** After a failure, such as a missing scope. */
const localeRetryMs = 600_000;

export interface Workspaces {
  clientFor(workspace: Workspace): Promise<webApi.WebClient>;
  /** Language of the person's profile, asked at most once a day; undefined when Slack does not say in time. */
  localeOf(address: SlackAddress): Promise<Locale | undefined>;
  /** Tries the token; a line for each missing optional scope. @throws AppError when refused or unreachable. */
  verify(): Promise<readonly string[]>;
  /** Tries all credentials; a line for each problem. */
  check(): Promise<readonly string[]>;
  /** Our bot user, where one token serves one workspace and was verified. */
  botUser(): string | undefined;
}

interface WorkspaceParts {
  readonly config: SlackAdapterConfig;
  readonly context: AdapterContext;
  readonly installations: Installations;
}

/** Tokens and clients of workspaces, and the languages of their people, bounded. */
export function createWorkspaces({ config, context, installations }: WorkspaceParts): Workspaces {
  const { credentials } = config;
  const logger = boltLogger(context.logger);
  const clients = new Map<string, webApi.WebClient>();
  let botUser: string | undefined;

  const clientOf = (token: string): webApi.WebClient => {
    const client = clients.get(token) ?? createWebClient(token, config, logger);
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
  const check = async (): Promise<readonly string[]> => {
    const lineOf = (error: unknown): string => (error instanceof Error ? error.message : 'failed');
    const problems = await verify().catch((error: unknown) => [lineOf(error)]);
    if (credentials.transport !== 'socket') return problems;
    const client = createWebClient(credentials.appToken, config, logger);
    return call('apps.connections.open', client.apps.connections.open({})).then(
      () => problems,
      (error: unknown) => [...problems, `SLACK_APP_TOKEN: ${lineOf(error)} (it needs the scope connections:write)`],
    );
  };
  return { clientFor, verify, check, botUser: () => botUser, localeOf: createLocales(clientFor, context.now) };
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

function createLocales(clientFor: Workspaces['clientFor'], now: () => number): Workspaces['localeOf'] {
  const known = createMemory<Locale | undefined>(now);
  const ask = async (address: SlackAddress): Promise<Remembered<Locale | undefined>> => {
    try {
      const client = await clientFor(address);
      const { user } = await client.users.info({ user: address.user, include_locale: true });
      const locale = user?.locale?.startsWith('zh') === true ? 'zh' : 'en';
      return { value: user?.locale === undefined ? undefined : locale, lifeMs: localeLifeMs };
    } catch {
      return { value: undefined, lifeMs: localeRetryMs };
    }
  };
  return (address) =>
    Promise.race([known.get(userIdOf(address), () => ask(address)), wait(localeWaitMs, undefined, { ref: false })]);
}

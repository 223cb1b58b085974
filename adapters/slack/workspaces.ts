import { setTimeout as wait } from 'node:timers/promises';
import type { webApi } from '@slack/bolt';
import { AppError } from '../../src/errors.ts';
import type { Locale } from '../../src/message.ts';
import type { AdapterContext } from '../adapter.ts';
import { type SlackAdapterConfig, slackScopes } from './config.ts';
import { boltLogger } from './connection.ts';
import type { Installations } from './installations.ts';
import { type SlackAddress, userIdOf, type Workspace } from './receive.ts';
import { call, createWebClient } from './web.ts';

const localeWaitMs = 1_500;
const localeLifeMs = 86_400_000;

/** A map that forgets its oldest entries. */
function bounded<T>(limit: number) {
  const entries = new Map<string, T>();
  return {
    get: (key: string): T | undefined => entries.get(key),
    set(key: string, value: T): T {
      const [oldest] = entries.keys();
      if (entries.size >= limit && oldest !== undefined) entries.delete(oldest);
      entries.set(key, value);
      return value;
    },
  };
}

export interface Workspaces {
  clientFor(workspace: Workspace): Promise<webApi.WebClient>;
  /** Language of the person's profile, asked at most once a day; undefined when Slack does not say in time. */
  localeOf(address: SlackAddress): Promise<Locale | undefined>;
  /** Tries the token: who we are, and a warning for each missing optional scope. @throws AppError when refused or unreachable. */
  verify(): Promise<readonly string[]>;
  /** Whether the app-level token may open a connection; one line per problem. */
  checkAppToken(): Promise<readonly string[]>;
  /** Our bot user, where one token serves one workspace and was verified. */
  botUser(): string | undefined;
}

/** Tokens, clients and what is cached about workspaces and people, all bounded. */
export function createWorkspaces(
  config: SlackAdapterConfig,
  context: AdapterContext,
  installations: Installations,
): Workspaces {
  const { credentials } = config;
  const logger = boltLogger(context.logger);
  const clients = bounded<webApi.WebClient>(500);
  const locales = bounded<{ readonly value: Promise<Locale | undefined>; readonly until: number }>(10_000);
  let botUser: string | undefined;

  const clientOf = (token: string): webApi.WebClient =>
    clients.get(token) ?? clients.set(token, createWebClient(token, config, logger));
  const clientFor = async ({ team, enterprise, orgWide }: Workspace): Promise<webApi.WebClient> => {
    if (credentials.transport !== 'oauth') return clientOf(credentials.botToken);
    const query = { teamId: team ?? undefined, enterpriseId: enterprise ?? undefined, isEnterpriseInstall: orgWide };
    return clientOf((await installations.fetchInstallation(query)).bot?.token ?? '');
  };
  const askLocale = async (address: SlackAddress): Promise<Locale | undefined> => {
    const client = await clientFor(address);
    const answer = await client.users.info({ user: address.user, include_locale: true });
    const locale = answer.user?.locale;
    return locale === undefined ? undefined : locale.startsWith('zh') ? 'zh' : 'en';
  };
  return {
    clientFor,
    botUser: () => botUser,
    async localeOf(address) {
      const key = userIdOf(address);
      const cached = locales.get(key);
      const fresh = cached !== undefined && cached.until > context.now();
      const until = context.now() + localeLifeMs;
      const entry = fresh ? cached : locales.set(key, { until, value: askLocale(address).catch(() => undefined) });
      return Promise.race([entry.value, wait(localeWaitMs, undefined, { ref: false })]);
    },
    async checkAppToken() {
      if (credentials.transport !== 'socket') return [];
      const client = createWebClient(credentials.appToken, config, logger);
      return call('apps.connections.open', () => client.apps.connections.open({})).then(
        () => [],
        (error: unknown) => [
          `SLACK_APP_TOKEN: ${error instanceof Error ? error.message : 'failed'} (it needs the scope connections:write)`,
        ],
      );
    },
    async verify() {
      if (credentials.transport === 'oauth') return [];
      const client = clientOf(credentials.botToken);
      const answer = await call('auth.test', () => client.auth.test());
      botUser = answer.user_id;
      const granted = answer.response_metadata?.scopes;
      const missing = (scopes: readonly string[]) =>
        granted === undefined ? [] : scopes.filter((scope) => !granted.includes(scope));
      const needed = missing(slackScopes.required);
      if (needed.length > 0) {
        throw new AppError(
          'platform-refused',
          `the bot token lacks the scope ${needed.join(', ')}: add it under OAuth & Permissions and reinstall the app`,
        );
      }
      return missing(slackScopes.optional).map(
        (scope) => `SLACK_BOT_TOKEN has no scope ${scope}: what needs it is off`,
      );
    },
  };
}

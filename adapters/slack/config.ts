import { z } from 'zod';
import { encryptionKey, missing, report, retentionDays, text } from '../variables.ts';

/** How the platform reaches us and which workspaces we serve. */
export type SlackCredentials =
  | { readonly transport: 'socket'; readonly botToken: string; readonly appToken: string }
  | { readonly transport: 'http'; readonly botToken: string; readonly signingSecret: string }
  | {
      readonly transport: 'oauth';
      readonly clientId: string;
      readonly clientSecret: string;
      readonly stateSecret: string;
      readonly signingSecret: string;
    };

export interface SlackAdapterConfig {
  readonly credentials: SlackCredentials;
  /** Web API base. */
  readonly apiUrl: string;
  /** Both an app token and a signing secret were given: Socket Mode won. */
  readonly ignoresSigningSecret: boolean;
  /** Base64 of 32 bytes; without it a key is derived from the credentials (never with OAuth). */
  readonly encryptionKey: string | undefined;
  /** How long threads and details of answers stay known. */
  readonly retentionDays: number;
}

/** Bot scopes of `manifest.json`; without an optional one the surface that needs it is missing, nothing else. */
export const slackScopes = {
  required: ['app_mentions:read', 'chat:write', 'commands', 'im:history'],
  optional: ['assistant:write', 'channels:history', 'groups:history', 'mpim:history', 'users:read'],
} as const;

const variables = z.object({
  SLACK_BOT_TOKEN: text,
  SLACK_APP_TOKEN: text,
  SLACK_SIGNING_SECRET: text,
  SLACK_CLIENT_ID: text,
  SLACK_CLIENT_SECRET: text,
  SLACK_STATE_SECRET: text,
  SLACK_API_URL: text.transform((value) => value ?? 'https://slack.com/api/').refine(URL.canParse, 'is not a URL'),
  ENCRYPTION_KEY: encryptionKey,
  RETENTION_DAYS: retentionDays,
});
type Variables = z.infer<typeof variables>;

const oauthNames = ['SLACK_CLIENT_ID', 'SLACK_CLIENT_SECRET', 'SLACK_STATE_SECRET'] as const;

/** The way to connect that the variables mean, complete or not; undefined when Slack is not configured. */
function transportOf(env: Variables): SlackCredentials['transport'] | undefined {
  if (env.SLACK_APP_TOKEN !== undefined) return 'socket';
  if (env.SLACK_BOT_TOKEN !== undefined) return env.SLACK_SIGNING_SECRET === undefined ? 'socket' : 'http';
  if (oauthNames.some((name) => env[name] !== undefined)) return 'oauth';
  return env.SLACK_SIGNING_SECRET === undefined ? undefined : 'http';
}

/** What each way needs, with where a person finds it. */
const needs = {
  socket: {
    SLACK_BOT_TOKEN: 'the Bot User OAuth Token, xoxb-…',
    SLACK_APP_TOKEN: 'xapp-… for Socket Mode, or SLACK_SIGNING_SECRET for HTTP',
  },
  http: { SLACK_BOT_TOKEN: 'the Bot User OAuth Token, xoxb-…' },
  oauth: Object.fromEntries(
    [...oauthNames, 'SLACK_SIGNING_SECRET', 'ENCRYPTION_KEY'].map((name) => [name, 'several workspaces by OAuth']),
  ),
} as const;

/**
 * Environment variables → configuration; `null` when Slack is not configured. A half configuration gives one issue per
 * missing variable, with the variable as its path.
 */
export const slackEnvSchema = variables.transform((env, context): SlackAdapterConfig | null => {
  const transport = transportOf(env);
  if (transport === undefined) return null;
  report(context, missing(env, needs[transport]));
  if (env.SLACK_BOT_TOKEN?.startsWith('xapp-'))
    report(context, { SLACK_BOT_TOKEN: 'holds an app-level token; the xoxb-… token belongs here' });
  if (env.SLACK_APP_TOKEN?.startsWith('xoxb-'))
    report(context, { SLACK_APP_TOKEN: 'holds a bot token; the xapp-… token belongs here' });
  const given = {
    botToken: env.SLACK_BOT_TOKEN ?? '',
    appToken: env.SLACK_APP_TOKEN ?? '',
    signingSecret: env.SLACK_SIGNING_SECRET ?? '',
    clientId: env.SLACK_CLIENT_ID ?? '',
    clientSecret: env.SLACK_CLIENT_SECRET ?? '',
    stateSecret: env.SLACK_STATE_SECRET ?? '',
  };
  return {
    credentials: { transport, ...given },
    apiUrl: env.SLACK_API_URL,
    ignoresSigningSecret: transport === 'socket' && env.SLACK_SIGNING_SECRET !== undefined,
    encryptionKey: env.ENCRYPTION_KEY,
    retentionDays: env.RETENTION_DAYS,
  };
});

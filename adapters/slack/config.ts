import { z } from 'zod';
import { encryptionKey, retentionDays, text } from '../variables.ts';

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

type Problem = readonly [keyof Variables, string];

/** What is missing or mixed up, by variable; empty when the credentials are complete. */
function problemsOf(env: Variables): readonly Problem[] {
  const { SLACK_BOT_TOKEN: bot, SLACK_APP_TOKEN: app, SLACK_SIGNING_SECRET: signing } = env;
  const missing = (why: string, ...names: readonly (keyof Variables)[]): Problem[] =>
    names.filter((name) => env[name] === undefined).map((name) => [name, `missing (${why})`]);
  if (bot === undefined && app === undefined && oauthNames.some((name) => env[name] !== undefined))
    return missing('several workspaces by OAuth', ...oauthNames, 'SLACK_SIGNING_SECRET', 'ENCRYPTION_KEY');
  const problems = missing('the Bot User OAuth Token, xoxb-…', 'SLACK_BOT_TOKEN');
  if (signing === undefined)
    problems.push(...missing('xapp-… for Socket Mode, or SLACK_SIGNING_SECRET for HTTP', 'SLACK_APP_TOKEN'));
  if (bot?.startsWith('xapp-'))
    problems.push(['SLACK_BOT_TOKEN', 'holds an app-level token; the xoxb-… token belongs here']);
  if (app?.startsWith('xoxb-')) problems.push(['SLACK_APP_TOKEN', 'holds a bot token; the xapp-… token belongs here']);
  return problems;
}

function credentialsOf(env: Variables): SlackCredentials {
  const { SLACK_BOT_TOKEN: botToken = '', SLACK_APP_TOKEN: appToken, SLACK_SIGNING_SECRET: signingSecret = '' } = env;
  if (appToken !== undefined) return { transport: 'socket', botToken, appToken };
  if (botToken !== '') return { transport: 'http', botToken, signingSecret };
  const {
    SLACK_CLIENT_ID: clientId = '',
    SLACK_CLIENT_SECRET: clientSecret = '',
    SLACK_STATE_SECRET: stateSecret = '',
  } = env;
  return { transport: 'oauth', clientId, clientSecret, stateSecret, signingSecret };
}

/**
 * Environment variables → configuration; `null` when Slack is not configured. A half configuration gives one issue per
 * missing variable, with the variable as its path.
 */
export const slackEnvSchema = variables.transform((env, context): SlackAdapterConfig | null => {
  const given = ['SLACK_BOT_TOKEN', 'SLACK_APP_TOKEN', 'SLACK_SIGNING_SECRET', ...oauthNames] as const;
  if (given.every((name) => env[name] === undefined)) return null;
  for (const [variable, message] of problemsOf(env)) {
    context.addIssue({ code: 'custom', path: [variable], message, input: undefined });
  }
  const credentials = credentialsOf(env);
  return {
    credentials,
    apiUrl: env.SLACK_API_URL,
    ignoresSigningSecret: credentials.transport === 'socket' && env.SLACK_SIGNING_SECRET !== undefined,
    encryptionKey: env.ENCRYPTION_KEY,
    retentionDays: env.RETENTION_DAYS,
  };
});

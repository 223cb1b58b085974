import { z } from 'zod';

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
  /** Web API base with a closing slash. */
  readonly apiUrl: string;
  /** Both an app token and a signing secret were given: Socket Mode won. */
  readonly ignoresSigningSecret: boolean;
  /** Base64 of 32 bytes; without it a key is derived from the credentials (never with OAuth). */
  readonly encryptionKey?: string;
  /** How long threads and details of answers stay known. */
  readonly retentionDays: number;
}

/** Bot scopes of `manifest.json`; without an optional one the surface that needs it is missing, nothing else. */
export const slackScopes = {
  required: ['app_mentions:read', 'chat:write', 'commands', 'im:history'],
  optional: ['assistant:write', 'channels:history', 'groups:history', 'mpim:history', 'users:read'],
} as const;

const text = z
  .string()
  .optional()
  .transform((value) => (value === undefined || value.trim() === '' ? undefined : value.trim()));

const variables = z.object({
  SLACK_BOT_TOKEN: text,
  SLACK_APP_TOKEN: text,
  SLACK_SIGNING_SECRET: text,
  SLACK_CLIENT_ID: text,
  SLACK_CLIENT_SECRET: text,
  SLACK_STATE_SECRET: text,
  SLACK_API_URL: text,
  ENCRYPTION_KEY: text,
  RETENTION_DAYS: text
    .transform((value) => Number(value ?? 30))
    .refine((days) => days > 0, 'must be a positive number'),
});

type Variables = z.infer<typeof variables>;
type Problem = (variable: keyof Variables, message: string) => void;

const oauthVariables = ['SLACK_CLIENT_ID', 'SLACK_CLIENT_SECRET', 'SLACK_STATE_SECRET'] as const;

function readOAuth(env: Variables, problem: Problem): SlackCredentials | undefined {
  const needed = [...oauthVariables, 'SLACK_SIGNING_SECRET', 'ENCRYPTION_KEY'] as const;
  for (const name of needed) if (env[name] === undefined) problem(name, 'missing (several workspaces by OAuth)');
  const { SLACK_CLIENT_ID: clientId, SLACK_CLIENT_SECRET: clientSecret, SLACK_STATE_SECRET: stateSecret } = env;
  const signingSecret = env.SLACK_SIGNING_SECRET;
  if (clientId === undefined || clientSecret === undefined) return undefined;
  if (stateSecret === undefined || signingSecret === undefined) return undefined;
  return { transport: 'oauth', clientId, clientSecret, stateSecret, signingSecret };
}

function readCredentials(env: Variables, problem: Problem): SlackCredentials | undefined {
  const { SLACK_BOT_TOKEN: botToken, SLACK_APP_TOKEN: appToken, SLACK_SIGNING_SECRET: signingSecret } = env;
  const wantsOAuth = oauthVariables.some((name) => env[name] !== undefined);
  if (botToken === undefined && appToken === undefined && wantsOAuth) return readOAuth(env, problem);
  if (botToken === undefined && appToken === undefined && signingSecret === undefined) return undefined;
  if (botToken === undefined) problem('SLACK_BOT_TOKEN', 'missing (the Bot User OAuth Token, xoxb-…)');
  else if (botToken.startsWith('xapp-'))
    problem('SLACK_BOT_TOKEN', 'holds an app-level token; put the xoxb-… token here');
  if (appToken?.startsWith('xoxb-')) problem('SLACK_APP_TOKEN', 'holds a bot token; put the xapp-… token here');
  if (appToken === undefined && signingSecret === undefined) {
    problem('SLACK_APP_TOKEN', 'missing (xapp-…, for Socket Mode), or set SLACK_SIGNING_SECRET for HTTP');
  }
  if (botToken === undefined) return undefined;
  if (appToken !== undefined) return { transport: 'socket', botToken, appToken };
  return signingSecret === undefined ? undefined : { transport: 'http', botToken, signingSecret };
}

/**
 * Environment variables → configuration; `null` when Slack is not configured. A half configuration gives one issue per
 * missing variable, with the variable as its path.
 */
export const slackEnvSchema = variables.transform((env, context): SlackAdapterConfig | null => {
  const problem: Problem = (variable, message) =>
    context.addIssue({ code: 'custom', path: [variable], message, input: undefined });
  const credentials = readCredentials(env, problem);
  const { ENCRYPTION_KEY: encryptionKey, SLACK_API_URL: apiUrl = 'https://slack.com/api/' } = env;
  if (credentials === undefined) return null;
  if (encryptionKey !== undefined && Buffer.from(encryptionKey, 'base64').length !== 32) {
    problem('ENCRYPTION_KEY', 'must be base64 of 32 bytes, e.g. from: openssl rand -base64 32');
  }
  if (!URL.canParse(apiUrl)) problem('SLACK_API_URL', 'is not a URL');
  return {
    credentials,
    apiUrl: apiUrl.endsWith('/') ? apiUrl : `${apiUrl}/`,
    ignoresSigningSecret: credentials.transport === 'socket' && env.SLACK_SIGNING_SECRET !== undefined,
    ...(encryptionKey === undefined ? {} : { encryptionKey }),
    retentionDays: env.RETENTION_DAYS,
  };
});

import { z } from 'zod';
import { type Pace, usualPace } from '../supervisor.ts';
import { encryptionKey, missing, report, retentionDays, text } from '../variables.ts';

export interface DingtalkAdapterConfig {
  readonly clientId: string;
  readonly clientSecret: string;
  /** Gateway and API base. */
  readonly apiUrl: string;
  /** Base of the older API. */
  readonly legacyUrl: string;
  /** Base64 of 32 bytes; without it a key is derived from the client secret. */
  readonly encryptionKey: string | undefined;
  /** How long the numbered choices of an answer stay known. */
  readonly retentionDays: number;
  /** A picture of the memory bar in answers: each costs a call of the API quota. */
  readonly charts: boolean;
  /** Without a frame for `idleMs` a connection is replaced, even when pings are answered. */
  readonly pace: Pace & { readonly pingMs: number; readonly idleMs: number };
}

/** Application pings come every 20–60 s (reports of 2026); limits under three minutes made other robots reconnect in a loop. */
const pace = { ...usualPace, pingMs: 8_000, idleMs: 180_000 };

const address = (fallback: string) =>
  text.transform((value) => value ?? fallback).refine(URL.canParse, 'is not a URL, e.g. https://api.dingtalk.com');

const variables = z.object({
  DINGTALK_CLIENT_ID: text,
  DINGTALK_CLIENT_SECRET: text,
  DINGTALK_OPENAPI_ENDPOINT: address('https://api.dingtalk.com'),
  DINGTALK_LEGACY_ENDPOINT: address('https://oapi.dingtalk.com'),
  ENCRYPTION_KEY: encryptionKey,
  RETENTION_DAYS: retentionDays,
  CHARTS: text.pipe(z.enum(['on', 'off'], 'must be on or off').optional()),
});

/** Where a person finds both. */
const page = 'Credentials and Basic Information of the app, 凭证与基础信息';

/** Environment variables → configuration; `null` when DingTalk is not configured, an issue for the one that is missing. */
export const dingtalkEnvSchema = variables.transform((env, context): DingtalkAdapterConfig | null => {
  const { DINGTALK_CLIENT_ID: clientId = '', DINGTALK_CLIENT_SECRET: clientSecret = '' } = env;
  if (clientId === '' && clientSecret === '') return null;
  report(context, missing(env, { DINGTALK_CLIENT_ID: page, DINGTALK_CLIENT_SECRET: page }));
  return {
    clientId,
    clientSecret,
    apiUrl: env.DINGTALK_OPENAPI_ENDPOINT,
    legacyUrl: env.DINGTALK_LEGACY_ENDPOINT,
    encryptionKey: env.ENCRYPTION_KEY,
    retentionDays: env.RETENTION_DAYS,
    charts: env.CHARTS === 'on',
    pace,
  };
});

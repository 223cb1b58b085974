import { z } from 'zod';
import { encryptionKey, retentionDays, text } from '../variables.ts';

/** Waits between attempts to connect, and limits of a connection, in milliseconds. */
export interface Pace {
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** After refused credentials: a person has to act first. */
  readonly refusedPauseMs: number;
  readonly pingMs: number;
  /** Without a frame for so long the connection is replaced, even when pings are answered. */
  readonly idleMs: number;
}

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
  readonly pace: Pace;
}

/**
 * Application pings come every 20–60 s (reports of 2026), so three minutes without any frame mean a dead connection;
 * shorter limits made other robots reconnect in a loop.
 */
const pace: Pace = {
  firstPauseMs: 1_000,
  longestPauseMs: 30_000,
  refusedPauseMs: 60_000,
  pingMs: 8_000,
  idleMs: 180_000,
};

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

/** Environment variables → configuration; `null` when DingTalk is not configured, an issue for the one that is missing. */
export const dingtalkEnvSchema = variables.transform((env, context): DingtalkAdapterConfig | null => {
  const { DINGTALK_CLIENT_ID: clientId, DINGTALK_CLIENT_SECRET: clientSecret } = env;
  if (clientId === undefined && clientSecret === undefined) return null;
  for (const name of ['DINGTALK_CLIENT_ID', 'DINGTALK_CLIENT_SECRET'] as const) {
    if (env[name] !== undefined) continue;
    const message = 'missing (Credentials and Basic Information of the app, 凭证与基础信息)';
    context.addIssue({ code: 'custom', path: [name], message, input: undefined });
  }
  return {
    clientId: clientId ?? '',
    clientSecret: clientSecret ?? '',
    apiUrl: env.DINGTALK_OPENAPI_ENDPOINT,
    legacyUrl: env.DINGTALK_LEGACY_ENDPOINT,
    encryptionKey: env.ENCRYPTION_KEY,
    retentionDays: env.RETENTION_DAYS,
    charts: env.CHARTS === 'on',
    pace,
  };
});

import { z } from 'zod';
import type { AppError } from '../../src/errors.ts';
import { type Answer, type Post, postForm, postJson, refusal } from '../http.ts';
import { createMemory, type Remembered } from '../memory.ts';
import { fieldAt } from '../wire.ts';
import type { DingtalkAdapterConfig } from './config.ts';

/** Where session webhooks lead. https://open.dingtalk.com/document/orgapp/robot-reply-and-send-messages */
const webhookOrigins = ['https://oapi.dingtalk.com', 'https://api.dingtalk.com'];

/** A configured loopback base makes that origin the trusted one, for tests. */
const isLoopback = ({ apiUrl }: DingtalkAdapterConfig): boolean =>
  ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(apiUrl).hostname);

/** Only exact origins: a forged message must not make us post anywhere else. */
export function isTrustedWebhook(url: string, config: DingtalkAdapterConfig): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, origin, username, password } = new URL(url);
  const configured = [config.apiUrl, config.legacyUrl].map((base) => new URL(base).origin);
  const trusted = isLoopback(config) ? configured : [...webhookOrigins, ...configured];
  const secured = protocol === 'https:' || isLoopback(config);
  return secured && trusted.includes(origin) && username === '' && password === '';
}

/** The gateway names the socket's address; outside tests it has to be TLS on the vendor's domain. */
export function isTrustedSocket(url: string, config: DingtalkAdapterConfig): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  if (isLoopback(config)) return hostname === new URL(config.apiUrl).hostname;
  return protocol === 'wss:' && /\.dingtalk\.(com|io)$/u.test(hostname);
}

/** The platform's own code: `errcode` of the older API, `code` of the newer one, `status` of the limit on addresses. */
export function reasonOf({ status, body }: Answer): string {
  const codes = ['errcode', 'code', 'status'].map((name) => fieldAt(body, name));
  const reason = String(codes.find((code) => code !== undefined) ?? '');
  return /^[\w. -]{1,80}$/u.test(reason) ? reason : `HTTP ${status}`;
}

/** Busy and flow control are worth another attempt, and so is what cannot be read. */
function failureOf(answer: Answer, what: string): AppError {
  const details = { reason: reasonOf(answer), status: answer.status };
  const unreadable = answer.status >= 500 || answer.status === 429 || answer.body === undefined;
  const passing = unreadable || /^1111$|too\.?fast|QpsLimit|ServiceUnavailable/iu.test(details.reason);
  return refusal(passing, `DingTalk refused ${what}: ${details.reason}`, details);
}

/** @throws AppError `platform-unreachable` (worth a retry) or `platform-refused`. */
export async function callOpenApi<T>(
  { apiUrl }: DingtalkAdapterConfig,
  { path, ...post }: Post & { readonly path: string },
  shape: z.ZodType<T>,
): Promise<T> {
  const answer = await postJson(new URL(path, apiUrl).href, post);
  const { data, success } = shape.safeParse(answer.body);
  if (answer.status !== 200 || !success) throw failureOf(answer, post.what);
  return data;
}

const tokenShape = z.looseObject({ accessToken: z.string().min(1), expireIn: z.coerce.number().catch(7_200) });
const earlyMs = 300_000;

export interface AccessToken {
  get(): Promise<string>;
  drop(): void;
}

/** Access token of the app: one request at a time, kept until five minutes before it ends. */
export function createToken(config: DingtalkAdapterConfig, now: () => number): AccessToken {
  const body = { appKey: config.clientId, appSecret: config.clientSecret };
  const request = { path: '/v1.0/oauth2/accessToken', what: 'the access token', body };
  const known = createMemory<string>(now);
  const ask = async (): Promise<Remembered<string>> => {
    const { accessToken, expireIn } = await callOpenApi(config, request, tokenShape);
    return { value: accessToken, lifeMs: expireIn * 1_000 - earlyMs };
  };
  return { get: () => known.get(config.clientId, ask), drop: () => known.drop(config.clientId) };
}

/** Ids of media that cannot end the Markdown they are put into. */
const uploaded = z.looseObject({ media_id: z.string().regex(/^[\w@$+/=.-]{1,200}$/u) });
const tokenRefused = /^(?:40001|40014|42001)$/u;

/**
 * The id by which Markdown shows the picture; `media/upload` of the older API (open.dingtalk.com, snapshot 2026-08-22).
 *
 * @throws AppError `platform-unreachable` or `platform-refused`.
 */
export async function uploadPicture(base: string, token: AccessToken, png: Uint8Array<ArrayBuffer>): Promise<string> {
  const url = new URL('/media/upload?type=image', base);
  url.searchParams.set('access_token', await token.get());
  const form = new FormData();
  form.set('type', 'image');
  form.set('media', new Blob([png], { type: 'image/png' }), 'memory.png');
  const answer = await postForm(url.href, 'the picture', form);
  const reason = reasonOf(answer);
  if (tokenRefused.test(reason)) token.drop();
  const media = uploaded.safeParse(answer.body).data;
  if (answer.status !== 200 || reason !== '0' || media === undefined) throw failureOf(answer, 'the picture');
  return media.media_id;
}

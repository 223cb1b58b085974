import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import { type Answer, postForm, postJson } from '../http.ts';
import type { DingtalkAdapterConfig } from './config.ts';

/** Official hosts of session webhooks. https://open.dingtalk.com/document/orgapp/robot-reply-and-send-messages */
const webhookHosts: ReadonlySet<string> = new Set(['oapi.dingtalk.com', 'api.dingtalk.com']);

/** A configured loopback base makes that origin a trusted one, for tests. */
export function isLoopback({ apiUrl }: DingtalkAdapterConfig): boolean {
  return ['127.0.0.1', 'localhost', '[::1]'].includes(new URL(apiUrl).hostname);
}

/** Only exact hosts over https on the default port: a forged message must not make us post anywhere else. */
export function isTrustedWebhook(url: string, config: DingtalkAdapterConfig): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname, port, username, password, origin } = new URL(url);
  if (username !== '' || password !== '') return false;
  if (isLoopback(config))
    return origin === new URL(config.apiUrl).origin || origin === new URL(config.legacyUrl).origin;
  const configured = [config.apiUrl, config.legacyUrl].map((base) => new URL(base).hostname);
  return protocol === 'https:' && port === '' && (webhookHosts.has(hostname) || configured.includes(hostname));
}

/** The gateway names the socket's address; outside tests it has to be TLS on the vendor's domain. */
export function isTrustedSocket(url: string, config: DingtalkAdapterConfig): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, hostname } = new URL(url);
  if (isLoopback(config)) return hostname === new URL(config.apiUrl).hostname;
  return protocol === 'wss:' && /\.dingtalk\.(com|io)$/u.test(hostname);
}

const failure = z.looseObject({
  code: z.union([z.string(), z.number()]).optional(),
  errcode: z.coerce.number().optional(),
});

/** The platform's own code in an answer, for the operator: `errcode` of the older API, `code` of the newer one. */
export function reasonOf({ status, body }: Answer): string {
  const { code, errcode } = failure.safeParse(body).data ?? {};
  const reason = String(errcode ?? code ?? `HTTP ${status}`);
  return /^[\w. -]{1,80}$/u.test(reason) ? reason : `HTTP ${status}`;
}

/** The newer API: 4xx and 5xx mean failure; busy and flow control are worth another attempt. */
export function openApiError(answer: Answer, what: string): AppError {
  const reason = reasonOf(answer);
  const passing =
    answer.status >= 500 || answer.status === 429 || /too\.?fast|QpsLimit|ServiceUnavailable/iu.test(reason);
  const unreadable = answer.body === undefined;
  const code = passing || unreadable ? 'platform-unreachable' : 'platform-refused';
  return new AppError(code, `DingTalk refused ${what}: ${reason}`, { details: { reason, status: answer.status } });
}

const tokenAnswer = z.looseObject({ accessToken: z.string().min(1), expireIn: z.coerce.number().catch(7_200) });
const earlyMs = 300_000;

/** Access token of the app: one request at a time, kept until five minutes before it ends. */
export class AccessToken {
  readonly #config: DingtalkAdapterConfig;
  readonly #now: () => number;
  #held: { readonly token: string; readonly until: number } | undefined;
  #asking: Promise<string> | undefined;

  constructor(config: DingtalkAdapterConfig, now: () => number) {
    this.#config = config;
    this.#now = now;
  }

  async get(): Promise<string> {
    if (this.#held !== undefined && this.#held.until > this.#now()) return this.#held.token;
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  drop(): void {
    this.#held = undefined;
  }

  async #ask(): Promise<string> {
    const { apiUrl, clientId, clientSecret } = this.#config;
    const body = { appKey: clientId, appSecret: clientSecret };
    const what = 'the access token';
    const answer = await postJson(new URL('/v1.0/oauth2/accessToken', apiUrl).href, { what, body });
    const parsed = tokenAnswer.safeParse(answer.body);
    if (answer.status !== 200 || !parsed.success) throw openApiError(answer, what);
    this.#held = { token: parsed.data.accessToken, until: this.#now() + parsed.data.expireIn * 1_000 - earlyMs };
    return parsed.data.accessToken;
  }
}

/** Ids of media that cannot end the Markdown they are put into. */
const uploaded = z.looseObject({ media_id: z.string().regex(/^[\w@$+/=.-]{1,200}$/u) });
const tokenRefused: ReadonlySet<string> = new Set(['40001', '40014', '42001']);

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
  if (tokenRefused.has(reason)) token.drop();
  const media = uploaded.safeParse(answer.body).data;
  if (answer.status !== 200 || reason !== '0' || media === undefined) throw openApiError(answer, 'the picture');
  return media.media_id;
}

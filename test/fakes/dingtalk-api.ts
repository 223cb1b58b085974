import type { IncomingHttpHeaders } from 'node:http';
import { z } from 'zod';
import { messageProblems, parameterProblems } from './dingtalk-markdown.ts';

export interface ApiCall {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
  readonly raw: Buffer;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface ApiAnswer {
  readonly status: number;
  readonly body: unknown;
  /** Key of the conversation that got a message by this call. */
  readonly sent?: string | undefined;
}

/** A message that arrived in a chat. */
export interface ChatMessage {
  readonly via: 'webhook' | 'group' | 'direct';
  /** Session of the webhook, conversation of the group, or person. */
  readonly to: string;
  /** Markdown or plain text. */
  readonly text: string;
  readonly title: string;
  readonly buttons: readonly { readonly title: string; readonly actionURL: string }[];
  readonly body: Readonly<Record<string, unknown>>;
  readonly at: number;
}

const button = z.object({ title: z.string(), actionURL: z.string() });
const card = z.looseObject({ title: z.string(), text: z.string(), btns: z.array(button).optional() });
const webhookBody = z.looseObject({
  msgtype: z.string(),
  text: z.looseObject({ content: z.string() }).optional(),
  markdown: card.optional(),
  actionCard: card.optional(),
});
const credentials = z.looseObject({ appKey: z.string(), appSecret: z.string() });
const openBody = z.looseObject({
  clientId: z.string(),
  clientSecret: z.string(),
  subscriptions: z.array(z.looseObject({ type: z.string(), topic: z.string() })),
});
const groupBody = z.looseObject({
  robotCode: z.string(),
  openConversationId: z.string(),
  msgKey: z.string(),
  msgParam: z.string(),
});
const directBody = z.looseObject({
  robotCode: z.string(),
  userIds: z.array(z.string()).min(1).max(20),
  msgKey: z.string(),
  msgParam: z.string(),
});

const refusal = (status: number, code: string): ApiAnswer => ({
  status,
  body: { code, message: 'refused', requestid: '0' },
});

/** The file of the multipart field `media`, when it is named and says that it is a picture. */
function fileIn(raw: Buffer, contentType: string): Buffer | undefined {
  const boundary = /^multipart\/form-data; boundary=(\S+)$/u.exec(contentType)?.[1];
  const part = raw
    .toString('latin1')
    .split(`--${boundary}`)
    .find((text) => /name="media"; filename="[^"]+\.png"\r\nContent-Type: image\/png\r\n/iu.test(text));
  const start = part?.indexOf('\r\n\r\n') ?? -1;
  return boundary === undefined || start < 0 ? undefined : Buffer.from(part?.slice(start + 4, -2) ?? '', 'latin1');
}

/** Session webhooks and the OpenAPI; remembers every message that reached a chat. */
export class DingtalkApi {
  readonly messages: ChatMessage[] = [];
  /** What the real service or a client would find wrong with outgoing messages. */
  readonly problems: string[] = [];
  /** Tokens that are good; taken away: 401. */
  readonly tokens = new Set<string>();
  /** Sessions that were closed before their time. */
  readonly closed = new Set<string>();
  /** People who cannot be written to. */
  readonly unreachable = new Set<string>();
  /** Uploaded pictures by media id. */
  readonly media = new Map<string, Buffer>();
  readonly #sessions = new Set<string>();
  readonly #clientId: string;
  readonly #clientSecret: string;
  #count = 0;

  constructor(clientId: string, clientSecret: string) {
    this.#clientId = clientId;
    this.#clientSecret = clientSecret;
  }

  newSession(): string {
    this.#count += 1;
    const session = `secret-session-${this.#count}`;
    this.#sessions.add(session);
    return session;
  }

  /** What is wrong with a request for a connection. */
  openProblem({ method, headers, body }: ApiCall): ApiAnswer | undefined {
    const request = openBody.safeParse(body).data;
    if (method !== 'POST' || request === undefined || !String(headers.accept).includes('application/json'))
      return refusal(400, 'invalidParameter');
    if (request.clientId !== this.#clientId || request.clientSecret !== this.#clientSecret)
      return { status: 401, body: { requestid: '0', code: 'authFailed', message: '鉴权失败' } };
    return undefined;
  }

  answer(call: ApiCall): ApiAnswer {
    if (call.method !== 'POST') return refusal(405, 'methodNotAllowed');
    if (call.path === '/robot/sendBySession') return this.#webhook(call);
    if (call.path === '/v1.0/oauth2/accessToken') return this.#token(call);
    if (call.path === '/media/upload') return this.#upload(call);
    const isSend = call.path === '/v1.0/robot/groupMessages/send' || call.path === '/v1.0/robot/oToMessages/batchSend';
    if (!isSend) return refusal(404, 'InvalidAction.NotFound');
    const token = String(call.headers['x-acs-dingtalk-access-token'] ?? '');
    if (!this.tokens.has(token)) return refusal(401, 'InvalidAuthentication');
    return call.path.includes('group') ? this.#group(call) : this.#direct(call);
  }

  #webhook({ query, body, at, headers }: ApiCall): ApiAnswer {
    const session = query.get('session') ?? '';
    const isKnown = this.#sessions.has(session) && !this.closed.has(session);
    if (!isKnown) return { status: 200, body: { errcode: 300001, errmsg: 'session 不存在' } };
    const message = webhookBody.safeParse(body).data;
    if (message === undefined || !String(headers['content-type']).startsWith('application/json'))
      return { status: 200, body: { errcode: 40035, errmsg: 'bad body' } };
    this.problems.push(...messageProblems(body, this.media));
    const shown = message.actionCard ?? message.markdown ?? { title: '', text: message.text?.content ?? '' };
    const { title, text } = shown;
    const buttons = message.actionCard?.btns ?? [];
    this.messages.push({ via: 'webhook', to: session, title, text, buttons, body: message, at });
    return { status: 200, body: { errcode: 0, errmsg: 'ok' }, sent: session };
  }

  /** The older API: every answer is HTTP 200. */
  #upload({ query, headers, raw }: ApiCall): ApiAnswer {
    const refuse = (errcode: number, errmsg: string): ApiAnswer => ({ status: 200, body: { errcode, errmsg } });
    if (!this.tokens.has(query.get('access_token') ?? '')) return refuse(40014, '不合法的access_token');
    const file = fileIn(raw, String(headers['content-type']));
    if (query.get('type') !== 'image' || file === undefined) return refuse(40035, '不合法的参数');
    const id = `$iAEKAqNwbmcDBgTNAk${this.media.size}`;
    this.media.set(id, file);
    return { status: 200, body: { errcode: 0, errmsg: 'ok', media_id: id, created_at: 1605863153573, type: 'image' } };
  }

  #token({ body }: ApiCall): ApiAnswer {
    const { appKey, appSecret } = credentials.safeParse(body).data ?? {};
    if (appKey !== this.#clientId || appSecret !== this.#clientSecret) return refusal(400, 'invalidClientIdOrSecret');
    this.#count += 1;
    const accessToken = `secret-token-${this.#count}`;
    this.tokens.add(accessToken);
    return { status: 200, body: { accessToken, expireIn: 7200 } };
  }

  #group({ body, at }: ApiCall): ApiAnswer {
    const request = groupBody.safeParse(body).data;
    if (request === undefined) return refusal(400, 'invalidParameter');
    const { msgKey, msgParam, openConversationId: to } = request;
    this.#keep({ via: 'group', to, msgKey, msgParam, body: request, at });
    return { status: 200, body: { processQueryKey: 'key' }, sent: to };
  }

  #direct({ body, at }: ApiCall): ApiAnswer {
    const request = directBody.safeParse(body).data;
    if (request === undefined) return refusal(400, 'invalidParameter');
    const { msgKey, msgParam, userIds } = request;
    const invalid = userIds.filter((id) => this.unreachable.has(id));
    for (const to of userIds.filter((id) => !this.unreachable.has(id)))
      this.#keep({ via: 'direct', to, msgKey, msgParam, body: request, at });
    const lists = { invalidStaffIdList: invalid, flowControlledStaffIdList: [] };
    return { status: 200, body: { processQueryKey: 'key', ...lists }, sent: userIds[0] };
  }

  #keep(message: Pick<ChatMessage, 'via' | 'to' | 'body' | 'at'> & { msgKey: string; msgParam: string }): void {
    const { via, to, body, at, msgKey, msgParam } = message;
    this.problems.push(...parameterProblems(msgKey, msgParam, this.media));
    const parameters = z.record(z.string(), z.string()).catch({}).parse(JSON.parse(msgParam));
    const numbers = [1, 2, 3, 4, 5].filter((number) => parameters[`actionTitle${number}`] !== undefined);
    const buttons = numbers.map((number) => ({
      title: parameters[`actionTitle${number}`] ?? '',
      actionURL: parameters[`actionURL${number}`] ?? '',
    }));
    const text = parameters['text'] ?? parameters['content'] ?? '';
    this.messages.push({ via, to, title: parameters['title'] ?? '', text, buttons, body, at });
  }
}

import { DWClient, TOPIC_ROBOT } from 'dingtalk-stream';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import { postJson } from '../http.ts';
import type { DingtalkAdapterConfig } from './config.ts';
import { isTrustedSocket, openApiError } from './web.ts';

const handshakeTimeoutMs = 10_000;
const largestFrame = 4 * 1024 * 1024;
const openState = 1;

const frameSchema = z.looseObject({
  type: z.string(),
  headers: z.looseObject({ topic: z.string().optional(), messageId: z.string().optional() }),
  data: z.unknown().optional(),
});
type Frame = z.infer<typeof frameSchema>;

const openedSchema = z.looseObject({ endpoint: z.string().min(1), ticket: z.string().min(1) });

/** What happens on one connection. */
export interface StreamEvents {
  /** A robot message; true lets it be acknowledged, false leaves it to be delivered again. */
  readonly message: (data: unknown) => Promise<boolean>;
  /** The connection should be replaced while it still stands. */
  readonly renew: (reason: string) => void;
  readonly closed: () => void;
  readonly unreadable: (reason: string) => void;
}

/**
 * One connection of `dingtalk-stream` 2.1.5 and never a second one: the library opens the socket, reads frames and sends
 * answers; its own reconnecting (a storm), heartbeat (leaks) and printing are taken out.
 */
export class StreamClient extends DWClient {
  readonly #config: DingtalkAdapterConfig;
  readonly #events: StreamEvents;
  readonly #work = new Set<Promise<void>>();
  #heartbeat: NodeJS.Timeout | undefined;
  #answered = true;
  #lastFrameAt = 0;

  constructor(config: DingtalkAdapterConfig, events: StreamEvents) {
    super({ clientId: config.clientId, clientSecret: config.clientSecret, ua: 'gpu-size' });
    this.#config = config;
    this.#events = events;
    this.config.autoReconnect = false;
    this.config.subscriptions = [{ type: 'CALLBACK', topic: TOPIC_ROBOT }];
    Reflect.set(this, 'sslopts', {
      rejectUnauthorized: true,
      handshakeTimeout: handshakeTimeoutMs,
      maxPayload: largestFrame,
    });
  }

  /** @throws AppError `platform-refused` for wrong credentials or settings, `platform-unreachable` for anything else. */
  override async connect(): Promise<void> {
    await this.getEndpoint();
    await this._connect();
  }

  override async getEndpoint(): Promise<this> {
    const { clientId, clientSecret, apiUrl } = this.#config;
    const what = 'the stream connection';
    const body = { clientId, clientSecret, ua: this.config.ua, subscriptions: this.config.subscriptions };
    const answer = await postJson(new URL('/v1.0/gateway/connections/open', apiUrl).href, { what, body });
    const opened = openedSchema.safeParse(answer.body);
    if (answer.status !== 200 || !opened.success) throw openApiError(answer, what);
    const { endpoint, ticket } = opened.data;
    if (!isTrustedSocket(endpoint, this.#config)) {
      throw new AppError('platform-refused', 'the gateway named an address outside DingTalk');
    }
    const address = new URL(endpoint);
    address.searchParams.set('ticket', ticket);
    Reflect.set(this, 'dw_url', address.href);
    return this;
  }

  override _connect(): Promise<void> {
    void super._connect().catch(() => undefined);
    const socket: WebSocket = Reflect.get(this, 'socket');
    for (const event of ['open', 'close', 'error', 'pong']) socket.removeAllListeners(event);
    socket.on('pong', () => {
      this.#answered = true;
    });
    return new Promise((resolve, reject) => {
      socket.on('error', () => reject(new AppError('platform-unreachable', 'the stream connection broke')));
      socket.once('close', () => {
        clearInterval(this.#heartbeat);
        reject(new AppError('platform-unreachable', 'the stream connection was closed'));
        this.#events.closed();
      });
      socket.once('open', () => {
        this.#watch(socket);
        resolve();
      });
    });
  }

  /** A frame that cannot be read, or whose handling fails, never ends the process. */
  override onDownStream(data: string): void {
    this.#lastFrameAt = Date.now();
    const frame = parseFrame(data);
    if (frame === undefined) this.#events.unreadable('not a frame');
    else if (frame.type === 'SYSTEM') this.#system(frame);
    else if (frame.type === 'CALLBACK' && frame.headers.topic === TOPIC_ROBOT) this.#robotMessage(frame);
    else this.#acknowledge(frame);
  }

  #robotMessage(frame: Frame): void {
    const work = this.#events
      .message(frame.data)
      .then((kept) => (kept ? this.#acknowledge(frame) : undefined))
      .catch(() => this.#events.unreadable('message not kept'))
      .finally(() => this.#work.delete(work));
    this.#work.add(work);
  }

  /** Closes once the messages that were received are acknowledged. */
  async retire(): Promise<void> {
    await Promise.allSettled(this.#work);
    this.disconnect();
  }

  override disconnect(): void {
    clearInterval(this.#heartbeat);
    const socket = this.#socket();
    socket?.close();
    // A peer that is gone never answers the closing handshake.
    setTimeout(() => socket?.terminate(), 1_000).unref();
  }

  #system({ headers, data }: Frame): void {
    if (headers.topic === 'ping' && this.#isOpen())
      this.#socket()?.send(JSON.stringify({ code: 200, headers, message: 'OK', data }));
    if (headers.topic === 'disconnect') this.#events.renew('the platform asked for it');
  }

  #acknowledge({ headers: { messageId } }: Frame): void {
    if (messageId !== undefined && this.#isOpen()) this.socketCallBackResponse(messageId, { success: true });
  }

  /** The library keeps it private. */
  #socket(): WebSocket | undefined {
    return Reflect.get(this, 'socket');
  }

  #isOpen(): boolean {
    return this.#socket()?.readyState === openState;
  }

  #watch(socket: WebSocket): void {
    const { pingMs, idleMs } = this.#config.pace;
    this.#lastFrameAt = Date.now();
    this.#heartbeat = setInterval(() => {
      if (!this.#answered) return socket.terminate();
      if (Date.now() - this.#lastFrameAt > idleMs) this.#events.renew('no frame for too long');
      this.#answered = false;
      socket.ping();
    }, pingMs);
  }
}

function parseFrame(data: unknown): Frame | undefined {
  try {
    return frameSchema.safeParse(JSON.parse(String(data))).data;
  } catch {
    return undefined;
  }
}

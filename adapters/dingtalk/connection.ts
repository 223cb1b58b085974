import { once } from 'node:events';
import { DWClient, TOPIC_ROBOT } from 'dingtalk-stream';
import type { WebSocket } from 'ws';
import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import type { Logger } from '../adapter.ts';
import { createIntake } from '../intake.ts';
import type { Link } from '../supervisor.ts';
import { parseJson } from '../text.ts';
import { fieldAt, textAt } from '../wire.ts';
import type { DingtalkAdapterConfig } from './config.ts';
import { callOpenApi, isTrustedSocket } from './web.ts';

const socketOptions = { rejectUnauthorized: true, handshakeTimeout: 10_000, maxPayload: 4 * 1024 * 1024 };

const topic = 'headers.topic';
const openedSchema = z.looseObject({ endpoint: z.string().min(1), ticket: z.string().min(1) });

/** Takes a robot message; one that it rejects is not acknowledged, so that it is delivered again. */
type Receive = (data: unknown) => Promise<void>;

/** What to do about an answer that trying again will not change. */
export function advice(error: unknown): string {
  const { status, reason } = error instanceof AppError ? error.details : {};
  if (status === 401 || reason === 'invalidClientIdOrSecret')
    return 'check DINGTALK_CLIENT_ID and DINGTALK_CLIENT_SECRET against the app in the console';
  if (status === 400)
    return 'publish the app and its robot, set the robot to Stream mode, keep proxies off the request';
  return 'check the network: api.dingtalk.com and wss-open-connection.dingtalk.com, port 443';
}

/**
 * One connection of `dingtalk-stream` 2.1.5 and never a second one: the library opens the socket, reads frames and sends
 * answers; its own reconnecting (a storm), heartbeat (leaks) and printing are taken out.
 */
export class StreamClient extends DWClient implements Link {
  readonly renewal = once(this, 'renewal').then(String);
  readonly closed = once(this, 'closed');
  readonly #settings: DingtalkAdapterConfig;
  readonly #logger: Logger;
  readonly #receive: Receive;
  readonly #intake: ReturnType<typeof createIntake>;
  #lastFrameAt = 0;

  constructor(settings: DingtalkAdapterConfig, logger: Logger, receive: Receive) {
    super({ clientId: settings.clientId, clientSecret: settings.clientSecret, ua: 'gpu-size' });
    this.#settings = settings;
    this.#logger = logger;
    this.#receive = receive;
    this.#intake = createIntake(logger);
    this.config.autoReconnect = false;
    this.config.subscriptions = [{ type: 'CALLBACK', topic: TOPIC_ROBOT }];
    Reflect.set(this, 'sslopts', socketOptions);
  }

  /** @throws AppError `platform-refused` for wrong credentials or settings, `platform-unreachable` for anything else. */
  async open(): Promise<this> {
    await this.getEndpoint();
    await this._connect();
    return this;
  }

  override async getEndpoint(): Promise<this> {
    const { clientId, clientSecret, ua, subscriptions } = this.config;
    const body = { clientId, clientSecret, ua, subscriptions };
    const request = { path: '/v1.0/gateway/connections/open', what: 'the stream connection', body };
    const { endpoint, ticket } = await callOpenApi(this.#settings, request, openedSchema);
    if (!isTrustedSocket(endpoint, this.#settings)) {
      throw new AppError('platform-refused', 'the gateway named an address outside DingTalk');
    }
    const address = new URL(endpoint);
    address.searchParams.set('ticket', ticket);
    Reflect.set(this, 'dw_url', address.href);
    return this;
  }

  override async _connect(): Promise<void> {
    void super._connect().catch(() => undefined);
    const socket = this.#socket();
    if (socket === undefined) throw new AppError('platform-unreachable', 'the stream connection could not be opened');
    for (const event of ['open', 'close', 'error', 'pong']) socket.removeAllListeners(event);
    socket.on('error', () => undefined);
    socket.once('open', () => this.#watch(socket));
    socket.once('close', () => this.emit('closed'));
    await once(socket, 'open').catch(() => {
      this.disconnect();
      throw new AppError('platform-unreachable', 'the stream connection broke');
    });
  }

  /** A frame that cannot be read, or whose handling fails, never ends the process. */
  override onDownStream(data: string): void {
    this.#lastFrameAt = Date.now();
    const frame = parseJson(String(data));
    const type = fieldAt(frame, 'headers') && textAt(frame, 'type');
    if (!type) this.#logger.warn({ reason: 'not a frame' }, 'unreadable frame');
    else if (type === 'SYSTEM') this.#system(frame);
    else if (type === 'CALLBACK' && textAt(frame, topic) === TOPIC_ROBOT) this.#robotMessage(frame);
    else this.#acknowledge(frame);
  }

  /** Closes once the messages that were received are acknowledged. */
  async close(): Promise<void> {
    await this.#intake.drain();
    this.disconnect();
  }

  override disconnect(): void {
    const socket = this.#socket();
    socket?.close();
    // A peer that is gone never answers the closing handshake.
    setTimeout(() => socket?.terminate(), 1_000).unref();
  }

  #system(frame: unknown): void {
    const pong = { code: 200, headers: fieldAt(frame, 'headers'), message: 'OK', data: fieldAt(frame, 'data') };
    if (textAt(frame, topic) === 'ping') this.#socket()?.send(JSON.stringify(pong));
    if (textAt(frame, topic) === 'disconnect') this.emit('renewal', 'the platform asked for it');
  }

  #robotMessage(frame: unknown): void {
    const ack = async (): Promise<void> => this.#acknowledge(frame);
    const react = () => this.#receive(fieldAt(frame, 'data')).then(() => ({}));
    void this.#intake.take({ ack, react, comesAgain: true }).catch(() => undefined);
  }

  #acknowledge(frame: unknown): void {
    const messageId = textAt(frame, 'headers.messageId');
    if (messageId) this.socketCallBackResponse(messageId, { success: true });
  }

  /** The library keeps it private. */
  #socket(): WebSocket | undefined {
    return Reflect.get(this, 'socket');
  }

  #watch(socket: WebSocket): void {
    const { pingMs, idleMs } = this.#settings.pace;
    let answered = true;
    this.#lastFrameAt = Date.now();
    const heartbeat = setInterval(() => {
      if (!answered) return socket.terminate();
      if (Date.now() - this.#lastFrameAt > idleMs) this.emit('renewal', 'no frame for too long');
      answered = false;
      socket.ping();
    }, pingMs);
    socket.on('pong', () => {
      answered = true;
    });
    socket.once('close', () => clearInterval(heartbeat));
  }
}

import { setTimeout as wait } from 'node:timers/promises';
import { type App, LogLevel, type Receiver, SocketModeReceiver, type webApi } from '@slack/bolt';
import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import type { AdapterContext, ConnectionStatus, Logger } from '../adapter.ts';
import type { SlackAdapterConfig } from './config.ts';
import { platformError, webClientOptions } from './web.ts';

const helloTimeoutMs = 10_000;
/** Limit for a pong, and three times the ping interval: lower than the default, so that dead sockets are noticed soon. */
const pongTimeoutMs = 2_500;
const shortLifeMs = 10_000;
const longestPauseMs = 30_000;

/** Warnings and errors of the library in our log; its debug lines hold what people wrote. */
export function boltLogger(logger: Logger): webApi.Logger {
  const silent = (): void => undefined;
  const say = (level: 'warn' | 'error') => (first: unknown) =>
    logger[level]({ detail: String(first).slice(0, 300) }, 'library message');
  const levels = { setLevel: silent, setName: silent, getLevel: () => LogLevel.WARN };
  return { debug: silent, info: silent, warn: say('warn'), error: say('error'), ...levels };
}

const frameSchema = z.looseObject({
  type: z.string(),
  reason: z.string().optional(),
  num_connections: z.number().optional(),
  payload: z
    .looseObject({ event: z.looseObject({ type: z.string() }).optional().catch(undefined) })
    .optional()
    .catch(undefined),
});
type Frame = z.infer<typeof frameSchema>;

function parseFrame(data: unknown): Frame | undefined {
  try {
    return frameSchema.safeParse(JSON.parse(String(data))).data;
  } catch {
    return undefined;
  }
}

type Client = SocketModeReceiver['client'];

/** Lets `look` see every frame first; only those it wants go on, and a throw in the library stays inside. */
function watchFrames(client: Client, look: (frame: Frame) => boolean, logger: Logger): void {
  const handlers = client.listeners('ws_message');
  const pass = async (handle: () => unknown): Promise<void> => {
    try {
      await handle();
    } catch (error) {
      logger.warn({ error }, 'frame not handled');
    }
  };
  client.removeAllListeners('ws_message');
  client.on('ws_message', (data: unknown, isBinary: unknown) => {
    const frame = parseFrame(data);
    const readable = frame !== undefined && (frame.type !== 'events_api' || frame.payload?.event !== undefined);
    if (!readable) logger.warn({ type: frame?.type }, 'unreadable frame');
    else if (look(frame)) for (const handler of handlers) void pass(() => handler.call(client, data, isBinary));
  });
}

/**
 * Socket Mode that never gives up: a new library connection for each attempt, the next one opened before the old one
 * closes when Slack asks for a change, growing pauses, and a limit on the wait for `hello`.
 */
export class SupervisedSocket implements Receiver {
  readonly #config: SlackAdapterConfig;
  readonly #appToken: string;
  readonly #context: AdapterContext;
  readonly #stopping = new AbortController();
  #app: App | undefined;
  #current: SocketModeReceiver | undefined;
  #failures = 0;
  #reconnecting = false;
  status: ConnectionStatus = 'connecting';

  constructor(config: SlackAdapterConfig, appToken: string, context: AdapterContext) {
    this.#config = config;
    this.#appToken = appToken;
    this.#context = context;
  }

  init(app: App): void {
    this.#app = app;
  }

  /** @throws AppError `platform-refused` when the token is wrong; an unreachable platform is tried again behind the scenes. */
  async start(): Promise<void> {
    try {
      await this.#connect();
    } catch (error) {
      if (error instanceof AppError && error.code === 'platform-refused') throw error;
      this.#failed(error);
      void this.#reconnect();
    }
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.status = 'stopped';
    if (this.#current !== undefined) await Promise.race([this.#current.client.disconnect(), wait(1_000)]);
  }

  async #connect(): Promise<void> {
    const logger = boltLogger(this.#context.logger);
    const clientOptions = { ...webClientOptions(this.#config, logger), timeout: 4_000, retryConfig: { retries: 0 } };
    const receiver = new SocketModeReceiver({
      appToken: this.#appToken,
      logger,
      clientPingTimeout: pongTimeoutMs,
      autoReconnectEnabled: false,
      installerOptions: { clientOptions },
      processEventErrorHandler: async () => false,
    });
    const { client } = receiver;
    if (this.#app !== undefined) receiver.init(this.#app);
    watchFrames(client, (frame) => this.#look(frame), this.#context.logger);
    client.on('error', () => undefined);
    try {
      await Promise.race([client.start(), this.#noHello()]);
    } catch (error) {
      void client.disconnect();
      throw platformError(error, 'the Socket Mode connection');
    }
    this.#adopt(receiver);
  }

  async #noHello(): Promise<never> {
    await wait(helloTimeoutMs, undefined, { ref: false });
    throw new AppError('platform-unreachable', 'Slack sent no hello');
  }

  #adopt(receiver: SocketModeReceiver): void {
    const previous = this.#current;
    const since = Date.now();
    this.#current = receiver;
    this.status = 'connected';
    this.#context.metrics.gauge('connected', 1, { adapter: 'slack' });
    receiver.client.once('disconnected', () => {
      if (this.#current !== receiver || this.#stopping.signal.aborted) return;
      this.#failures = Date.now() - since < shortLifeMs ? this.#failures + 1 : 0;
      this.status = 'connecting';
      this.#context.metrics.gauge('connected', 0, { adapter: 'slack' });
      void this.#reconnect();
    });
    void previous?.client.disconnect();
    if (this.#stopping.signal.aborted) void receiver.client.disconnect();
  }

  /** False keeps the frame from the library, which would close at once. */
  #look(frame: Frame): boolean {
    const { logger } = this.#context;
    if (frame.type === 'hello' && (frame.num_connections ?? 1) > 2) {
      logger.warn({ connections: frame.num_connections }, 'other connections share the events');
    }
    if (frame.type !== 'disconnect' || frame.reason === 'too_many_websockets') return true;
    logger.info({ reason: frame.reason }, 'connection is renewed');
    void this.#reconnect();
    return false;
  }

  #failed(error: unknown): void {
    this.#failures += 1;
    const failure = platformError(error, 'the Socket Mode connection');
    if (failure.code === 'platform-refused') this.status = 'failed';
    this.#context.logger.warn({ error: failure, failures: this.#failures }, 'connection failed');
  }

  async #reconnect(): Promise<void> {
    const { signal } = this.#stopping;
    if (this.#reconnecting) return;
    this.#reconnecting = true;
    while (!signal.aborted) {
      const longest = Math.min(longestPauseMs, 500 * 2 ** this.#failures);
      const pause = this.#failures === 0 ? 0 : longest * (0.5 + Math.random() / 2);
      await wait(pause, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) break;
      const done = await this.#connect().then(
        () => true,
        (error: unknown) => this.#failed(error),
      );
      if (done === true) break;
    }
    this.#reconnecting = false;
  }
}

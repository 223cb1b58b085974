import { setTimeout as wait } from 'node:timers/promises';
import { type App, LogLevel, type Receiver, SocketModeReceiver, type webApi } from '@slack/bolt';
import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import type { AdapterContext, ConnectionStatus, Logger } from '../adapter.ts';
import { type Link, Supervisor, usualPace } from '../supervisor.ts';
import { parseJson } from '../text.ts';
import type { SlackAdapterConfig } from './config.ts';
import { platformError, webClientOptions } from './web.ts';

const helloTimeoutMs = 10_000;
/** Limit for a pong, and three times the ping interval: lower than the default, so that dead sockets are noticed soon. */
const pongTimeoutMs = 2_500;
const pace = { ...usualPace, firstPauseMs: 500 };

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
    const frame = frameSchema.safeParse(parseJson(String(data))).data;
    const readable = frame !== undefined && (frame.type !== 'events_api' || frame.payload?.event !== undefined);
    if (!readable) logger.warn({ type: frame?.type }, 'unreadable frame');
    else if (look(frame)) for (const handler of handlers) void pass(() => handler.call(client, data, isBinary));
  });
}

export interface SocketOptions {
  readonly config: SlackAdapterConfig;
  readonly appToken: string;
  readonly context: AdapterContext;
}

/** Socket Mode that never gives up: a new library connection for each attempt, and a limit on the wait for `hello`. */
export class SupervisedSocket implements Receiver {
  readonly #options: SocketOptions;
  readonly #supervisor: Supervisor;
  #app: App | undefined;
  #refusal: AppError | undefined;

  constructor(options: SocketOptions) {
    this.#options = options;
    const { context } = options;
    const connect = (): Promise<Link> => this.#connect();
    const advice = (): string =>
      'SLACK_APP_TOKEN needs the scope connections:write; outgoing HTTPS and WSS must be open';
    this.#supervisor = new Supervisor({ name: 'slack', context, pace, connect, advice });
  }

  get status(): ConnectionStatus {
    return this.#supervisor.status;
  }

  init(app: App): void {
    this.#app = app;
  }

  /** @throws AppError `platform-refused` when the token is wrong; an unreachable platform is tried again behind the scenes. */
  async start(): Promise<void> {
    await this.#supervisor.start();
    if (this.#refusal !== undefined) throw this.#refusal;
  }

  stop(): Promise<void> {
    return this.#supervisor.stop();
  }

  async #connect(): Promise<Link> {
    const { config, appToken, context } = this.#options;
    const logger = boltLogger(context.logger);
    const clientOptions = { ...webClientOptions(config, logger), timeout: 4_000, retryConfig: { retries: 0 } };
    const receiver = new SocketModeReceiver({
      appToken,
      logger,
      clientPingTimeout: pongTimeoutMs,
      autoReconnectEnabled: false,
      installerOptions: { clientOptions },
      processEventErrorHandler: async () => false,
    });
    const { client } = receiver;
    if (this.#app !== undefined) receiver.init(this.#app);
    const renewal = new Promise<string>((resolve) =>
      watchFrames(client, lookFor(resolve, context.logger), context.logger),
    );
    const closed = new Promise((resolve) => client.once('disconnected', resolve));
    client.on('error', () => undefined);
    try {
      await Promise.race([client.start(), noHello()]);
    } catch (error) {
      void client.disconnect();
      throw this.#remember(platformError(error, 'the Socket Mode connection'));
    }
    return { renewal, closed, close: () => client.disconnect() };
  }

  #remember(failure: AppError): AppError {
    if (failure.code === 'platform-refused') this.#refusal = failure;
    return failure;
  }
}

async function noHello(): Promise<never> {
  await wait(helloTimeoutMs, undefined, { ref: false });
  throw new AppError('platform-unreachable', 'Slack sent no hello');
}

/** False keeps the frame from the library, which would close at once where Slack announces a change. */
const lookFor =
  (renew: (reason: string) => void, logger: Logger) =>
  ({ type, num_connections: connections = 1, reason = 'unknown' }: Frame): boolean => {
    if (type === 'hello' && connections > 2) logger.warn({ connections }, 'other connections share the events');
    if (type !== 'disconnect' || reason === 'too_many_websockets') return true;
    renew(reason);
    return false;
  };

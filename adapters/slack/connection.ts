import { setTimeout as wait } from 'node:timers/promises';
import { type App, SocketModeReceiver } from '@slack/bolt';
import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import type { Logger } from '../adapter.ts';
import type { Link } from '../supervisor.ts';
import { parseJson } from '../text.ts';
import type { SlackAdapterConfig } from './config.ts';
import { boltLogger, platformError, webClientOptions } from './web.ts';

const helloTimeoutMs = 10_000;
/** Limit for a pong, and three times the ping interval: lower than the default, so that dead sockets are noticed soon. */
const pongTimeoutMs = 2_500;

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
  readonly logger: Logger;
  readonly app: App;
}

/** One connection of Socket Mode; the library's own reconnecting gives up at a server error. @throws AppError */
export async function openSocket({ config, appToken, logger, app }: SocketOptions): Promise<Link> {
  const library = boltLogger(logger);
  const clientOptions = { ...webClientOptions(config, library), timeout: 4_000, retryConfig: { retries: 0 } };
  const receiver = new SocketModeReceiver({
    appToken,
    logger: library,
    clientPingTimeout: pongTimeoutMs,
    autoReconnectEnabled: false,
    installerOptions: { clientOptions },
    processEventErrorHandler: async () => false,
  });
  const { client } = receiver;
  receiver.init(app);
  const renewal = new Promise<string>((resolve) => watchFrames(client, lookFor(resolve, logger), logger));
  const closed = new Promise((resolve) => client.once('disconnected', resolve));
  client.on('error', () => undefined);
  try {
    await Promise.race([client.start(), noHello()]);
  } catch (error) {
    void client.disconnect();
    throw platformError(error, 'the Socket Mode connection');
  }
  return { renewal, closed, close: () => client.disconnect() };
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

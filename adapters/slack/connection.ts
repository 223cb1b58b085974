import { setTimeout as wait } from 'node:timers/promises';
import { type App, SocketModeReceiver } from '@slack/bolt';
import type { Logger } from '../adapter.ts';
import { refusal } from '../http.ts';
import type { Link } from '../supervisor.ts';
import { parseJson } from '../text.ts';
import { fieldAt, textAt } from '../wire.ts';
import type { SlackAdapterConfig } from './config.ts';
import { boltLogger, platformError, webClientOptions } from './web.ts';

const helloTimeoutMs = 10_000;
/** Limit for a pong, and three times the ping interval: lower than the default, so that dead sockets are noticed soon. */
const pongTimeoutMs = 2_500;

type SocketConfig = SlackAdapterConfig & { readonly appToken: string };

/** One connection of Socket Mode; the library's own reconnecting gives up at a server error. @throws AppError */
export async function openSocket(config: SocketConfig, app: App, logger: Logger): Promise<Link> {
  const library = boltLogger(logger);
  const clientOptions = { ...webClientOptions(config, library), timeout: 4_000, retryConfig: { retries: 0 } };
  const receiver = new SocketModeReceiver({
    appToken: config.appToken,
    logger: library,
    clientPingTimeout: pongTimeoutMs,
    autoReconnectEnabled: false,
    installerOptions: { clientOptions },
    processEventErrorHandler: async () => false,
  });
  const { client } = receiver;
  receiver.init(app);
  const renewal = new Promise<string>((resolve) => watchFrames(client, logger, resolve));
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
  throw refusal(true, 'Slack sent no hello');
}

/**
 * Sees every frame before the library, which would close at once where Slack announces a change, and throws at an event
 * without an event; what it throws stays here.
 */
function watchFrames(client: SocketModeReceiver['client'], logger: Logger, renew: (reason: string) => void): void {
  const handlers = client.listeners('ws_message');
  client.removeAllListeners('ws_message');
  client.on('ws_message', async (data: unknown, isBinary: unknown) => {
    const frame = parseJson(String(data));
    const type = textAt(frame, 'type');
    const reason = textAt(frame, 'reason') ?? 'unknown';
    const isReadable = type === 'events_api' ? textAt(frame, 'payload.event.type') : type;
    if (isReadable === undefined) return logger.warn({ type }, 'unreadable frame');
    if (type === 'disconnect' && reason !== 'too_many_websockets') return renew(reason);
    const connections = Number(fieldAt(frame, 'num_connections') ?? 1);
    if (type === 'hello' && connections > 2) logger.warn({ connections }, 'other connections share the events');
    const note = (error: unknown) => logger.warn({ error }, 'frame not handled');
    await Promise.all(
      handlers.map(async (handle) => handle.call(client, data, isBinary)).map((one) => one.catch(note)),
    );
  });
}

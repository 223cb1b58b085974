import type { IncomingMessage as HttpRequest, ServerResponse } from 'node:http';

import type { Adapter, Address } from '../../adapters/adapter.ts';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import { createInbox } from '../inbox/inbox.ts';
import type { Inbox } from '../inbox/inbox-options.ts';
import { decodeConversationId, type IncomingMessage } from '../message.ts';
import { startHealthServer } from '../observability/health.ts';
import type { Reply } from '../reply/reply.ts';
import { startSweeper } from '../state/sweeper.ts';
import { createContext } from './context.ts';
import { openProduct, type Product } from './product.ts';

const DEFAULT_DATABASE = 'sqlite:data/gpu-size.db';

type Adapters = ReadonlyMap<string, Adapter>;

/** Serves the configured platforms until the process is told to stop. */
export async function runServe(config: Config): Promise<void> {
  const product = await openProduct(config, config.databaseUrl ?? DEFAULT_DATABASE);
  product.warmUp();
  const adapters = new Map<string, Adapter>();
  const inbox = createInbox({
    store: product.store.inbox,
    handle: (message, address) => answer(product, adapters, { message, address }),
    deliver: ({ message, address, reply, delivery }) => adapterOf(adapters, message).deliver(address, reply, delivery),
    apologize: (message, error) => product.bot.apologize(message, error),
    logger: product.logger,
    metrics: product.metrics,
  });
  for (const { name, setup } of config.platforms) {
    const context = createContext(name, { ...product, accept: (accepted) => inbox.accept(accepted) });
    adapters.set(name, await setup.create(context));
  }
  process.on('unhandledRejection', (error) => product.logger.error({ error }, 'unhandled rejection'));
  const stop = await start({ config, product, adapters, inbox });
  await toldToStop();
  product.logger.info({}, 'stopping');
  await stop();
}

function adapterOf(adapters: Adapters, message: IncomingMessage): Adapter {
  const { adapter: name } = decodeConversationId(message.conversationId);
  const adapter = adapters.get(name);
  if (adapter === undefined) throw new AppError('platform-refused', `no adapter called ${name} is configured here`);
  return adapter;
}

/** The language of a person's profile decides only where the message itself does not show one. */
async function answer(
  { bot, logger }: Product,
  adapters: Adapters,
  { message, address }: { message: IncomingMessage; address: Address },
): Promise<Reply> {
  if (message.locale !== undefined) return bot.handle(message);
  const profile = adapterOf(adapters, message).profileLocale?.(address);
  const locale = await profile?.catch((error: unknown) => {
    logger.debug({ error }, 'profile language not known');
    return undefined;
  });
  return bot.handle(locale === undefined ? message : { ...message, locale });
}

interface Running {
  readonly config: Config;
  readonly product: Product;
  readonly adapters: Adapters;
  readonly inbox: Inbox;
}

/** Starts everything; the returned function stops it in the order that loses nothing. */
async function start({ config, product, adapters, inbox }: Running): Promise<() => Promise<void>> {
  const { logger, metrics, store } = product;
  const health = await startHealthServer({
    host: config.host,
    port: config.port,
    problems: () => problemsOf(product, adapters),
    metrics,
    logger,
    collect: () => {
      for (const adapter of adapters.values()) {
        metrics.gauge('connected', adapter.status() === 'connected' ? 1 : 0, { adapter: adapter.name });
      }
      metrics.gauge('price_age_days', product.priceAgeDays());
    },
    otherwise: (request, response) => route(adapters, request, response),
  });
  const sweeper = startSweeper({ store, logger, metrics });
  const stop = async (): Promise<void> => {
    await Promise.allSettled([...adapters.values()].map((adapter) => adapter.stop()));
    await inbox.stop();
    await sweeper.stop();
    await health.stop();
    await product.close();
  };
  try {
    await inbox.start();
    await Promise.all([...adapters.values()].map((adapter) => adapter.start()));
  } catch (error) {
    // A platform that refuses its credentials ends the program; nothing may keep it alive.
    await stop();
    throw error;
  }
  logger.info({ port: health.port, adapters: [...adapters.keys()] }, 'serving');
  return stop;
}

/** One line for each thing that keeps this process from serving. */
async function problemsOf({ store }: Product, adapters: Adapters): Promise<readonly string[]> {
  const reachable = await store.ping().then(
    () => true,
    () => false,
  );
  const waiting = [...adapters.values()].filter((adapter) => adapter.status() !== 'connected');
  return [
    ...(reachable ? [] : ['the state store does not answer']),
    ...waiting.map((adapter) => `${adapter.name}: ${adapter.status()}`),
  ];
}

function route(adapters: Adapters, request: HttpRequest, response: ServerResponse): void {
  const [path = '/'] = (request.url ?? '/').split('?', 1);
  const surface = [...adapters.values()].find(({ http }) => http?.paths.includes(path))?.http;
  if (surface !== undefined) surface.handle(request, response);
  else response.writeHead(404, { 'content-type': 'application/json' }).end('{"error":"not found"}\n');
}

function toldToStop(): Promise<void> {
  return new Promise((resolve) => {
    process.once('SIGTERM', () => resolve());
    process.once('SIGINT', () => resolve());
  });
}

import type { Logger } from '../../adapters/adapter.ts';
import { type Bot, createBot } from '../bot.ts';
import type { Config } from '../config.ts';
import { createLogger } from '../observability/logger.ts';
import { createMetrics, type MetricsRegistry } from '../observability/metrics.ts';
import { createRateLimiter } from '../observability/rate-limit.ts';
import { openStateStore } from '../state/open-state-store.ts';
import type { Store } from '../state/store.ts';
import { createAdvicePorts } from './ports.ts';

/** The running product without its platforms. */
export interface Product {
  readonly bot: Bot;
  readonly store: Store;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
}

/** @throws AppError `invalid-config`, `invalid-catalog`, `store-unavailable`. */
export async function openProduct(config: Config, databaseUrl: string): Promise<Product> {
  const logger = createLogger({ level: config.logLevel });
  const metrics = createMetrics();
  const { prices, ...advice } = createAdvicePorts(config);
  const store = await openStateStore(databaseUrl);
  const bot = createBot({
    ...advice,
    prices: () => prices,
    region: config.region,
    store,
    limiter: createRateLimiter(config.rateLimits),
    locale: config.locale,
    retentionDays: config.retentionDays,
    logger,
    metrics,
    now: Date.now,
  });
  return { bot, store, logger, metrics };
}

import type { Logger } from '../../adapters/adapter.ts';
import { loadCatalog } from '../../catalog/index.ts';
import { type Bot, createBot } from '../bot.ts';
import type { Config } from '../config.ts';
import { createLogger } from '../observability/logger.ts';
import { createMetrics, type MetricsRegistry } from '../observability/metrics.ts';
import { createRateLimiter } from '../observability/rate-limit.ts';
import { openStateStore } from '../state/open-state-store.ts';
import type { Store } from '../state/store.ts';
import { understand } from '../understanding/understand.ts';
import { createAdvicePorts } from './ports.ts';
import { openPrices } from './price-source.ts';

const DAY_MS = 86_400_000;

/** The running product without its platforms. */
export interface Product {
  readonly bot: Bot;
  readonly store: Store;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  /** Days since the newest price of the default region was checked. */
  priceAgeDays(): number;
  /** Builds what is made on first use (names, patterns), so that no person's first message waits for it. */
  warmUp(): void;
  close(): Promise<void>;
}

/** Both languages, a model, a size, a batch and a budget: most rules run. */
const SAMPLE = 'train deeplabv3+ resnet50, 512x1024, batch 2 per GPU, 19 类, 预算 15 元/小时';

/** @throws AppError `invalid-config`, `invalid-catalog`, `store-unavailable`. */
export async function openProduct(config: Config, databaseUrl: string): Promise<Product> {
  const logger = createLogger({ level: config.logLevel });
  const metrics = createMetrics();
  const catalog = loadCatalog(config.catalogDirectory);
  const store = await openStateStore(databaseUrl);
  const prices = await openPrices(config, catalog, logger);
  const advice = createAdvicePorts(config, catalog);
  const bot = createBot({
    ...advice,
    estimate: (workload) => {
      const start = performance.now();
      try {
        return advice.estimate(workload);
      } finally {
        metrics.observe('estimate', (performance.now() - start) / 1_000);
      }
    },
    prices: () => prices.book(),
    region: config.region,
    store,
    limiter: createRateLimiter(config.rateLimits),
    locale: config.locale,
    retentionDays: config.retentionDays,
    logger,
    metrics,
    now: Date.now,
  });
  const close = async (): Promise<void> => {
    prices.stop();
    await store.close();
  };
  const priceAgeDays = (): number => {
    const dates = catalog.prices.rows.map(
      ({ instanceType }) => prices.book().find(instanceType, config.region)?.checkedOn,
    );
    const newest = Math.max(
      ...dates.map((date) => (date === undefined ? Number.NaN : Date.parse(date))).filter(Number.isFinite),
    );
    return Number.isFinite(newest) ? (Date.now() - newest) / DAY_MS : Number.NaN;
  };
  const warmUp = (): void => {
    const context = { held: {}, asked: null, answered: false, lastIntent: null, locale: config.locale };
    understand(SAMPLE, context, catalog);
  };
  return { bot, store, logger, metrics, priceAgeDays, warmUp, close };
}

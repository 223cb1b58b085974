import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

import type { Logger } from '../../adapters/adapter.ts';
import type { Catalog } from '../../catalog/index.ts';
import { createPriceBook, type PriceBook } from '../../catalog/price-book.ts';
import type { Config } from '../config.ts';

export interface Prices {
  book(): PriceBook;
  stop(): void;
}

/** The snapshot, or a live source that stands on it; the code of the latter is loaded only when it is asked for. */
export async function openPrices(config: Config, catalog: Catalog, logger: Logger): Promise<Prices> {
  if (config.prices.origin === 'snapshot') {
    const book = createPriceBook(catalog.prices);
    return { book: () => book, stop: () => undefined };
  }
  const { createPriceSource } = await import('../../catalog/refresh/price-source.ts');
  const proposable = catalog.gpus.flatMap(({ name }) => catalog.proposable(name));
  const source = createPriceSource({
    settings: config.prices,
    table: catalog.prices,
    instanceTypes: proposable.map(({ instanceType }) => instanceType),
    region: config.region,
    fetch,
    now: Date.now,
    nonce: randomUUID,
    sleep: (milliseconds) => sleep(milliseconds),
    onFailure: ({ code, reason }) => logger.warn({ code, reason }, 'live prices not available, older ones stand in'),
  });
  source.start();
  return source;
}

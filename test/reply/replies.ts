import { loadCatalog } from '../../catalog/index.ts';
import { createPriceBook } from '../../catalog/price-book.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import { estimate } from '../../src/estimator/estimate.ts';
import { secondsPerIteration } from '../../src/estimator/timing.ts';
import type { Reply } from '../../src/reply/reply.ts';
import { decideTurn } from '../../src/turn/take-turn.ts';
import { cacheEstimates } from '../../src/workload/estimate-cache.ts';

export const catalog = loadCatalog();
export const prices = createPriceBook(catalog.prices);

const ports = {
  catalog,
  prices: () => prices,
  usdCny: 7.1,
  region: 'cn-hangzhou',
  estimate: cacheEstimates((workload) => estimate(workload)),
  secondsPerIteration,
};

/** What a new conversation answers to its first message, in the message's language. */
export function reply(text: string): Reply & { readonly beliefs: readonly string[] } {
  const { compose, understanding } = decideTurn(initialState(/[一-鿿]/.test(text) ? 'zh' : 'en'), text, ports);
  return { ...compose(null), beliefs: understanding.beliefs };
}

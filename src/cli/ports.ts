import { type Catalog, loadCatalog } from '../../catalog/index.ts';
import { createPriceBook } from '../../catalog/price-book.ts';
import type { AdvicePorts } from '../advice/request.ts';
import type { Config } from '../config.ts';
import { estimate } from '../estimator/estimate.ts';
import { secondsPerIteration } from '../estimator/timing.ts';
import { cacheEstimates } from '../workload/estimate-cache.ts';
import { variantOf } from '../workload/named-model.ts';

/** The pure part of the program with its facts, as scripts and bots share it. */
export function createAdvicePorts(
  config: Config,
  catalog: Catalog = loadCatalog(config.catalogDirectory),
): AdvicePorts {
  return {
    catalog,
    prices: createPriceBook(catalog.prices),
    usdCny: config.usdCny,
    estimate: cacheEstimates((workload) => estimate(workload)),
    secondsPerIteration,
    variantOf,
  };
}

import { loadCatalog } from '../../catalog/index.ts';
import { createPriceBook } from '../../catalog/price-book.ts';
import { recommend } from '../../src/advice/recommend.ts';
import type { Recommendation } from '../../src/advice/recommendation.ts';
import type { AdvicePorts, RecommendationRequest } from '../../src/advice/request.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { toyEstimate, toySeconds, toyWorkload } from './toy-estimator.ts';

export const catalog = loadCatalog();

export const ports: AdvicePorts = {
  catalog,
  prices: createPriceBook(catalog.prices),
  usdCny: 7.1,
  estimate: toyEstimate,
  secondsPerIteration: toySeconds,
};

export const plainRequest: RecommendationRequest = {
  workload: toyWorkload,
  budget: null,
  region: 'cn-hangzhou',
  chargeType: 'PostPaid',
  freeTotalBatch: null,
  only: null,
  own: null,
  run: {},
  assumeUsualRun: false,
  deadlineHours: null,
  hoursPerMonth: 720,
};

/** Asks with a few fields changed, nothing remembered; `workload` fields are laid over the toy workload. */
export function ask(
  changed: Omit<Partial<RecommendationRequest>, 'workload'> & { readonly workload?: Partial<Workload> } = {},
  otherPorts: Partial<AdvicePorts> = {},
): Recommendation {
  const workload = { ...toyWorkload, ...changed.workload };
  const estimate = (one: Workload) => toyEstimate(one);
  return recommend({ ...plainRequest, ...changed, workload }, { ...ports, estimate, ...otherPorts });
}

export function best(recommendation: Recommendation, gpu: string) {
  const fit = recommendation.bests.find((one) => one.gpu === gpu);
  if (fit === undefined) throw new Error(`${gpu} was not judged`);
  return fit;
}

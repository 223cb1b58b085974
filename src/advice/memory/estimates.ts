import { AppError } from '../../errors.ts';
import type { Estimate } from '../../estimator/estimate-result.ts';
import type { Workload } from '../../estimator/workload.ts';

/** Remembers estimates of one recommendation: cards of one kind and tips ask for the same workloads. */
export type EstimateOf = (workload: Workload) => Estimate;

export function rememberEstimates(estimate: EstimateOf): EstimateOf {
  const known = new Map<string, Estimate>();
  // Most cards ask with the very same object, which needs no key.
  const same = new Map<Workload, Estimate>();
  return (workload) => {
    const seen = same.get(workload);
    if (seen !== undefined) return seen;
    const key = JSON.stringify(workload);
    const made = known.get(key) ?? estimate(workload);
    known.set(key, made);
    same.set(workload, made);
    return made;
  };
}

/** The estimate, or undefined for a combination that the library cannot train. */
export function tryEstimate(estimate: EstimateOf, workload: Workload): Estimate | undefined {
  try {
    return estimate(workload);
  } catch (error) {
    if (error instanceof AppError && error.code !== 'internal') return undefined;
    throw error;
  }
}

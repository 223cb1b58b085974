import { AppError } from '../../errors.ts';
import type { Estimate } from '../../estimator/estimate-result.ts';
import type { Workload } from '../../estimator/workload.ts';

/** Remembers estimates of one recommendation: cards of one kind and tips ask for the same workloads. */
export type EstimateOf = (workload: Workload) => Estimate;

export function rememberEstimates(estimate: EstimateOf): EstimateOf {
  const known = new Map<string, Estimate>();
  return (workload) => {
    const key = JSON.stringify(workload);
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = estimate(workload);
    known.set(key, made);
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

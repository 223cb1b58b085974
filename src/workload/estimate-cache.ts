import { AppError } from '../errors.ts';
import type { Estimate } from '../estimator/estimate-result.ts';
import { LeastRecent } from '../estimator/least-recent.ts';
import type { Workload } from '../estimator/workload.ts';

/** Estimates kept; a conversation with its what-ifs and tips asks for some dozens. */
const DEFAULT_CAPACITY = 500;

/**
 * Remembers estimates by workload, and what cannot be estimated; the least recently used goes first. An estimate is never
 * changed, so sharing is safe.
 */
export function cacheEstimates(
  estimate: (workload: Workload) => Estimate,
  capacity: number = DEFAULT_CAPACITY,
): (workload: Workload) => Estimate {
  const known = new LeastRecent<string, Estimate | AppError>(capacity);
  const attempt = (workload: Workload): Estimate | AppError => {
    try {
      return estimate(workload);
    } catch (error) {
      if (error instanceof AppError) return error;
      throw error;
    }
  };
  return (workload) => {
    const key = JSON.stringify(workload);
    const before = known.get(key);
    const result = before ?? attempt(workload);
    if (before === undefined) known.set(key, result);
    if (result instanceof AppError) throw result;
    return result;
  };
}

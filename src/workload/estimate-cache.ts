import type { Estimate } from '../estimator/estimate-result.ts';
import { LeastRecent } from '../estimator/least-recent.ts';
import type { Workload } from '../estimator/workload.ts';

/** Estimates kept; a conversation with its what-ifs and tips asks for some dozens. */
const DEFAULT_CAPACITY = 500;

/** Remembers estimates by workload; the least recently used goes first. An estimate is never changed, so sharing is safe. */
export function cacheEstimates(
  estimate: (workload: Workload) => Estimate,
  capacity: number = DEFAULT_CAPACITY,
): (workload: Workload) => Estimate {
  const known = new LeastRecent<string, Estimate>(capacity);
  return (workload) => {
    const key = JSON.stringify(workload);
    const before = known.get(key);
    if (before !== undefined) return before;
    const made = estimate(workload);
    known.set(key, made);
    return made;
  };
}

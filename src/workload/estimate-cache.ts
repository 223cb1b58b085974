import type { Estimate } from '../estimator/estimate-result.ts';
import type { Workload } from '../estimator/workload.ts';

/** Estimates kept; a conversation with its what-ifs and tips asks for some dozens. */
const DEFAULT_CAPACITY = 500;

/** Remembers estimates by workload; the least recently used goes first. An estimate is never changed, so sharing is safe. */
export function cacheEstimates(
  estimate: (workload: Workload) => Estimate,
  capacity: number = DEFAULT_CAPACITY,
): (workload: Workload) => Estimate {
  const known = new Map<string, Estimate>();
  return (workload) => {
    const key = JSON.stringify(workload);
    const before = known.get(key);
    if (before !== undefined) {
      known.delete(key);
      known.set(key, before);
      return before;
    }
    const made = estimate(workload);
    known.set(key, made);
    const [oldest] = known.size > capacity ? known.keys() : [];
    if (oldest !== undefined) known.delete(oldest);
    return made;
  };
}

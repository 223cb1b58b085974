import { AppError } from '../../errors.ts';
import type { Estimate } from '../../estimator/estimate-result.ts';
import { LeastRecent } from '../../estimator/least-recent.ts';
import type { Workload } from '../../estimator/workload.ts';

export type EstimateOf = (workload: Workload) => Estimate;

/** Cards, tips and limits of one workload ask for some dozens of others. */
const REMEMBERED = 200;

type Outcome = { readonly made: Estimate } | { readonly refused: AppError };

/** Remembers estimates, and refusals too: cards of one kind and tips ask for the same workloads. */
export function rememberEstimates(estimate: EstimateOf): EstimateOf {
  const known = new LeastRecent<string, Outcome>(REMEMBERED);
  // Most cards ask with the very same object, which needs no key.
  const same = new WeakMap<Workload, Outcome>();
  return (workload) => {
    const outcome = same.get(workload) ?? recall(known, workload, estimate);
    same.set(workload, outcome);
    if ('refused' in outcome) throw outcome.refused;
    return outcome.made;
  };
}

function recall(known: LeastRecent<string, Outcome>, workload: Workload, estimate: EstimateOf): Outcome {
  const key = JSON.stringify(workload);
  const before = known.get(key);
  if (before !== undefined) return before;
  const outcome = outcomeOf(workload, estimate);
  known.set(key, outcome);
  return outcome;
}

function outcomeOf(workload: Workload, estimate: EstimateOf): Outcome {
  try {
    return { made: estimate(workload) };
  } catch (error) {
    if (error instanceof AppError) return { refused: error };
    throw error;
  }
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

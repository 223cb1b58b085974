import type { Workload } from './workload.ts';

/** Relative uncertainty of the allocated peak, with its reason. */
export function uncertaintyOf(_w: Workload): { readonly relative: number; readonly reason: string } {
  return { relative: 0.03, reason: 'traced' };
}

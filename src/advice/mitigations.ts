import type { Estimate, GpuSpec } from '../estimator/estimate-result.ts';
import type { Workload } from '../estimator/workload.ts';
import { forCard, neededGiB, usableGiB } from './fit.ts';
import { type EstimateOf, tryEstimate } from './memory/estimates.ts';
import { canCheckpoint, canFuseAttention, smallestBatch } from './memory/library-limits.ts';
import type { Change } from './recommendation.ts';

/** What a workload needs on one card after the shortest list of changes. */
export interface Mitigated {
  readonly workload: Workload;
  readonly estimate: Estimate;
  readonly changes: readonly Change[];
  readonly neededGiB: number;
  /** The same on this card before any change. */
  readonly asIsGiB: number;
  readonly fits: boolean;
}

interface Step {
  readonly change: Change;
  readonly workload: Workload;
}

function switches(workload: Workload): readonly ((current: Workload) => Step | undefined)[] {
  return [
    (current) =>
      current.precision === 'fp32' ? { change: { id: 'amp' }, workload: { ...current, precision: 'fp16' } } : undefined,
    (current) =>
      current.attention === 'eager' && canFuseAttention(workload)
        ? { change: { id: 'sdpa' }, workload: { ...current, attention: 'sdpa' } }
        : undefined,
    (current) =>
      !current.gradientCheckpointing && canCheckpoint(workload)
        ? { change: { id: 'checkpointing' }, workload: { ...current, gradientCheckpointing: true } }
        : undefined,
  ];
}

/** Micro-batches to try, largest first: each the largest divisor of the batch that is at most half of the one before. */
export function smallerBatches(workload: Workload): readonly number[] {
  const found: number[] = [];
  let current = workload.batchSize;
  for (;;) {
    const next = largestDivisor(workload.batchSize, Math.floor(current / 2));
    if (next < smallestBatch(workload)) return found;
    found.push(next);
    current = next;
  }
}

function largestDivisor(of: number, atMost: number): number {
  for (let divisor = atMost; divisor >= 1; divisor -= 1) if (of % divisor === 0) return divisor;
  return 0;
}

/** The same step with a smaller micro-batch: as many images, more accumulation. */
function withMicroBatch(workload: Workload, original: Workload, microBatch: number): Workload {
  const gradientAccumulation = original.gradientAccumulation * (original.batchSize / microBatch);
  return { ...workload, batchSize: microBatch, gradientAccumulation };
}

/**
 * Adds changes in the order of advice.md until the workload fits: AMP, fused attention, checkpointing, half the
 * micro-batch, repeated. One that does not lower the need, or that the library cannot do, is skipped.
 */
export function mitigate(estimate: EstimateOf, asked: Workload, gpu: GpuSpec): Mitigated {
  const limit = usableGiB(gpu);
  const start = forCard(asked, gpu);
  const asIs = estimate(start);
  const asIsGiB = neededGiB(asIs);
  const judge = (workload: Workload, made: Estimate, changes: readonly Change[]): Mitigated => {
    const needed = neededGiB(made);
    return { workload, estimate: made, changes, neededGiB: needed, asIsGiB, fits: needed <= limit };
  };
  let best = judge(start, asIs, []);
  const attempt = (step: Step | undefined): void => {
    if (best.fits || step === undefined) return;
    const workload = forCard(step.workload, gpu);
    const made = tryEstimate(estimate, workload);
    if (made === undefined) return;
    const others = best.changes.filter((change) => change.id !== step.change.id);
    const tried = judge(workload, made, [...others, step.change]);
    if (tried.neededGiB < best.neededGiB) best = tried;
  };
  for (const next of switches(asked)) attempt(next(best.workload));
  for (const value of smallerBatches(asked)) {
    attempt({ change: { id: 'micro-batch', value }, workload: withMicroBatch(best.workload, asked, value) });
  }
  return best;
}

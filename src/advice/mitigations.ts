import type { Estimate, GpuSpec } from '../estimator/estimate-result.ts';
import type { Implementation, Workload } from '../estimator/workload.ts';
import { type EstimateOf, forCard, neededGiB, tryEstimate, usableGiB } from './fit.ts';
import type { Change } from './recommendation.ts';

/** What a workload needs on one card after the shortest list of changes. */
export interface Mitigated {
  readonly workload: Workload;
  readonly estimate: Estimate;
  readonly changes: readonly Change[];
  readonly neededGiB: number;
  readonly fits: boolean;
}

/** Where fused attention is one argument away: `attn_implementation="sdpa"`. MMSegmentation 1.2.2 is eager everywhere (physics.md §6). */
const FUSED_ATTENTION: ReadonlySet<Implementation> = new Set(['transformers']);

/**
 * Libraries with a switch for checkpointing: `with_cp` (OpenMMLab), `gradient_checkpointing_enable()`, `use_checkpointing()`
 * (milesial). smp 0.6.0, torchvision 0.28 and detectron2 have none (package sources, 2026-11-30).
 */
const CHECKPOINTING: ReadonlySet<Implementation> = new Set(['mmseg', 'mmdetection', 'transformers', 'milesial']);

/**
 * Heads with a globally pooled branch through BatchNorm: with one image it sees one value per channel and raises
 * (truth/libraries.md; heads of mmseg 1.2.2).
 */
const POOLED_BATCH_NORM =
  /^(deeplabv3|deeplabv3plus|pspnet|upernet|pan|psanet|icnet|apcnet|dmnet|bisenetv1|bisenetv2|stdc|ddrnet|pidnet|fastscnn|fast-scnn|encnet|ppliteseg|pp-liteseg|autodeeplab|panoptic-deeplab)$/;

/** Smallest micro-batch that trains at all. */
export function smallestBatch(workload: Workload): number {
  const { norm, model } = workload;
  const usesBatchNorm = norm === null || norm === 'batch';
  return usesBatchNorm && POOLED_BATCH_NORM.test(model.architecture) ? 2 : 1;
}

export const canFuseAttention = (workload: Workload): boolean => FUSED_ATTENTION.has(workload.model.implementation);
export const canCheckpoint = (workload: Workload): boolean => CHECKPOINTING.has(workload.model.implementation);

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
export function withMicroBatch(workload: Workload, original: Workload, microBatch: number): Workload {
  const gradientAccumulation = original.gradientAccumulation * (original.batchSize / microBatch);
  return { ...workload, batchSize: microBatch, gradientAccumulation };
}

/**
 * Adds changes in the order of advice.md until the workload fits: AMP, fused attention, checkpointing, half the
 * micro-batch, repeated. One that does not lower the need, or that the library cannot do, is skipped.
 */
export function mitigate(estimate: EstimateOf, asked: Workload, gpu: GpuSpec): Mitigated {
  const limit = usableGiB(gpu);
  const judge = (workload: Workload, made: Estimate, changes: readonly Change[]): Mitigated => {
    const needed = neededGiB(made);
    return { workload, estimate: made, changes, neededGiB: needed, fits: needed <= limit };
  };
  const start = forCard(asked, gpu);
  let best = judge(start, estimate(start), []);
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

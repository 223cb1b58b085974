import { AppError } from '../../errors.ts';
import type { Estimate, GpuSpec } from '../../estimator/estimate-result.ts';
import type { Workload } from '../../estimator/workload.ts';
import { forCard, neededGiB, peakNeeding, usableGiB } from '../fit.ts';
import { type EstimateOf, tryEstimate } from '../memory/estimates.ts';
import { smallestBatch } from '../memory/library-limits.ts';

/** Beyond these nobody trains a segmentation model on one card; they bound the searches. */
const LARGEST_BATCH = 4096;
const LARGEST_SIDE = 8192;
/** Most networks of the catalogue downsample by 32, so sizes are tried in steps of 32 where a network asks for none of its own. */
const SIDE_STEP = 32;

type Need = (value: number) => number;

function needOf(estimate: EstimateOf, gpu: GpuSpec, make: (value: number) => Workload): Need {
  const known = new Map<number, number>();
  return (value) => {
    const before = known.get(value);
    if (before !== undefined) return before;
    const made = tryEstimate(estimate, forCard(make(value), gpu));
    const need = made === undefined ? Number.POSITIVE_INFINITY : neededGiB(made);
    known.set(value, need);
    return need;
  };
}

/**
 * Largest value in `low … high` whose need is within the limit. The need rises with the value and is nearly a straight
 * line, so the line through both ends is tried in turn with the middle, and the neighbour of each try with it.
 */
function largestWithin(
  need: Need,
  limit: number,
  range: { readonly low: number; readonly high: number },
): number | null {
  let { low, high } = range;
  if (need(low) > limit) return null;
  if (need(high) <= limit) return high;
  for (let round = 0; high - low > 1; round += 1) {
    const probe = round % 2 === 0 ? onTheLine(need, limit, { low, high }) : Math.floor((low + high) / 2);
    const neighbour = need(probe) <= limit ? probe + 1 : probe - 1;
    for (const value of [probe, neighbour]) {
      if (need(value) <= limit) low = Math.max(low, value);
      else high = Math.min(high, value);
    }
  }
  return low;
}

function onTheLine(need: Need, limit: number, { low, high }: { readonly low: number; readonly high: number }): number {
  const slope = (need(high) - need(low)) / (high - low);
  const guess = Number.isFinite(slope) && slope > 0 ? low + (limit - need(low)) / slope : (low + high) / 2;
  return Math.min(high - 1, Math.max(low + 1, Math.floor(guess)));
}

/** Doubles from `from` until the need passes the limit, so that no estimate is far larger than the answer. */
function bracket(need: Need, limit: number, range: { readonly from: number; readonly most: number }): number {
  let high = range.from;
  while (high < range.most && need(high) <= limit) high = Math.min(range.most, high * 2);
  return high;
}

/** The same for a need on a straight line: one try at `second`, and the line says where it passes the limit. */
function bracketOnLine(
  need: Need,
  limit: number,
  range: { readonly from: number; readonly second: number; readonly most: number },
): number {
  const { from, second, most } = range;
  if (second === from || need(from) > limit) return from;
  const slope = (need(second) - need(from)) / (second - from);
  const left = limit - need(second);
  if (left < 0 || !(slope > 0)) return bracket(need, limit, { from: second, most });
  return bracket(need, limit, { from: Math.min(most, second + Math.floor(left / slope) + 1), most });
}

/** The largest batch, were all but weights and optimizer state to grow with it: mostly right, so two tries find it. */
function guessBatch(made: Estimate, limit: number): number {
  const { bytes, workload } = made;
  const staying = bytes.parameters + bytes.buffers + bytes.optimizerState + bytes.ddpBuckets;
  const growing = bytes.input + bytes.target + bytes.workspace + Math.max(bytes.peakForward, bytes.peakBackward);
  return Math.floor((workload.batchSize * (peakNeeding(limit, made) - staying)) / growing);
}

/** Largest batch per GPU that fits as configured; null when not even the smallest does. */
export function findMaxBatch(estimate: EstimateOf, workload: Workload, gpu: GpuSpec): number | null {
  const need = needOf(estimate, gpu, (batchSize) => ({ ...workload, batchSize }));
  const smallest = smallestBatch(workload);
  const limit = usableGiB(gpu);
  const from = Math.max(smallest, workload.batchSize);
  const made = tryEstimate(estimate, forCard({ ...workload, batchSize: from }, gpu));
  const beyond = made === undefined ? from : guessBatch(made, limit) + 1;
  const second = Math.min(LARGEST_BATCH, Math.max(from + 1, beyond));
  const high = bracketOnLine(need, limit, { from, second, most: LARGEST_BATCH });
  return largestWithin(need, limit, { low: need(from) <= limit ? from : smallest, high });
}

/** Largest training size of the same shape that fits as configured, both sides multiples of what the network takes; null when none does. */
export function findMaxSize(
  estimate: EstimateOf,
  workload: Workload,
  gpu: GpuSpec,
): { readonly imageHeight: number; readonly imageWidth: number } | null {
  const step = sideStepOf(estimate, workload, gpu);
  const shape = (steps: number) => resize(workload, step, steps);
  const need = needOf(estimate, gpu, (steps) => ({ ...workload, ...shape(steps) }));
  const now = stepsNow(workload, step);
  const limit = usableGiB(gpu);
  const high = bracket(need, limit, { from: now, most: Math.floor(LARGEST_SIDE / step) });
  const steps = largestWithin(need, limit, { low: need(now) <= limit ? now : 1, high });
  return steps === null ? null : shape(steps);
}

function stepsNow({ imageHeight, imageWidth }: Workload, step: number): number {
  return Math.max(1, Math.floor(Math.min(imageHeight, imageWidth) / step));
}

/** A network with windows takes fewer sizes: refusing the next one, it says of what the sides are multiples. */
function sideStepOf(estimate: EstimateOf, workload: Workload, gpu: GpuSpec): number {
  const next = resize(workload, SIDE_STEP, stepsNow(workload, SIDE_STEP) + 1);
  try {
    estimate(forCard({ ...workload, ...next }, gpu));
    return SIDE_STEP;
  } catch (error) {
    if (!(error instanceof AppError) || error.code === 'internal') throw error;
    const multiple = Number(error.details['multipleOf'] ?? 1);
    return multiple * Math.ceil(SIDE_STEP / multiple);
  }
}

/** The shape with its shorter side at so many steps, the longer one rounded to whole steps. */
function resize(
  workload: Workload,
  step: number,
  steps: number,
): { readonly imageHeight: number; readonly imageWidth: number } {
  const shorter = steps * step;
  const { imageHeight, imageWidth } = workload;
  const longer =
    Math.round((shorter * Math.max(imageHeight, imageWidth)) / Math.min(imageHeight, imageWidth) / step) * step;
  return imageHeight <= imageWidth
    ? { imageHeight: shorter, imageWidth: longer }
    : { imageHeight: longer, imageWidth: shorter };
}

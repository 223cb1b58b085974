import type { Estimate } from '../../estimator/estimate-result.ts';
import type { Workload } from '../../estimator/workload.ts';
import type { Chosen } from '../choice/card.ts';
import type { Judging } from '../choice/judge.ts';
import { geometricMiddle } from '../choice/money.ts';
import { BYTES_PER_GIB, forCard } from '../fit.ts';
import { tryEstimate } from '../memory/estimates.ts';
import { imagesPerStep } from '../memory/workload-of.ts';
import type { Recommendation, Tip } from '../recommendation.ts';
import type { TimingOptions } from '../request.ts';
import type { Run } from '../run/run-length.ts';

/** Figures of the asked workload that take a pass of their own: cheapest right after the estimate, which still has its tape. */
export interface AskedPasses {
  readonly reserved: number;
  /** Bytes that the loss holds at the peak. */
  readonly lossBytes: number;
}

export function readPasses({ bytes, holders }: Estimate): AskedPasses {
  const losses = holders.filter(({ kind }) => kind === 'loss');
  return { reserved: bytes.reserved, lossBytes: losses.reduce((sum, holder) => sum + holder.bytes, 0) };
}

export interface TipInput {
  readonly judging: Judging;
  /** The workload as it was asked for. */
  readonly asked: Estimate;
  readonly askedPasses: AskedPasses;
  readonly chosen: Chosen | null;
  readonly recommended: Recommendation['recommended'];
  readonly run: Run | null;
}

/** What a tip gives back, and whether the trained model stays the same. */
export interface RankedTip {
  readonly tip: Tip;
  readonly gives: 'memory' | 'time' | 'money' | 'safety';
  readonly lossless: boolean;
}

export interface Effect {
  readonly estimate: Estimate;
  readonly savesGiB: number;
  readonly timeFactor: number;
}

/** The asked workload as the chosen card runs it, before any change. */
export function baseOf(input: TipInput): Workload {
  const asked = input.judging.request.workload;
  if (input.chosen === null) return asked;
  const { fit, card } = input.chosen;
  const perGpu = fit.imagesPerStep / (fit.gpus * asked.gradientAccumulation);
  return forCard({ ...asked, gpus: fit.gpus, batchSize: perGpu }, card.spec);
}

/** Geometric middle on the chosen card; null where the card cannot be timed. */
export function secondsPerImage(input: TipInput, estimate: Estimate, extra: TimingOptions = {}): number | null {
  const { chosen, judging } = input;
  if (chosen === null || !chosen.card.timeable) return null;
  const vcpusPerGpu = chosen.fit.vcpu === null ? undefined : chosen.fit.vcpu / chosen.fit.gpus;
  const options = { ...(vcpusPerGpu === undefined ? {} : { vcpusPerGpu }), ...extra };
  const range = judging.ports.secondsPerIteration(estimate, chosen.card.spec, options);
  return geometricMiddle(range) / imagesPerStep(estimate.workload);
}

/** Re-estimates with a change; undefined when the library cannot do it. */
export function effectOf(input: TipInput, change: Partial<Workload>): Effect | undefined {
  const { estimate } = input.judging;
  const base = baseOf(input);
  const before = tryEstimate(estimate, base);
  const changed = { ...base, ...change };
  const after = tryEstimate(estimate, input.chosen === null ? changed : forCard(changed, input.chosen.card.spec));
  if (before === undefined || after === undefined) return undefined;
  const [old, fresh] = [secondsPerImage(input, before), secondsPerImage(input, after)];
  return {
    estimate: after,
    savesGiB: (before.bytes.allocatedPeak - after.bytes.allocatedPeak) / BYTES_PER_GIB,
    timeFactor: old === null || fresh === null || old === 0 ? 1 : fresh / old,
  };
}

/** Savings below this share of the peak are not worth a line. */
const WORTH_A_LINE = 0.02;

export function isWorthwhile(input: TipInput, effect: Effect): boolean {
  const peakGiB = input.asked.bytes.allocatedPeak / BYTES_PER_GIB;
  return effect.savesGiB >= WORTH_A_LINE * peakGiB;
}

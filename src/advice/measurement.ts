import type { Estimate } from '../estimator/estimate-result.ts';
import type { Workload } from '../estimator/workload.ts';
import { BYTES_PER_GIB } from './fit.ts';

/** What the person read off after an answer. */
export interface Measured {
  /** nvidia-smi, per GPU. */
  readonly deviceGiB?: number;
  /** `torch.cuda.max_memory_allocated()`. */
  readonly allocatedGiB?: number;
  readonly secondsPerIteration?: number;
}

export type MeasuredKind = 'device' | 'allocated' | 'time';

/** Why a measurement may lie outside the estimate's range; the reply words each. */
export type DeviationReason =
  | 'cached-memory'
  | 'varying-sizes'
  | 'first-iterations'
  | 'other-process'
  | 'validation-included'
  | 'context-of-old-torch'
  | 'output-kept'
  | 'other-library-version'
  | 'smaller-input'
  | 'data-loading'
  | 'faster-kernels';

export interface Comparison {
  readonly kind: MeasuredKind;
  readonly measured: number;
  readonly low: number;
  readonly estimated: number;
  readonly high: number;
  /** measured ÷ estimated. */
  readonly ratio: number;
  readonly verdict: 'as-estimated' | 'higher' | 'lower';
  /** Most likely first; empty when the measurement lies in the range. */
  readonly reasons: readonly DeviationReason[];
}

/** physics.md §3.5: context 0.35–0.7 GiB around the planned 0.5; §3.6: what varying sizes add to reserved memory. */
const CONTEXT_SPREAD_GIB = 0.2;
const CACHE_SHARE = { fixed: 0.14, varying: 0.7 } as const;

/** Torch from which CUDA loads kernels lazily and the context shrank to the planned size. */
const LAZY_LOADING_SINCE_TORCH = 2;

export interface EstimatedFigures {
  readonly estimate: Estimate;
  /** On the card that was measured; null when it has no time. */
  readonly secondsPerIteration: readonly [number, number] | null;
}

/** Sets each told figure beside the estimated one. */
export function compareMeasured(measured: Measured, figures: EstimatedFigures): readonly Comparison[] {
  const { deviceGiB, allocatedGiB, secondsPerIteration } = measured;
  const { estimate } = figures;
  return [
    ...(allocatedGiB === undefined ? [] : [compareAllocated(allocatedGiB, estimate)]),
    ...(deviceGiB === undefined ? [] : [compareDevice(deviceGiB, estimate)]),
    ...(secondsPerIteration === undefined || figures.secondsPerIteration === null
      ? []
      : [compareTime(secondsPerIteration, figures.secondsPerIteration)]),
  ];
}

interface Range {
  readonly low: number;
  readonly estimated: number;
  readonly high: number;
}

function compare(kind: MeasuredKind, measured: number, range: Range): Omit<Comparison, 'reasons'> {
  const outside = measured > range.high ? 'higher' : 'lower';
  const verdict = measured >= range.low && measured <= range.high ? 'as-estimated' : outside;
  return { kind, measured, ...range, ratio: measured / range.estimated, verdict };
}

function compareAllocated(measured: number, estimate: Estimate): Comparison {
  const estimated = estimate.bytes.allocatedPeak / BYTES_PER_GIB;
  const spread = estimated * estimate.uncertainty.relative;
  const found = compare('allocated', measured, { low: estimated - spread, estimated, high: estimated + spread });
  const reasons: readonly DeviationReason[] = estimate.workload.outputHeld ? [] : ['output-kept'];
  return { ...found, reasons: reasonsFor(found.verdict, [...reasons, 'validation-included', 'other-library-version']) };
}

function compareDevice(measured: number, estimate: Estimate): Comparison {
  const { bytes, workload, uncertainty } = estimate;
  const estimated = bytes.device / BYTES_PER_GIB;
  const allocated = bytes.allocatedPeak / BYTES_PER_GIB;
  const outsideAllocator = estimated - bytes.reserved / BYTES_PER_GIB;
  const cache = allocated * (workload.multiScale === null ? CACHE_SHARE.fixed : CACHE_SHARE.varying);
  const spread = allocated * uncertainty.relative + CONTEXT_SPREAD_GIB;
  const low = allocated + outsideAllocator - spread;
  const high = Math.max(estimated, allocated + outsideAllocator + cache) + spread;
  const found = compare('device', measured, { low, estimated, high });
  const reasons: readonly DeviationReason[] = [
    ...(bytes.validationPeak > bytes.allocatedPeak ? (['validation-included'] as const) : []),
    ...(workload.multiScale === null ? (['varying-sizes'] as const) : []),
    'first-iterations',
    'cached-memory',
    ...(workload.torch < LAZY_LOADING_SINCE_TORCH ? (['context-of-old-torch'] as const) : []),
    'other-process',
  ];
  return { ...found, reasons: reasonsFor(found.verdict, reasons) };
}

function compareTime(measured: number, [low, high]: readonly [number, number]): Comparison {
  const found = compare('time', measured, { low, estimated: Math.sqrt(low * high), high });
  if (found.verdict === 'as-estimated') return { ...found, reasons: [] };
  return { ...found, reasons: [found.verdict === 'higher' ? 'data-loading' : 'faster-kernels'] };
}

function reasonsFor(verdict: Comparison['verdict'], ifHigher: readonly DeviationReason[]): readonly DeviationReason[] {
  if (verdict === 'as-estimated') return [];
  return verdict === 'higher' ? ifHigher : ['smaller-input', 'other-library-version'];
}

/** What is stored about a measurement: the workload and figures, nothing about who told them. */
export interface MeasurementRecord {
  readonly workload: Pick<Workload, 'model'>;
  readonly gpu: string | null;
  readonly kind: MeasuredKind;
  readonly measured: number;
  readonly estimated: number;
  /** Epoch milliseconds. */
  readonly at: number;
}

export interface MeasurementSummary {
  readonly kind: MeasuredKind;
  readonly model: string;
  readonly count: number;
  /** measured ÷ estimated. */
  readonly medianRatio: number;
  readonly worstRatio: number;
}

/** Where estimates were off: by kind and model, the farthest from 1 first. */
export function summariseMeasurements(records: readonly MeasurementRecord[]): readonly MeasurementSummary[] {
  const groups = new Map<string, MeasurementRecord[]>();
  for (const record of records) {
    const key = `${record.kind}|${modelName(record.workload)}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, [record]);
    else group.push(record);
  }
  const distance = (ratio: number) => Math.abs(Math.log(ratio));
  return [...groups.values()]
    .flatMap((group) => summarise(group) ?? [])
    .sort((left, right) => distance(right.medianRatio) - distance(left.medianRatio));
}

function summarise(group: readonly MeasurementRecord[]): MeasurementSummary | undefined {
  const [first] = group;
  if (first === undefined) return undefined;
  const ratios = group.map((one) => one.measured / one.estimated).sort((left, right) => left - right);
  const middle = ratios[Math.floor(ratios.length / 2)] ?? 1;
  const worst = ratios.reduce((far, ratio) => (Math.abs(Math.log(ratio)) > Math.abs(Math.log(far)) ? ratio : far), 1);
  return {
    kind: first.kind,
    model: modelName(first.workload),
    count: group.length,
    medianRatio: middle,
    worstRatio: worst,
  };
}

function modelName({ model }: Pick<Workload, 'model'>): string {
  return [model.implementation, model.architecture, model.backbone].filter((part) => part !== null).join('/');
}

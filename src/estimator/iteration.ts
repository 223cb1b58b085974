import { LeastRecent } from './least-recent.ts';
import { type TrainedWeights, trainedWeights } from './optimizer.ts';
import { type Replay, type ReplayOptions, replay } from './replay.ts';
import type { Iteration } from './reserved.ts';
import { trace } from './trace.ts';
import { type GroupedWork, groupWork } from './work-profile.ts';
import type { Workload } from './workload.ts';

/** What an estimate needs of a traced and replayed iteration: small, so that it may be kept when the tape is gone. */
export interface IterationFacts extends Replay {
  readonly parameterCount: number;
  readonly trainableCount: number;
  readonly macs: number;
  readonly parameterBytes: number;
  readonly bufferBytes: number;
  readonly inputBytes: number;
  readonly targetBytes: number;
  readonly trained: TrainedWeights;
  readonly work: GroupedWork;
  /** Paths of the modules in which the peaks lie. */
  readonly scopes: Readonly<Record<number, { readonly path: string } | undefined>>;
}

/** Tapes take megabytes, facts a few kilobytes. One recommendation asks for some dozens of facts. */
const TAPES = 3;
const FACTS = 100;

interface Kept<T> {
  readonly value: T;
  readonly readsHalfType: boolean;
}

const tapes = new LeastRecent<string, Kept<Iteration>>(TAPES);
const facts = new LeastRecent<string, Kept<IterationFacts>>(FACTS);

/** Accumulated gradients stay between micro-batches. */
export function hasResidentGradients(w: Workload): boolean {
  return w.residentGradients || w.gradientAccumulation > 1;
}

export function replayOptions(w: Workload): ReplayOptions {
  return {
    fanInCopies: w.fanInCopies,
    residentGradients: hasResidentGradients(w),
    convWorkspace: w.convWorkspace,
  };
}

/** The workload with everything that no network reads set aside: workloads that agree here have the same tape. */
function traced(w: Workload): Workload {
  return {
    ...w,
    optimizer: 'sgd',
    optimizerStep: 'foreach',
    gradientAccumulation: 1,
    gpus: 1,
    residentGradients: false,
    expandableSegments: false,
    multiScale: null,
    convWorkspace: false,
    validationHeight: w.imageHeight,
    validationWidth: w.imageWidth,
    validationBatch: 1,
    validationMode: 'whole',
  };
}

/** The same under the other 16-bit type, which most networks do not tell apart. */
function otherHalf(w: Workload): Workload | undefined {
  if (w.precision === 'fp32') return undefined;
  return { ...w, precision: w.precision === 'fp16' ? 'bf16' : 'fp16' };
}

function recall<T>(known: LeastRecent<string, Kept<T>>, w: Workload, keyOf: (w: Workload) => string): T | undefined {
  const same = known.get(keyOf(w));
  if (same !== undefined) return same.value;
  const other = otherHalf(w);
  const alike = other === undefined ? undefined : known.get(keyOf(other));
  return alike?.readsHalfType === false ? alike.value : undefined;
}

/**
 * The traced iteration of a workload of one size; replay it before reading lifetimes.
 *
 * @throws AppError `unsupported-combination`.
 */
export function iterationOf(w: Workload): Iteration {
  const plain = traced(w);
  const known = recall(tapes, plain, JSON.stringify);
  if (known !== undefined) return known;
  const value = trace(plain);
  tapes.set(JSON.stringify(plain), { value, readsHalfType: value.t.readsHalfType });
  return value;
}

/**
 * Facts of the iteration of a workload of one size.
 *
 * @throws AppError `unsupported-combination`.
 */
export function factsOf(w: Workload): IterationFacts {
  const plain = traced(w);
  const options = replayOptions(w);
  const keyOf = (one: Workload): string => `${JSON.stringify(one)}${options.residentGradients}${options.convWorkspace}`;
  const known = recall(facts, plain, keyOf);
  if (known !== undefined) return known;
  const iteration = iterationOf(w);
  const value = readFacts(iteration, replay(iteration.t, iteration.loss, options));
  facts.set(keyOf(plain), { value, readsHalfType: iteration.t.readsHalfType });
  return value;
}

function readFacts({ t }: Iteration, replayed: Replay): IterationFacts {
  const { forward, backward } = replayed;
  return {
    ...replayed,
    parameterCount: t.parameterCount,
    trainableCount: t.trainableCount,
    macs: t.macs,
    parameterBytes: t.parameterBytes,
    bufferBytes: t.bufferBytes,
    inputBytes: t.inputBytes,
    targetBytes: t.targetBytes,
    trained: trainedWeights(t.params),
    work: groupWork(t),
    scopes: { [forward.scope]: scopeOf(t, forward.scope), [backward.scope]: scopeOf(t, backward.scope) },
  };
}

function scopeOf(t: Iteration['t'], scope: number): { readonly path: string } {
  return { path: t.scopes[scope]?.path ?? '' };
}

import { LeastRecent } from './least-recent.ts';
import { type TrainedWeights, trainedWeights } from './optimizer.ts';
import { type Replay, type ReplayOptions, replayBoth } from './replay.ts';
import type { Iteration } from './reserved.ts';
import type { Tape } from './tape/tape.ts';
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

/** Some kilobytes each. One recommendation asks for some dozens. */
const FACTS = 200;

interface KeptFacts {
  readonly value: IterationFacts;
  readonly readsHalfType: boolean;
}

const facts = new LeastRecent<string, KeptFacts>(FACTS);

/**
 * The tape traced last: reserved memory and explanation read it again right after the estimate. Never more than this one,
 * and none while the next is traced: a tape is megabytes of small objects, and those that outlive a collection or two
 * cost more to copy and sweep than to make (keeping three doubled the time of an estimate).
 */
let last: { readonly key: string; readonly iteration: Iteration } | undefined;

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

function isLast(w: Workload, key: string): boolean {
  if (last === undefined) return false;
  if (last.key === key) return true;
  const other = last.iteration.t.readsHalfType ? undefined : otherHalf(w);
  return other !== undefined && last.key === JSON.stringify(other);
}

/**
 * The traced iteration of a workload of one size; replay it before reading lifetimes.
 *
 * @throws AppError `unsupported-combination`.
 */
export function iterationOf(w: Workload): Iteration {
  const plain = traced(w);
  const key = JSON.stringify(plain);
  if (last !== undefined && isLast(plain, key)) return last.iteration;
  last = undefined;
  const iteration = trace(plain);
  last = { key, iteration };
  return iteration;
}

function knownFacts(w: Workload, keyOf: (w: Workload) => string): IterationFacts | undefined {
  const same = facts.get(keyOf(w));
  if (same !== undefined) return same.value;
  const other = otherHalf(w);
  const alike = other === undefined ? undefined : facts.get(keyOf(other));
  return alike?.readsHalfType === false ? alike.value : undefined;
}

/**
 * Facts of the iteration of a workload of one size.
 *
 * @throws AppError `unsupported-combination`.
 */
export function factsOf(w: Workload): IterationFacts {
  const plain = traced(w);
  const options = replayOptions(w);
  const keyFor =
    (convWorkspace: boolean) =>
    (one: Workload): string =>
      `${JSON.stringify(one)}${options.residentGradients}${convWorkspace}`;
  const known = knownFacts(plain, keyFor(w.convWorkspace));
  if (known !== undefined) return known;
  const { t, loss } = iterationOf(w);
  const replays = replayBoth(t, loss, options);
  const shared = sharedFacts(t);
  const keep = (replayed: Replay, convWorkspace: boolean): IterationFacts => {
    const value = { ...replayed, ...shared, scopes: peakScopes(t, replayed) };
    facts.set(keyFor(convWorkspace)(plain), { value, readsHalfType: t.readsHalfType });
    return value;
  };
  const [without, taken] = [keep(replays.plain, false), keep(replays.withWorkspace, true)];
  return w.convWorkspace ? taken : without;
}

/** What is the same on every card. */
function sharedFacts(t: Tape): Omit<IterationFacts, keyof Replay | 'scopes'> {
  return {
    parameterCount: t.parameterCount,
    trainableCount: t.trainableCount,
    macs: t.macs,
    parameterBytes: t.parameterBytes,
    bufferBytes: t.bufferBytes,
    inputBytes: t.inputBytes,
    targetBytes: t.targetBytes,
    trained: trainedWeights(t.params),
    work: groupWork(t),
  };
}

function peakScopes(t: Tape, { forward, backward }: Replay): IterationFacts['scopes'] {
  const scopeOf = (scope: number) => ({ path: t.scopes[scope]?.path ?? '' });
  return { [forward.scope]: scopeOf(forward.scope), [backward.scope]: scopeOf(backward.scope) };
}

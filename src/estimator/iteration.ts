import type { PeakModules } from './explain.ts';
import { LeastRecent } from './least-recent.ts';
import { type TrainedWeights, trainedWeights } from './optimizer.ts';
import { type Replay, type ReplayOptions, replayBoth } from './replay.ts';
import type { Iteration } from './reserved.ts';
import type { Tape } from './tape/tape.ts';
import { trace } from './trace.ts';
import { type GroupedWork, groupWork } from './work-profile.ts';
import type { Workload } from './workload.ts';

/** What an estimate needs of a traced and replayed iteration: small, so that it may be kept when the tape is gone. */
export interface IterationFacts {
  readonly replayed: Replay;
  /** Paths of the modules in which the peaks lie. */
  readonly peakModules: PeakModules;
  readonly tape: TapeFacts;
}

/** What is the same on every card. */
export interface TapeFacts {
  readonly parameterCount: number;
  readonly trainableCount: number;
  readonly macs: number;
  readonly parameterBytes: number;
  readonly bufferBytes: number;
  readonly inputBytes: number;
  readonly targetBytes: number;
  readonly trained: TrainedWeights;
  readonly work: GroupedWork;
}

/** Some kilobytes each. One recommendation asks for some dozens. */
const FACTS = 100;

interface KeptFacts {
  readonly plain: IterationFacts;
  /** On cards that take workspaces for wide fp32 convolutions. */
  readonly withWorkspace: IterationFacts;
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

/** What tells tapes apart, of a workload and of its twin in the other 16-bit type. Written out once: a key takes microseconds. */
class TapeKey {
  readonly plain: Workload;
  readonly text: string;
  private twin: string | undefined;

  constructor(w: Workload) {
    this.plain = traced(w);
    this.text = JSON.stringify(this.plain);
  }

  get other(): string | undefined {
    this.twin ??= JSON.stringify(otherHalf(this.plain));
    return this.twin;
  }
}

function isLast(key: TapeKey): boolean {
  if (last === undefined) return false;
  if (last.key === key.text) return true;
  return !last.iteration.t.readsHalfType && last.key === key.other;
}

/**
 * The traced iteration of a workload of one size; replay it before reading lifetimes.
 *
 * @throws AppError `unsupported-combination`.
 */
export function iterationOf(w: Workload): Iteration {
  return iterationFor(new TapeKey(w));
}

function iterationFor(key: TapeKey): Iteration {
  if (last !== undefined && isLast(key)) return last.iteration;
  last = undefined;
  const iteration = trace(key.plain);
  last = { key: key.text, iteration };
  return iteration;
}

/** Facts depend on more than the tape: on whether gradients stay. */
function factsKey(tape: string, w: Workload): string {
  return hasResidentGradients(w) ? `${tape}+` : tape;
}

function knownFacts(w: Workload, key: TapeKey): KeptFacts | undefined {
  const same = facts.get(factsKey(key.text, w));
  if (same !== undefined) return same;
  const alike = key.other === undefined ? undefined : facts.get(factsKey(key.other, w));
  return alike?.readsHalfType === false ? alike : undefined;
}

/**
 * Facts of the iteration of a workload of one size.
 *
 * @throws AppError `unsupported-combination`.
 */
export function factsOf(w: Workload): IterationFacts {
  const key = new TapeKey(w);
  const kept = knownFacts(w, key) ?? newFacts(w, key);
  return w.convWorkspace ? kept.withWorkspace : kept.plain;
}

function newFacts(w: Workload, key: TapeKey): KeptFacts {
  const { t, loss } = iterationFor(key);
  const replays = replayBoth(t, loss, replayOptions(w));
  const tape = tapeFacts(t);
  const of = (replayed: Replay): IterationFacts => ({ replayed, peakModules: peakModules(t, replayed), tape });
  const made = {
    plain: of(replays.plain),
    withWorkspace: of(replays.withWorkspace),
    readsHalfType: t.readsHalfType,
  };
  facts.set(factsKey(key.text, w), made);
  return made;
}

function tapeFacts(t: Tape): TapeFacts {
  return {
    parameterCount: t.parameterCount,
    trainableCount: t.trainableCount,
    macs: t.works.totalMacs,
    parameterBytes: t.parameterBytes,
    bufferBytes: t.bufferBytes,
    inputBytes: t.inputBytes,
    targetBytes: t.targetBytes,
    trained: trainedWeights(t.params),
    work: groupWork(t),
  };
}

function peakModules(t: Tape, { forward, backward }: Replay): PeakModules {
  return { forward: t.scopes[forward.scope]?.path ?? '', backward: t.scopes[backward.scope]?.path ?? '' };
}

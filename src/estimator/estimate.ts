import { AppError } from '../errors.ts';
import { deviceBytes } from './device.ts';
import type { Estimate, EstimateBytes } from './estimate-result.ts';
import { holdersAtPeak, peakOf } from './explain.ts';
import { factsOf, hasResidentGradients, type IterationFacts, iterationOf, replayOptions } from './iteration.ts';
import { optimizerBytes, stepBytes } from './optimizer.ts';
import { replayWithoutGradient } from './replay.ts';
import { replayReserved } from './reserved.ts';
import type { Tape } from './tape/tape.ts';
import { atScale, traceValidation } from './trace.ts';
import { uncertaintyOf } from './uncertainty.ts';
import { workProfile } from './work-profile.ts';
import type { Workload } from './workload.ts';

/**
 * Memory, work and explanation of one training run on one GPU. Pure. What costs another pass (`holders`, and in
 * `bytes` reserved, device and validationPeak) is computed when read, once.
 * @throws AppError `unsupported-combination`.
 */
export function estimate(w: Workload, assumed: readonly string[] = []): Estimate {
  const largest = w.multiScale === null ? w : atScale(w, w.multiScale[1]);
  const facts = factsOf(largest);
  const { tape, replayed } = facts;
  const bytes = new LazyBytes(countBytes(facts, w), w);
  const holders = lazy(() => holdersOf(largest, { bytes, facts }));
  return {
    workload: w,
    model: w.model,
    assumed,
    parameters: tape.parameterCount,
    trainableParameters: tape.trainableCount,
    forwardMacs: tape.macs,
    bytes,
    peak: peakOf(replayed, facts.peakModules, bytes),
    get holders() {
      return holders();
    },
    uncertainty: uncertaintyOf(w, bytes.allocatedPeak),
    work: workProfile(tape.work, replayed.gradientBytes, { bytes, images: w.batchSize }),
  };
}

function lazy<T>(compute: () => T): () => T {
  let known: { readonly value: T } | undefined;
  return () => {
    known ??= { value: compute() };
    return known.value;
  };
}

type Counted = Omit<EstimateBytes, 'reserved' | 'device' | 'validationPeak'>;

function countBytes({ tape, replayed }: IterationFacts, w: Workload): Counted {
  const { parameterBytes, bufferBytes, inputBytes, targetBytes, trained } = tape;
  const { forward, backward, gradientBytes: gradients } = replayed;
  const base = parameterBytes + bufferBytes + inputBytes + targetBytes;
  const optimizerState = optimizerBytes(trained, w);
  const ddpBuckets = w.gpus > 1 ? gradients : 0;
  const peakStep = gradients + optimizerState + stepBytes(trained, w) + replayed.remaining;
  const resident = ddpBuckets + (hasResidentGradients(w) ? gradients : 0);
  const pure = Math.max(forward.bytes, backward.bytes);
  const withKernels = Math.max(forward.withKernels, backward.withKernels);
  return {
    parameters: parameterBytes,
    buffers: bufferBytes,
    input: inputBytes,
    target: targetBytes,
    gradients,
    optimizerState,
    ddpBuckets,
    base,
    saved: replayed.saved,
    peakForward: forward.bytes,
    peakBackward: backward.bytes,
    peakStep,
    workspace: Math.max(0, withKernels - pure),
    allocatedPeak: Math.max(base + optimizerState + resident + withKernels, base + ddpBuckets + peakStep),
  };
}

/** Figures of the first pass, and the ones that need more work. */
class LazyBytes implements EstimateBytes {
  readonly parameters: number;
  readonly buffers: number;
  readonly input: number;
  readonly target: number;
  readonly gradients: number;
  readonly optimizerState: number;
  readonly ddpBuckets: number;
  readonly base: number;
  readonly saved: number;
  readonly peakForward: number;
  readonly peakBackward: number;
  readonly peakStep: number;
  readonly workspace: number;
  readonly allocatedPeak: number;
  readonly #reserved: () => number;
  readonly #validationPeak: () => number;
  readonly #workload: Workload;

  constructor(counted: Counted, w: Workload) {
    this.parameters = counted.parameters;
    this.buffers = counted.buffers;
    this.input = counted.input;
    this.target = counted.target;
    this.gradients = counted.gradients;
    this.optimizerState = counted.optimizerState;
    this.ddpBuckets = counted.ddpBuckets;
    this.base = counted.base;
    this.saved = counted.saved;
    this.peakForward = counted.peakForward;
    this.peakBackward = counted.peakBackward;
    this.peakStep = counted.peakStep;
    this.workspace = counted.workspace;
    this.allocatedPeak = counted.allocatedPeak;
    this.#workload = w;
    this.#reserved = lazy(() => reservedOf(counted, w));
    this.#validationPeak = lazy(() => validationPeak(w, counted.parameters + counted.buffers));
  }

  /** Every figure, the lazy ones too. */
  toJSON(): EstimateBytes {
    const { reserved, device, validationPeak: validation } = this;
    return { ...this, reserved, device, validationPeak: validation };
  }

  get reserved(): number {
    return this.#reserved();
  }

  get device(): number {
    return deviceBytes(this.reserved, this.#workload);
  }

  get validationPeak(): number {
    return this.#validationPeak();
  }
}

/** Factors of a varying input size that stand for the whole range, in an order that grows now and then, as random sizes do. */
function scalesOf([low, high]: readonly [number, number]): readonly number[] {
  return [(low + high) / 2, low, (low + 3 * high) / 4, (3 * low + high) / 4, high];
}

function reservedOf(bytes: Counted, w: Workload): number {
  const shapes = w.multiScale === null ? [w] : scalesOf(w.multiScale).map((factor) => atScale(w, factor));
  const iterations = shapes.map(iterationOf);
  const [first] = iterations;
  const resident = first === undefined ? [] : first.t.params.map((param) => param.storage.bytes);
  const buckets = Math.ceil(bytes.ddpBuckets / BUCKET_BYTES);
  resident.push(bytes.buffers, bytes.input, bytes.target, ...new Array<number>(buckets).fill(BUCKET_BYTES));
  if (hasResidentGradients(w)) resident.push(...resident.slice(0, first?.t.params.length ?? 0));
  const stepTemporaries = Math.max(0, bytes.peakStep - bytes.gradients - bytes.optimizerState);
  const replayed = replayReserved(iterations, w, { ...replayOptions(w), resident, stepTemporaries });
  return Math.max(replayed, bytes.allocatedPeak) + bytes.workspace;
}

/** Gradient buckets of DistributedDataParallel: 25 MiB (torch/csrc/distributed/c10d/reducer.hpp, 2026-11). */
const BUCKET_BYTES = 25 * 2 ** 20;

function holdersOf(
  w: Workload,
  { bytes, facts }: { readonly bytes: EstimateBytes; readonly facts: IterationFacts },
): Estimate['holders'] {
  const { t, loss } = iterationOf(w);
  return holdersAtPeak({ t, loss, replayed: facts.replayed, bytes, options: replayOptions(w) });
}

/** Absolute peak of a no-gradient pass: logits resized to the image, softmax, argmax. All weights are there, those of auxiliary heads too. */
function validationPeak(w: Workload, weights: number): number {
  const t = traceAnySize(w);
  return Math.max(weights, t.parameterBytes + t.bufferBytes) + t.inputBytes + replayWithoutGradient(t).bytes;
}

/** Networks that refuse odd sides are validated on padded images, those that take one size only at it, as their users have to. */
function traceAnySize(w: Workload): Tape {
  const padded = (side: number): number => Math.ceil(side / PADDED_STRIDE) * PADDED_STRIDE;
  return (
    traceAccepted(w) ??
    traceAccepted({
      ...w,
      validationHeight: padded(w.validationHeight),
      validationWidth: padded(w.validationWidth),
    }) ??
    traceValidation({ ...w, validationHeight: w.imageHeight, validationWidth: w.imageWidth })
  );
}

/** Undefined where the network refuses the size. */
function traceAccepted(w: Workload): Tape | undefined {
  try {
    return traceValidation(w);
  } catch (error) {
    if (error instanceof AppError && error.code === 'unsupported-combination') return undefined;
    throw error;
  }
}

/** The stride that every network with equal-sized stages accepts. */
const PADDED_STRIDE = 32;

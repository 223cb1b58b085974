import { AppError } from '../errors.ts';
import { deviceBytes, reservedBytes } from './device.ts';
import type { Estimate, EstimateBytes } from './estimate-result.ts';
import { holdersAtPeak, peakOf } from './explain.ts';
import { findNetwork } from './networks/index.ts';
import { imageInput, type Run } from './networks/network.ts';
import { optimizerBytes, stepBytes } from './optimizer.ts';
import { type Replay, replay, replayWithoutGradient } from './replay.ts';
import type { Tensor } from './tape/storage.ts';
import { Tape, type TapeOptions } from './tape/tape.ts';
import { uncertaintyOf } from './uncertainty.ts';
import { validationOutput } from './validation.ts';
import { workProfile } from './work-profile.ts';
import type { Workload } from './workload.ts';

/** Pixels a side may have; more is a mistake or no training image. */
export const MAXIMUM_SIDE = 16_384;

function tapeOptions(w: Workload, training: boolean): TapeOptions {
  return {
    autocast: w.precision === 'fp32' ? null : w.precision,
    training,
    rules: { softmaxKeepsInput: w.torch < 1.11, relu6KeepsResult: w.torch < 2, composedHardswish: w.torch < 1.07 },
    convWorkspace: w.convWorkspace,
    kernelTemporaries: w.kernelTemporaries,
    fanInCopies: w.fanInCopies,
  };
}

/** The finished forward tape of one training iteration. */
export interface Traced {
  readonly t: Tape;
  readonly loss: Tensor;
  readonly run: Run;
}

/** @throws AppError `unsupported-combination` when no family builds the model, or the family refuses the shape. */
export function trace(w: Workload): Traced {
  const network = findNetwork(w.model);
  if (network === undefined) throw unsupported(w);
  const t = new Tape(tapeOptions(w, true));
  const run = { t, spec: w.model, w };
  return { t, loss: network.train(run), run };
}

function unsupported(w: Workload): AppError {
  const { implementation, architecture, backbone } = w.model;
  return new AppError(
    'unsupported-combination',
    `no network for ${implementation} ${architecture} ${backbone ?? ''}`.trim(),
    {
      details: { implementation, architecture, backbone: backbone ?? '' },
    },
  );
}

/**
 * Memory, work and explanation of one training run on one GPU. Pure.
 * @throws AppError `unsupported-combination`.
 */
export function estimate(w: Workload, assumed: readonly string[] = []): Estimate {
  const traced = trace(w);
  const { t } = traced;
  const replayed = replay(t, traced.loss, { fanInCopies: w.fanInCopies, residentGradients: hasResidentGradients(w) });
  const bytes = countBytes(traced, replayed, w);
  return {
    workload: w,
    model: w.model,
    assumed,
    parameters: t.parameterCount,
    trainableParameters: t.trainableCount,
    forwardMacs: t.macs,
    bytes,
    peak: peakOf(t, replayed, bytes),
    get holders() {
      return holdersOf(w, bytes);
    },
    uncertainty: uncertaintyOf(w),
    work: workProfile(t, replayed.gradientBytes, bytes),
  };
}

/** Traced again when asked for: an estimate keeps no tape. */
function holdersOf(w: Workload, bytes: EstimateBytes): Estimate['holders'] {
  const { t, loss } = trace(w);
  const options = { fanInCopies: w.fanInCopies, residentGradients: hasResidentGradients(w) };
  return holdersAtPeak({ t, loss, replayed: replay(t, loss, options), bytes, options });
}

/** Accumulated gradients stay between micro-batches. */
export function hasResidentGradients(w: Workload): boolean {
  return w.residentGradients || w.gradientAccumulation > 1;
}

function countBytes({ t }: Traced, replayed: Replay, w: Workload): EstimateBytes {
  const base = t.parameterBytes + t.bufferBytes + t.inputBytes + t.targetBytes;
  const gradients = replayed.gradientBytes;
  const optimizerState = optimizerBytes(t.params, w);
  const ddpBuckets = w.gpus > 1 ? gradients : 0;
  const peakStep = gradients + optimizerState + stepBytes(t.params, w);
  const resident = ddpBuckets + (hasResidentGradients(w) ? gradients : 0);
  const pure = Math.max(replayed.forward.bytes, replayed.backward.bytes);
  const withKernels = Math.max(replayed.forward.withKernels, replayed.backward.withKernels);
  const iteration = base + optimizerState + resident + withKernels;
  const allocatedPeak = Math.max(iteration, base + ddpBuckets + peakStep);
  const reserved = reservedBytes(allocatedPeak, w);
  return {
    parameters: t.parameterBytes,
    buffers: t.bufferBytes,
    input: t.inputBytes,
    target: t.targetBytes,
    gradients,
    optimizerState,
    ddpBuckets,
    base,
    saved: replayed.saved,
    peakForward: replayed.forward.bytes,
    peakBackward: replayed.backward.bytes,
    peakStep,
    workspace: Math.max(0, withKernels - pure),
    allocatedPeak,
    reserved,
    device: deviceBytes(reserved, w),
    validationPeak: validationPeak(w),
  };
}

/** Absolute peak of a no-gradient pass: logits resized to the image, softmax, argmax. */
export function validationPeak(w: Workload): number {
  const network = findNetwork(w.model);
  if (network === undefined) throw unsupported(w);
  const t = new Tape(tapeOptions(w, false));
  const slide = w.validationMode === 'slide';
  const image = imageInput(t, {
    batch: w.validationBatch,
    channels: w.inputChannels,
    height: slide ? w.imageHeight : w.validationHeight,
    width: slide ? w.imageWidth : w.validationWidth,
  });
  validationOutput(t, network.infer({ t, spec: w.model, w }, image), w);
  return t.parameterBytes + t.bufferBytes + t.inputBytes + replayWithoutGradient(t).bytes;
}

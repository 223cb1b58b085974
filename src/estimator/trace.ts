import { AppError } from '../errors.ts';
import { findNetwork } from './networks/index.ts';
import { imageInput, type Network, type Run } from './networks/network.ts';
import type { Tensor } from './tape/storage.ts';
import { Tape } from './tape/tape.ts';
import type { TapeOptions } from './tape/tape-types.ts';
import { validationOutput } from './validation.ts';
import type { Workload } from './workload.ts';

/** The finished forward tape of one training iteration. */
export interface Traced {
  readonly t: Tape;
  readonly loss: Tensor;
}

function tapeOptions(w: Workload, training: boolean): TapeOptions {
  return {
    autocast: w.precision === 'fp32' ? null : w.precision,
    training,
    rules: { softmaxKeepsInput: w.torch < 1.11, relu6KeepsResult: w.torch < 2, composedHardswish: w.torch < 1.07 },
    kernelTemporaries: w.kernelTemporaries,
    fanInCopies: w.fanInCopies,
  };
}

function networkOf(w: Workload): Network {
  const network = findNetwork(w.model);
  if (network !== undefined) return network;
  const { implementation, architecture, backbone } = w.model;
  throw new AppError(
    'unsupported-combination',
    `no network for ${implementation} ${architecture} ${backbone ?? ''}`.trim(),
    {
      details: { implementation, architecture, backbone: backbone ?? '' },
    },
  );
}

/** @throws AppError `unsupported-combination` when no family builds the model, or the family refuses the shape. */
export function trace(w: Workload): Traced {
  const t = new Tape(tapeOptions(w, true));
  const run: Run = { t, spec: w.model, w };
  return { t, loss: networkOf(w).train(run) };
}

/** Tape of a validation pass on whole images, or on windows of the training size. */
export function traceValidation(w: Workload): Tape {
  const t = new Tape(tapeOptions(w, false));
  const slide = w.validationMode === 'slide';
  const image = imageInput(t, {
    batch: w.validationBatch,
    channels: w.inputChannels,
    height: slide ? w.imageHeight : w.validationHeight,
    width: slide ? w.imageWidth : w.validationWidth,
  });
  validationOutput(t, networkOf(w).infer({ t, spec: w.model, w }, image), w);
  return t;
}

/** The workload at one factor of its varying input size, on the grid that training code rounds to. */
export function atScale(w: Workload, factor: number): Workload {
  const snap = (side: number): number => Math.max(32, Math.round((side * factor) / 32) * 32);
  return { ...w, imageHeight: snap(w.imageHeight), imageWidth: snap(w.imageWidth), multiScale: null };
}

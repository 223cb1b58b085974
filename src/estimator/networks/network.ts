import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { ModelSpec, OptionValue, Workload } from '../workload.ts';

/** One run of a network on a tape. */
export interface Run {
  readonly t: Tape;
  readonly spec: ModelSpec;
  readonly w: Workload;
}

/** How one family trains and validates; written as modules in the order of the original code. */
export interface Network {
  /** Input, target, forward pass and loss of one training iteration; returns the loss. */
  train(run: Run): Tensor;
  /** Logits of a validation pass, before they are resized to the image; null where the result is not a map of classes. */
  infer(run: Run, image: Tensor): Tensor | null;
}

export function optionNumber(spec: ModelSpec, name: string, fallback: number): number {
  const value = spec.options[name];
  return typeof value === 'number' ? value : fallback;
}

export function optionBoolean(spec: ModelSpec, name: string, fallback: boolean): boolean {
  const value = spec.options[name];
  return typeof value === 'boolean' ? value : fallback;
}

export function optionText(spec: ModelSpec, name: string, fallback: string): string {
  const value = spec.options[name];
  return typeof value === 'string' ? value : fallback;
}

export function optionNumbers(spec: ModelSpec, name: string, fallback: readonly number[]): readonly number[] {
  const value: OptionValue | undefined = spec.options[name];
  return Array.isArray(value) ? value : fallback;
}

/** Float image of B×C×H×W. */
export function imageInput(t: Tape, shape: { batch: number; channels: number; height: number; width: number }): Tensor {
  return t.input([shape.batch, shape.channels, shape.height, shape.width]);
}

export function trainingImage({ t, w }: Run): Tensor {
  return imageInput(t, { batch: w.batchSize, channels: w.inputChannels, height: w.imageHeight, width: w.imageWidth });
}

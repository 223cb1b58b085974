import { pair } from './ops-conv.ts';
import { byteSize } from './ops-core.ts';
import { mean } from './ops-resize.ts';
import { freshRule } from './rules.ts';
import type { Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

/** Dropout on CUDA keeps a mask of one byte per element; nothing at p = 0 or in evaluation. */
export function dropout(t: Tape, x: Tensor, probability: number): Tensor {
  if (probability === 0 || !t.training) return x;
  t.begin('dropout', [x]);
  const storage = t.allocate(x.shape, x.dtype);
  const mask = t.allocate(x.shape, 'byte');
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) + mask.bytes });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype, strides: x.strides },
    { name: 'dropout', inputs: [x], saved: [mask], rule: freshRule },
  );
}

/** Dropout of whole channels: multiplies with a B×C mask that is kept. */
export function dropout2d(t: Tape, x: Tensor, probability: number, inPlace = false): Tensor {
  if (probability === 0 || !t.training) return x;
  const [batch = 1, channels = 1] = x.shape;
  const mask = maskOf(t, [batch, channels, 1, 1], x);
  t.begin('mul', [x, mask]);
  const storage = inPlace ? x.storage : t.allocate(x.shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype },
    { name: 'mul', inputs: [x], saved: [mask.storage], rule: freshRule },
  );
}

function maskOf(t: Tape, shape: readonly number[], x: Tensor): Tensor {
  t.begin('bernoulli', []);
  const storage = t.allocate(shape, x.dtype);
  return t.result({ storage, shape, dtype: x.dtype }, { name: 'bernoulli', inputs: [], saved: [], rule: freshRule });
}

/** Stochastic depth per sample. `divides`: the original divides the input first (mmcv, torch-style), else scales the mask (timm). */
export function dropPath(t: Tape, x: Tensor, probability: number, divides: boolean): Tensor {
  if (probability === 0 || !t.training) return x;
  const shape = [x.shape[0] ?? 1, ...new Array<number>(x.shape.length - 1).fill(1)];
  const mask = maskOf(t, shape, x);
  const input = divides ? divided(t, x) : x;
  t.begin('mul', [input, mask]);
  const storage = t.allocate(x.shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype, strides: input.strides },
    { name: 'mul', inputs: [input], saved: [mask.storage], rule: freshRule },
  );
}

function divided(t: Tape, x: Tensor): Tensor {
  t.begin('div', [x]);
  const storage = t.allocate(x.shape, x.dtype);
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype, strides: x.strides },
    { name: 'div', inputs: [x], saved: [], rule: freshRule },
  );
}

export interface PoolOptions {
  /** One for both axes, or [vertical, horizontal]. */
  readonly kernel: number | readonly [number, number];
  /** One for both axes, or [vertical, horizontal]. */
  readonly stride: number | readonly [number, number];
  readonly padding?: number;
  readonly ceil?: boolean;
}

function poolSide(side: number, options: PoolOptions, axis: 0 | 1): number {
  const { padding = 0, ceil = false } = options;
  const kernel = pair(options.kernel)[axis];
  const stride = pair(options.stride)[axis];
  const span = (side + 2 * padding - kernel) / stride;
  if (!ceil) return Math.floor(span) + 1;
  const out = Math.ceil(span) + 1;
  return (out - 1) * stride >= side + padding ? out - 1 : out;
}

/** `nn.MaxPool2d`: keeps input and int64 indices. */
export function maxPool(t: Tape, x: Tensor, options: PoolOptions): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  const shape = [batch, channels, poolSide(height, options, 0), poolSide(width, options, 1)];
  t.begin('max_pool2d', [x]);
  const storage = t.allocate(shape, x.dtype);
  const indices = t.allocate(shape, 'long');
  t.work('reduction', x.dtype === 'half', { macs: 0, bytes: byteSize(x) + storage.bytes + indices.bytes });
  return t.result(
    { storage, shape, dtype: x.dtype },
    { name: 'max_pool2d', inputs: [x], saved: [x.storage, indices], rule: freshRule },
  );
}

/** `nn.AvgPool2d`: keeps its input. */
export function averagePool(t: Tape, x: Tensor, options: PoolOptions): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  return pooled(t, x, [batch, channels, poolSide(height, options, 0), poolSide(width, options, 1)]);
}

function pooled(t: Tape, x: Tensor, shape: readonly number[]): Tensor {
  t.begin('avg_pool2d', [x]);
  const storage = t.allocate(shape, x.dtype);
  t.work('reduction', x.dtype === 'half', { macs: 0, bytes: byteSize(x) + storage.bytes });
  return t.result(
    { storage, shape, dtype: x.dtype },
    { name: 'avg_pool2d', inputs: [x], saved: [x.storage], rule: freshRule },
  );
}

/** `nn.AdaptiveAvgPool2d`: keeps its input, except that 1×1 is a mean and keeps nothing. */
export function adaptiveAveragePool(t: Tape, x: Tensor, side: number | readonly [number, number]): Tensor {
  const [height, width] = pair(side);
  const [batch = 1, channels = 1] = x.shape;
  if (height === 1 && width === 1) return mean(t, x, [2, 3], true);
  return pooled(t, x, [batch, channels, height, width]);
}

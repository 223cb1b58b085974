import { constant } from '../tape/ops-core.ts';
import { linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat, pad, slice } from '../tape/ops-parts.ts';
import { contiguous, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

export type Size = readonly [number, number];

/** B×H×W×C → windows as a copy. */
export function partition(t: Tape, x: Tensor, window: number): Tensor {
  const [batch = 1, height = 1, width = 1, channels = 1] = x.shape;
  const split = reshape(t, x, [batch, height / window, window, width / window, window, channels]);
  return contiguous(t, transpose(t, split, 2, 3));
}

export function merge(
  t: Tape,
  x: Tensor,
  { batch, padded, window }: { batch: number; padded: Size; window: number },
): Tensor {
  const channels = x.shape[2] ?? 1;
  const grid = reshape(t, x, [batch, padded[0] / window, padded[1] / window, window, window, channels]);
  return reshape(t, contiguous(t, transpose(t, grid, 2, 3)), [batch, padded[0], padded[1], channels]);
}

/** nW×N×N in fp32, computed anew in every shifted layer. */
export function shiftMask(t: Tape, [height, width]: Size, window: number): Tensor {
  const count = (height / window) * (width / window);
  const shape = [count, window * window, window * window];
  const regions = constant(t, 'add', [1, height, width, 1], 'long');
  const image = constant(t, 'to', [1, height, width, 1], 'float');
  t.keep(regions);
  const windows = constant(t, 'clone', [count, window * window], 'float');
  const difference = constant(t, 'sub', shape, 'float');
  const unequal = constant(t, 'ne', shape, 'byte');
  const filled = constant(t, 'masked_fill', shape, 'float');
  t.keep(unequal);
  const equal = constant(t, 'eq', shape, 'byte');
  const mask = constant(t, 'masked_fill', shape, 'float');
  t.keep(image, windows, difference, filled, equal);
  return mask;
}

/** Rows and columns interleaved by four strided slices that are joined. */
export function patchMerging(t: Tape, x: Tensor, size: Size): Tensor {
  const [batch = 1, , channels = 1] = x.shape;
  const even: Size = [2 * Math.ceil(size[0] / 2), 2 * Math.ceil(size[1] / 2)];
  const view = reshape(t, x, [batch, size[0], size[1], channels]);
  const map = even[0] === size[0] && even[1] === size[1] ? view : pad(t, view, [batch, even[0], even[1], channels]);
  const parts = Array.from({ length: 4 }, () => slice(t, slice(t, map, 1, even[0] / 2), 2, even[1] / 2));
  const joined = reshape(t, concat(t, parts, -1), [batch, -1, 4 * channels]);
  return linear(t, layerNorm(t, joined), 2 * channels, { bias: false });
}

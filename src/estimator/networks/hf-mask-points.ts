import { byteSize } from '../tape/ops-core.ts';
import { derived } from '../tape/ops-masks.ts';
import type { DType, Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/** Matrix product without a gradient: 16 bit under autocast. */
export function costProduct(t: Tape, a: Tensor, b: Tensor, shape: readonly [number, number]): Tensor {
  const dtype: DType = t.autocast ? 'half' : 'float';
  const narrow = (x: Tensor): Tensor => (x.dtype === dtype ? x : derived(t, 'to', [x], { shape: x.shape, dtype }));
  const left = narrow(a);
  const right = narrow(b);
  const product = derived(t, 'mm', [a, b, left, right], { shape, dtype });
  const inner = a.shape[a.shape.length - 1] ?? 1;
  const bytes = byteSize(left) + byteSize(right);
  t.work('matmul', dtype === 'half', { macs: shape[0] * shape[1] * inner, bytes, products: 0 });
  return product;
}

/** Masks read at points without a gradient: both in fp32. `map` is R×…×h×w, points R×P×2; gives R×P. */
export function readAt(t: Tape, map: Tensor, points: Tensor): Tensor {
  const [rows = 1, count = 1] = points.shape;
  const grid = centred(t, points);
  const wide = map.dtype === 'float' ? map : derived(t, 'to', [map], { shape: map.shape, dtype: 'float' });
  return derived(t, 'grid_sampler_2d', [map, wide, grid, points], { shape: [rows, count], dtype: 'float' });
}

/** Coordinates brought from 0…1 to −1…1. */
export function centred(t: Tape, points: Tensor): Tensor {
  const [rows = 1, count = 1] = points.shape;
  const shape = { shape: [rows, count, 1, 2], dtype: 'float' } as const;
  return derived(t, 'sub', [derived(t, 'mul', [points], shape)], shape);
}

import { contiguousStrides } from './layout.ts';
import type { Grad, Param, Region, Storage } from './storage.ts';

/** Memory from outside that nobody kept is gone: a replay cannot bring it back. */
export function hold(storage: Storage, region: Region): void {
  if (storage.birth < region.firstOperation && storage.holders === 0) return;
  storage.holders += 1;
}

/** A part of other memory that is laid out like the weight (sides of 1 do not matter). */
export function isDenseSlice(param: Param, grad: Grad): boolean {
  const { strides } = grad;
  if (grad.whole || strides === null) return false;
  const wanted = contiguousStrides(param.shape);
  return param.shape.every((side, axis) => side === 1 || strides[axis] === wanted[axis]);
}

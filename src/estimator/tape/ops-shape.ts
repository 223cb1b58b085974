import { sameShape, viewStrides } from './layout.ts';
import { byteSize, unaryPass } from './ops-core.ts';
import { emitReduced, passRule, permuteRule, permuteStrides, viewRule } from './rules.ts';
import { type BackwardRule, elements, type Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

/** View with another shape: no storage, unless the layout forces a copy. One side may be −1. */
export function reshape(t: Tape, x: Tensor, target: readonly number[]): Tensor {
  const shape = inferShape(x.shape, target);
  if (sameShape(shape, x.shape)) return x;
  const strides = viewStrides(x.shape, x.strides, shape);
  if (strides === undefined) return reshape(t, contiguous(t, x), shape);
  return t.result(
    { storage: x.storage, shape, dtype: x.dtype, strides },
    { name: 'view', inputs: [x], saved: [], rule: viewRule },
  );
}

function inferShape(shape: readonly number[], target: readonly number[]): readonly number[] {
  if (!target.includes(-1)) return target;
  const known = target.reduce((product, side) => (side === -1 ? product : product * side), 1);
  return target.map((side) => (side === -1 ? elements(shape) / known : side));
}

/** Merges the axes from `start` to `end`. */
export function flatten(t: Tape, x: Tensor, start: number, end = x.shape.length - 1): Tensor {
  const merged = elements(x.shape.slice(start, end + 1));
  return reshape(t, x, [...x.shape.slice(0, start), merged, ...x.shape.slice(end + 1)]);
}

export function permute(t: Tape, x: Tensor, order: readonly number[]): Tensor {
  const shape = permuted(x.shape, order);
  const strides = permuteStrides(x.shape, x.strides, order);
  return t.result(
    { storage: x.storage, shape, dtype: x.dtype, strides },
    { name: 'permute', inputs: [x], saved: [], rule: permuteRule(inverseOf(order)) },
  );
}

function permuted(shape: readonly number[], order: readonly number[]): readonly number[] {
  const result = new Array<number>(order.length);
  for (let axis = 0; axis < order.length; axis += 1) result[axis] = shape[order[axis] ?? 0] ?? 1;
  return result;
}

function inverseOf(order: readonly number[]): readonly number[] {
  const inverse = new Array<number>(order.length);
  for (let index = 0; index < order.length; index += 1) inverse[order[index] ?? 0] = index;
  return inverse;
}

/** Swaps two axes; negative ones count from the end. */
export function transpose(t: Tape, x: Tensor, first: number, second: number): Tensor {
  const rank = x.shape.length;
  const a = (first + rank) % rank;
  const b = (second + rank) % rank;
  const { order, rule } = swapOf(rank, a, b);
  return t.result(
    {
      storage: x.storage,
      shape: permuted(x.shape, order),
      dtype: x.dtype,
      strides: permuteStrides(x.shape, x.strides, order),
    },
    { name: 'permute', inputs: [x], saved: [], rule },
  );
}

interface Swap {
  readonly order: readonly number[];
  readonly rule: BackwardRule;
}

/** Networks swap the same few axes thousands of times: each pair is worked out once. */
const swaps: Swap[] = [];

function swapOf(rank: number, first: number, second: number): Swap {
  const at = (rank * 16 + first) * 16 + second;
  const known = swaps[at];
  if (known !== undefined) return known;
  const order = Array.from({ length: rank }, (_, axis) => (axis === first ? second : axis === second ? first : axis));
  const made = { order, rule: permuteRule(order) };
  swaps[at] = made;
  return made;
}

/** A row-major copy; the tensor itself when it is row-major already. */
export function contiguous(t: Tape, x: Tensor): Tensor {
  return x.strides === null ? x : clone(t, x);
}

/** A row-major copy in any case. */
export function clone(t: Tape, x: Tensor): Tensor {
  t.begin('clone', [x]);
  const storage = t.allocate(x.shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype },
    { name: 'clone', inputs: [x], saved: [], rule: passRule },
  );
}

/** `x.clone()`: a copy that keeps the order of axes. */
export function copy(t: Tape, x: Tensor): Tensor {
  return unaryPass(t, x, 'clone');
}

/** Broadcast view without memory; backward sums. */
export function expand(t: Tape, x: Tensor, shape: readonly number[]): Tensor {
  if (sameShape(shape, x.shape)) return x;
  const offset = shape.length - x.shape.length;
  const old =
    x.strides ??
    permuteStrides(
      x.shape,
      null,
      x.shape.map((_, axis) => axis),
    ) ??
    fullStrides(x.shape);
  const strides = shape.map((side, axis) => {
    const source = x.shape[axis - offset] ?? 1;
    return axis < offset || (source === 1 && side !== 1) ? 0 : (old[axis - offset] ?? 0);
  });
  const rule: BackwardRule = (walk, node) => emitReduced(walk, node, 0);
  return t.result(
    { storage: x.storage, shape, dtype: x.dtype, strides },
    { name: 'expand', inputs: [x], saved: [], rule },
  );
}

export function fullStrides(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    strides[axis] = step;
    step *= shape[axis] ?? 1;
  }
  return strides;
}

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  broadcastShape,
  contiguousStrides,
  isContiguous,
  isDense,
  preservedStrides,
  viewStrides,
} from '../../../src/estimator/tape/layout.ts';
import { clone, contiguous, expand, permute, reshape, transpose } from '../../../src/estimator/tape/ops-shape.ts';
import type { Tensor } from '../../../src/estimator/tape/storage.ts';
import { newTape } from './harness.ts';

/** Memory offsets of all elements, in row-major order of the shape: the meaning of strides, by brute force. */
function offsets(shape: readonly number[], strides: readonly number[] | null): number[] {
  const steps = strides ?? contiguousStrides(shape);
  return shape.reduce<number[]>(
    (all, side, axis) =>
      all.flatMap((offset) => Array.from({ length: side }, (_, index) => offset + index * (steps[axis] ?? 0))),
    [0],
  );
}

const places = (x: Tensor): number[] => offsets(x.shape, x.strides);
const count = (shape: readonly number[]): number => shape.reduce((product, side) => product * side, 1);

const shapes = fc.array(fc.integer({ min: 1, max: 5 }), { minLength: 1, maxLength: 4 });

/** A shape and an order of its axes. */
const permuted = shapes.chain((shape) =>
  fc.tuple(
    fc.constant(shape),
    fc.shuffledSubarray(
      shape.map((_, axis) => axis),
      { minLength: shape.length, maxLength: shape.length },
    ),
  ),
);

/** Splits `total` into factors: some shape with as many elements. */
function factored(total: number, seeds: readonly number[]): number[] {
  const sides: number[] = [];
  let rest = total;
  for (const seed of seeds) {
    const divisors = Array.from({ length: rest }, (_, index) => index + 1).filter((side) => rest % side === 0);
    const side = divisors[seed % divisors.length] ?? 1;
    sides.push(side);
    rest /= side;
  }
  return [...sides, rest];
}

const seeds = fc.array(fc.nat(20), { maxLength: 4 });

describe('strides', () => {
  test('a permuted view reads the same memory, axis by axis', () => {
    fc.assert(
      fc.property(permuted, ([shape, order]) => {
        const t = newTape();
        const x = t.input(shape);
        const y = permute(t, x, order);
        expect(y.shape).toEqual(order.map((axis) => shape[axis]));
        const steps = contiguousStrides(shape);
        expect(places(y)).toEqual(
          offsets(
            y.shape,
            order.map((axis) => steps[axis] ?? 0),
          ),
        );
        expect(y.storage).toBe(x.storage);
      }),
    );
  });

  test('null means row-major, and nothing else does', () => {
    fc.assert(
      fc.property(permuted, ([shape, order]) => {
        const t = newTape();
        const y = permute(t, t.input(shape), order);
        const rowMajor = places(y).every((offset, index) => offset === index);
        expect(y.strides === null).toBe(rowMajor);
        expect(isContiguous(y.shape, y.strides)).toBe(rowMajor);
        expect(isDense(y.shape, y.strides)).toBe(true);
      }),
    );
  });

  test('permuting back gives the tensor back', () => {
    fc.assert(
      fc.property(permuted, ([shape, order]) => {
        const t = newTape();
        const back = permute(
          t,
          permute(t, t.input(shape), order),
          shape.map((_, axis) => order.indexOf(axis)),
        );
        expect(back.shape).toEqual(shape);
        expect(back.strides).toBeNull();
      }),
    );
  });

  test('transpose counts negative axes from the end', () => {
    const t = newTape();
    const x = t.input([2, 3, 4]);
    expect(transpose(t, x, -1, -2).shape).toEqual([2, 4, 3]);
    expect(transpose(t, x, 0, 2).shape).toEqual([4, 3, 2]);
    expect(transpose(t, x, 1, 2).strides).toEqual([12, 1, 4]);
  });
});

describe('reshape', () => {
  test('is a view exactly where one exists, with the elements in order; else a row-major copy', () => {
    fc.assert(
      fc.property(permuted, seeds, ([shape, order], split) => {
        const t = newTape();
        const x = permute(t, t.input(shape), order);
        const target = factored(count(shape), split);
        const y = reshape(t, x, target);
        expect(y.shape).toEqual(target);
        if (y.storage === x.storage) expect(places(y)).toEqual(places(x));
        else expect(places(y)).toEqual(Array.from({ length: count(shape) }, (_, index) => index));
        expect(y.storage === x.storage).toBe(hasView(places(x), target));
      }),
      { numRuns: 500 },
    );
  });

  test('infers one side', () => {
    const t = newTape();
    expect(reshape(t, t.input([2, 3, 4]), [4, -1]).shape).toEqual([4, 6]);
    expect(reshape(t, t.input([2, 3, 4]), [-1]).shape).toEqual([24]);
  });

  test('to the same shape is the tensor itself', () => {
    const t = newTape();
    const x = t.input([2, 3]);
    expect(reshape(t, x, [2, -1])).toBe(x);
  });

  test('sees through a slice only where the axes still touch', () => {
    expect(viewStrides([2, 3, 4], [24, 8, 1], [6, 4])).toEqual([8, 1]);
    expect(viewStrides([2, 3, 4], [24, 8, 1], [2, 12])).toBeUndefined();
    expect(viewStrides([2, 3, 4], [48, 8, 1], [6, 4])).toBeUndefined();
    expect(viewStrides([2, 4], [1, 2], [8])).toBeUndefined();
    expect(viewStrides([2, 4], null, [8])).toBeNull();
  });
});

/** Whether strides of `target` exist that read these offsets: each axis must step evenly. */
function hasView(wanted: readonly number[], target: readonly number[]): boolean {
  const steps = contiguousStrides(target);
  const strides = target.map((side, axis) => (side === 1 ? 0 : (wanted[steps[axis] ?? 0] ?? 0) - (wanted[0] ?? 0)));
  return offsets(target, strides).every((offset, index) => offset === wanted[index]);
}

describe('copies', () => {
  test('contiguous copies what is not row-major, once; clone always', () => {
    fc.assert(
      fc.property(permuted, ([shape, order]) => {
        const t = newTape();
        const x = permute(t, t.input(shape), order);
        const y = contiguous(t, x);
        expect(y === x).toBe(x.strides === null);
        expect(contiguous(t, y)).toBe(y);
        expect(clone(t, x).strides).toBeNull();
        expect(clone(t, x).storage).not.toBe(x.storage);
      }),
    );
  });

  test('a result in preserved format orders its axes like its input, without gaps', () => {
    fc.assert(
      fc.property(permuted, fc.integer({ min: 1, max: 3 }), ([shape, order], gap) => {
        const t = newTape();
        const x = permute(t, t.input(shape), order);
        const spread = (x.strides ?? contiguousStrides(x.shape)).map((stride) => stride * gap);
        const kept = preservedStrides(x.shape, spread);
        expect(isDense(x.shape, kept)).toBe(true);
        const sorted = (places: readonly number[]): number[] =>
          places.map((_, index) => index).sort((a, b) => (places[a] ?? 0) - (places[b] ?? 0));
        expect(sorted(offsets(x.shape, kept))).toEqual(sorted(places(x)));
      }),
    );
  });

  test('gaps and overlaps are not dense', () => {
    expect(isDense([2, 3], [4, 1])).toBe(false);
    expect(isDense([2, 3], [0, 1])).toBe(false);
    expect(isDense([2, 3], [1, 2])).toBe(true);
    expect(isDense([1, 3], [99, 1])).toBe(true);
  });
});

describe('broadcasting', () => {
  test('is symmetric, absorbs sides of one, and pads on the left', () => {
    fc.assert(
      fc.property(shapes, fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }), fc.nat(3), (shape, ones, drop) => {
        const other = shape.map((side, axis) => (ones[axis] === true ? 1 : side)).slice(Math.min(drop, shape.length));
        expect(broadcastShape(shape, other)).toEqual(shape);
        expect(broadcastShape(other, shape)).toEqual(shape);
      }),
    );
  });

  test('widens both sides', () => {
    expect(broadcastShape([4, 1, 3], [2, 1])).toEqual([4, 2, 3]);
  });

  test('an expanded view repeats memory with a step of zero', () => {
    fc.assert(
      fc.property(shapes, fc.integer({ min: 2, max: 4 }), (shape, times) => {
        const t = newTape();
        const x = t.input([1, ...shape]);
        const y = expand(t, x, [times, ...shape]);
        const once = places(x);
        expect(places(y)).toEqual(Array.from({ length: times }, () => once).flat());
        expect(y.storage).toBe(x.storage);
        expect(expand(t, t.input(shape), [times, ...shape]).strides?.[0]).toBe(0);
      }),
    );
  });

  test('expanding to the same shape is the tensor itself', () => {
    const t = newTape();
    const x = t.input([2, 3]);
    expect(expand(t, x, [2, 3])).toBe(x);
  });
});

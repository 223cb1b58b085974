import { describe, expect, test } from 'vitest';

import { add, cast, scale } from '../../../src/estimator/tape/ops-core.ts';
import { bmm, linear, matmul } from '../../../src/estimator/tape/ops-linear.ts';
import { concat } from '../../../src/estimator/tape/ops-parts.ts';
import { expand, reshape, transpose } from '../../../src/estimator/tape/ops-shape.ts';
import type { DType, Tensor } from '../../../src/estimator/tape/storage.ts';
import type { Tape } from '../../../src/estimator/tape/tape.ts';
import { activation, KIB, measure, newTape } from './harness.ts';

/** 16,384 elements: 64 KiB in fp32. */
const MAP = [2, 32, 16, 16];
const X = 64 * KIB;

function backward(build: (t: Tape, x: Tensor) => Tensor, dtype: DType = 'float', shape: readonly number[] = MAP) {
  const t = newTape();
  const x = activation(t, shape, dtype);
  return measure(t, x, () => build(t, x)).backward;
}

describe('the gradient of a sum', () => {
  test('is narrowed for the narrower operand only', () => {
    expect(backward((t, x) => add(t, x, t.input(MAP)), 'half')).toBe(X / 2);
    expect(backward((t, x) => add(t, x, activation(t, MAP)), 'half')).toBe(X / 2);
    expect(backward((t, x) => add(t, x, activation(t, MAP)))).toBe(0);
  });

  test('is nobody’s where an operand is data, whatever its type and shape', () => {
    expect(backward((t, x) => add(t, x, t.input(MAP, 'half')))).toBe(0);
    expect(backward((t, x) => add(t, x, t.input([32, 1, 1])))).toBe(0);
    expect(backward((t, x) => add(t, x, t.input([32, 1, 1], 'half')))).toBe(0);
  });

  test('is summed over broadcast axes in the wide type, then narrowed', () => {
    const row = [32, 16, 16];
    expect(backward((t, x) => add(t, x, activation(t, row)))).toBe(X / 2);
    expect(backward((t, x) => add(t, x, activation(t, row, 'half')))).toBe(X / 2 + X / 4);
  });

  test('of an expanded tensor needs a gradient to be made', () => {
    expect(backward((t, x) => expand(t, x, [3, ...MAP]))).toBe(X);
    const t = newTape();
    const data = t.input([1, 8]);
    expect(expand(t, data, [4, 8]).node).toBeNull();
  });
});

/** Narrow in, wide out: 128 KiB of tokens from 4, so that a copy of the gradient is the peak. */
const NARROW = [2, 64, 8];
const WIDE = 128 * KIB;
const SMALL = 4 * KIB + 8 * KIB;
const wide = (t: Tape, x: Tensor): Tensor => linear(t, x, 256, { bias: false });

describe('layouts of gradients', () => {
  test('a pointwise gradient is laid out like the one that comes in, so linear has to copy it, and drops it then', () => {
    expect(backward((t, x) => transpose(t, scale(t, wide(t, x)), 1, 2), 'float', NARROW)).toBe(2 * WIDE);
  });

  test('a row-major one is used as it is', () => {
    expect(backward((t, x) => scale(t, wide(t, x)), 'float', NARROW)).toBe(WIDE + SMALL);
  });

  test('a slice of a concatenation has rows that can be merged', () => {
    // The gradient that comes in is the whole; each half makes input and weight gradients and waits for their sum.
    const joined = backward((t, x) => concat(t, [wide(t, x), wide(t, x)], 2), 'float', NARROW);
    expect(joined).toBeLessThan(WIDE);
  });

  test('a slice that is narrower than its map is made dense by the next pointwise operation', () => {
    const sliced = (t: Tape, x: Tensor): Tensor => concat(t, [scale(t, wide(t, x)), activation(t, [2, 64, 8])], 2);
    expect(backward(sliced, 'float', NARROW)).toBe(WIDE + SMALL);
  });

  test('a view of a strided gradient is copied where it has no strides', () => {
    const viewed = (t: Tape, x: Tensor): Tensor => transpose(t, reshape(t, x, [2, 32, 256]), 1, 2);
    expect(backward(viewed)).toBe(0);
    const moved = (t: Tape, x: Tensor): Tensor => transpose(t, reshape(t, x, [64, 256]), 0, 1);
    expect(backward((t, x) => moved(t, scale(t, x)))).toBe(X);
    const merged = (t: Tape, x: Tensor): Tensor => transpose(t, reshape(t, x, [32, 32, 16]), 0, 1);
    // 2 and 32 were merged and split elsewhere: no view leads back.
    expect(backward((t, x) => merged(t, scale(t, x)))).toBe(2 * X);
  });
});

describe('work and lifetimes of products', () => {
  const last = <T>(list: readonly T[]): T | undefined => list[list.length - 1];

  test('bytes are both operands and the result, in their types', () => {
    for (const [autocast, size] of [
      [null, 4],
      ['fp16', 2],
    ] as const) {
      const t = newTape({ autocast });
      linear(t, activation(t, [2, 64, 128]), 256);
      expect([last(t.works.kinds), last(t.works.half)]).toEqual(['matmul', size === 2]);
      expect(last(t.works.bytes)).toBe(size * (2 * 64 * 128 + 256 * 128 + 2 * 64 * 256));
      expect(last(t.works.products)).toBe(2);
      bmm(t, activation(t, [2, 64, 128]), activation(t, [2, 128, 32]));
      expect([last(t.works.kinds), last(t.works.half)]).toEqual(['matmul', size === 2]);
      expect(last(t.works.bytes)).toBe(size * (2 * 64 * 128 + 2 * 128 * 32 + 2 * 64 * 32));
    }
  });

  test('under autocast original and cast live until the product returns', () => {
    const t = newTape({ autocast: 'fp16' });
    const x = activation(t, [2, 64, 128]);
    const y = activation(t, [2, 128, 64]);
    // y, both casts and the result, beside x.
    expect(measure(t, x, () => matmul(t, x, y)).forward).toBe(X + X / 2 + X / 2 + 16 * KIB);
    const other = newTape({ autocast: 'fp16' });
    const z = activation(other, [2, 64, 128]);
    // The casts of weight and tokens, and the result.
    expect(measure(other, z, () => linear(other, z, 64, { bias: false })).forward).toBe(16 * KIB + X / 2 + 16 * KIB);
  });

  test('leading axes of any number are one batch', () => {
    const t = newTape();
    const out = matmul(t, activation(t, [2, 3, 4, 5, 6]), activation(t, [2, 3, 4, 6, 7]));
    expect(out.shape).toEqual([2, 3, 4, 5, 7]);
    expect(t.works.totalMacs).toBe(24 * 5 * 6 * 7);
    expect(t.operationNames).toContain('bmm');
  });

  test('a cast has a gradient of its own', () => {
    expect(backward((t, x) => cast(t, x, 'half'))).toBe(X);
  });
});

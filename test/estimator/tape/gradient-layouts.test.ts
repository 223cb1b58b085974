import { describe, expect, test } from 'vitest';

import { replay } from '../../../src/estimator/replay.ts';
import { add, scale, shift } from '../../../src/estimator/tape/ops-core.ts';
import { averagePool } from '../../../src/estimator/tape/ops-layers.ts';
import { subtract } from '../../../src/estimator/tape/ops-reduce.ts';
import { expand, permute, reshape } from '../../../src/estimator/tape/ops-shape.ts';
import { permuteStrides } from '../../../src/estimator/tape/rules.ts';
import type { DType, Grad, GradBuffer, Tensor } from '../../../src/estimator/tape/storage.ts';
import type { Tape } from '../../../src/estimator/tape/tape.ts';
import { activation, bytesOf, KIB, newTape } from './harness.ts';

interface Arrival {
  /** The memory that came in goes on, instead of new memory. */
  readonly shared: boolean;
  readonly strides: readonly number[] | null;
  readonly whole: boolean;
  readonly bytes: number;
  /** Highest bytes beside the gradient that came in. */
  readonly extra: number;
}

interface Incoming {
  readonly strides?: readonly number[];
  readonly whole?: boolean;
  readonly shape?: readonly number[];
  readonly dtype?: DType;
}

/** 2 × 8 × 16 in fp32: one KiB. */
const SHAPE = [2, 8, 16];
const X = KIB;
/** The map with its last two axes swapped in memory. */
const SWAPPED = [128, 1, 8];

/** The gradient of `x` when one laid out as told comes in for what `build` makes of it. */
function arrival(build: (t: Tape, x: Tensor) => Tensor, incoming: Incoming = {}): Arrival {
  const { strides = null, whole = true, shape = SHAPE, dtype = 'float' } = incoming;
  const t = newTape();
  let arrived: Grad | undefined;
  let sent: GradBuffer | undefined;
  const weight = t.param(1);
  t.begin('source', [weight]);
  const x = t.result(
    { storage: t.allocate(shape, dtype), shape, dtype },
    {
      name: 'source',
      inputs: [weight],
      saved: [],
      rule: (_walk, _node, [grad]) => {
        arrived = grad;
      },
    },
  );
  const made = build(t, x);
  const out = t.result(
    { storage: made.storage, shape: made.shape, dtype: made.dtype, strides: made.strides },
    {
      name: 'lay out',
      inputs: [made],
      saved: [],
      rule: (walk, _node, [grad]) => {
        if (grad === undefined) return;
        sent = grad.buffer;
        walk.emit(0, walk.share(grad, { strides, whole }));
      },
    },
  );
  const run = replay(t, out, { fanInCopies: true, residentGradients: false });
  if (arrived === undefined) throw new Error('no gradient arrived');
  return {
    shared: arrived.buffer === sent,
    strides: arrived.strides,
    whole: arrived.whole,
    bytes: arrived.buffer.bytes,
    extra: run.backward.withKernels - run.saved - bytesOf(made),
  };
}

const FRESH = { shared: false, strides: null, whole: true, bytes: X, extra: X };

describe('a pointwise operation', () => {
  test('makes one gradient, laid out like the one that comes in', () => {
    expect(arrival(scale)).toEqual(FRESH);
    expect(arrival(scale, { strides: SWAPPED })).toEqual({ ...FRESH, strides: SWAPPED });
  });

  test('makes it row-major when only a part of other memory comes in', () => {
    expect(arrival(scale, { strides: SWAPPED, whole: false })).toEqual(FRESH);
    expect(arrival(scale, { strides: [512, 32, 1], whole: false })).toEqual(FRESH);
  });

  test('closes the gaps of a layout that has some', () => {
    expect(arrival(scale, { strides: [512, 32, 1] })).toEqual(FRESH);
    expect(arrival(scale, { strides: [512, 1, 32] })).toEqual({ ...FRESH, strides: SWAPPED });
  });
});

describe('a sum hands the gradient itself on', () => {
  test('in its layout, whole or part', () => {
    expect(arrival(shift)).toEqual({ shared: true, strides: null, whole: true, bytes: X, extra: 0 });
    expect(arrival(shift, { strides: SWAPPED })).toMatchObject({
      shared: true,
      strides: SWAPPED,
      whole: true,
      extra: 0,
    });
    expect(arrival(shift, { whole: false })).toMatchObject({ shared: true, whole: false, extra: 0 });
  });

  test('and narrows it in its layout for a narrower operand', () => {
    const widened = (t: Tape, x: Tensor): Tensor => add(t, x, t.input(SHAPE));
    expect(arrival(widened, { dtype: 'half', strides: SWAPPED })).toEqual({
      shared: false,
      strides: SWAPPED,
      whole: true,
      bytes: X / 2,
      extra: X / 2,
    });
  });

  test('and sums it, row-major, for an operand that was broadcast', () => {
    const shape = [8, 16];
    const broadcast = (t: Tape, x: Tensor): Tensor => add(t, activation(t, SHAPE), x);
    expect(arrival(broadcast, { shape, strides: SWAPPED })).toEqual({ ...FRESH, bytes: X / 2, extra: X / 2 });
    // Summed in fp32 first; the cast is made beside the sum.
    const narrow = arrival(broadcast, { shape, dtype: 'half' });
    expect(narrow).toEqual({ ...FRESH, bytes: 512, extra: X / 2 + 512 });
  });
});

describe('a difference', () => {
  const data = (t: Tape, dtype: DType = 'float'): Tensor => t.input(SHAPE, dtype);

  test('hands the gradient on to what is diminished, and makes none for data', () => {
    expect(arrival((t, x) => subtract(t, x, data(t)))).toMatchObject({ shared: true, extra: 0 });
    expect(arrival((t, x) => subtract(t, x, data(t, 'half')))).toMatchObject({ shared: true, extra: 0 });
    expect(arrival((t, x) => subtract(t, x, data(t)), { dtype: 'half' })).toEqual({
      ...FRESH,
      bytes: X / 2,
      extra: X / 2,
    });
  });

  test('negates it for what is taken off', () => {
    expect(arrival((t, x) => subtract(t, data(t), x))).toEqual(FRESH);
    expect(arrival((t, x) => subtract(t, data(t, 'half'), x))).toEqual(FRESH);
    // Negated in fp32, then narrowed.
    const narrowed = arrival((t, x) => subtract(t, data(t), x), { dtype: 'half' });
    expect(narrowed).toEqual({ ...FRESH, bytes: X / 2, extra: X + X / 2 });
  });

  test('negates it before the sum over broadcast axes', () => {
    const row = { shape: [8, 16] };
    expect(arrival((t, x) => subtract(t, data(t), x), row)).toEqual({ ...FRESH, bytes: X / 2, extra: X + X / 2 });
    expect(arrival((t, x) => subtract(t, x, data(t)), row)).toEqual({ ...FRESH, bytes: X / 2, extra: X / 2 });
  });
});

describe('views', () => {
  test('lead back to the same memory', () => {
    const flat = (t: Tape, x: Tensor): Tensor => reshape(t, x, [16, 16]);
    expect(arrival(flat)).toEqual({ shared: true, strides: null, whole: true, bytes: X, extra: 0 });
    expect(arrival(flat, { whole: false })).toMatchObject({ shared: true, whole: false });
  });

  test('keep the strides that a split of axes allows', () => {
    const flat = (t: Tape, x: Tensor): Tensor => reshape(t, x, [16, 16]);
    // Rows twice as far apart as they are long: the 16 rows split into 2 × 8 of them.
    expect(arrival(flat, { strides: [32, 1] })).toMatchObject({ shared: true, strides: [256, 32, 1], extra: 0 });
  });

  test('copy a gradient that cannot be viewed so', () => {
    const merged = (t: Tape, x: Tensor): Tensor => reshape(t, x, [8, 32]);
    expect(arrival(merged, { strides: [1, 8] })).toEqual(FRESH);
  });

  test('a permutation is undone in the strides', () => {
    const turned = (t: Tape, x: Tensor): Tensor => permute(t, x, [2, 0, 1]);
    // 16 × 2 × 8 row-major, read as 2 × 8 × 16.
    expect(arrival(turned)).toEqual({ shared: true, strides: [8, 1, 16], whole: true, bytes: X, extra: 0 });
    expect(arrival(turned, { whole: false })).toMatchObject({ shared: true, strides: [8, 1, 16], whole: false });
    // The memory of the input itself, turned: row-major again.
    expect(arrival(turned, { strides: [1, 128, 16] })).toMatchObject({ shared: true, strides: null });
  });

  test('an expanded tensor gets a sum of its own', () => {
    expect(arrival((t, x) => expand(t, x, [4, ...SHAPE]))).toEqual(FRESH);
  });
});

describe('a kernel that computes its input’s gradient', () => {
  test('writes it row-major, whatever comes in', () => {
    const pooled = (t: Tape, x: Tensor): Tensor => averagePool(t, x, { kernel: 2, stride: 2 });
    const shape = [1, 4, 8, 8];
    expect(arrival(pooled, { shape })).toEqual(FRESH);
    expect(arrival(pooled, { shape, strides: [64, 1, 16, 4] })).toEqual(FRESH);
  });
});

describe('permuteStrides', () => {
  test.each([
    [[2, 3, 4], null, [0, 1, 2], null],
    [[2, 3, 4], null, [1, 0, 2], [4, 12, 1]],
    [[2, 3, 4], null, [0, 2, 1], [12, 1, 4]],
    [[2, 3, 4], [12, 1, 3], [0, 2, 1], null],
    [
      [2, 3, 4],
      [24, 8, 2],
      [0, 1, 2],
      [24, 8, 2],
    ],
    // An axis of one element may stand anywhere.
    [[1, 3, 4], null, [1, 0, 2], null],
    [[1, 3, 4], [7, 4, 1], [0, 1, 2], null],
    [[3, 1, 4], null, [2, 1, 0], [1, 4, 4]],
    [[], null, [], null],
  ] as const)('%j with strides %j in order %j: %j', (shape, strides, order, wanted) => {
    expect(permuteStrides(shape, strides, order)).toEqual(wanted);
  });
});

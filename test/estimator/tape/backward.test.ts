import { describe, expect, test } from 'vitest';

import { type Replay, replay } from '../../../src/estimator/replay.ts';
import { ModuleWeights } from '../../../src/estimator/tape/module-weights.ts';
import { activate } from '../../../src/estimator/tape/ops-activation.ts';
import { conv2d } from '../../../src/estimator/tape/ops-conv.ts';
import { add, multiply, scale, shift } from '../../../src/estimator/tape/ops-core.ts';
import { concat } from '../../../src/estimator/tape/ops-parts.ts';
import { copy, expand, reshape } from '../../../src/estimator/tape/ops-shape.ts';
import type { Tensor } from '../../../src/estimator/tape/storage.ts';
import type { Tape } from '../../../src/estimator/tape/tape.ts';
import { activation, KIB, newTape } from './harness.ts';

/** One unit of memory: 1×16×32×32 in fp32. */
const MAP = [1, 16, 32, 32];
const U = 64 * KIB;

/** Highest bytes in backward in units, without what was saved and the gradient that comes in. */
function units(build: (t: Tape, x: Tensor) => Tensor, fanInCopies = true): number {
  const t = newTape();
  const loss = build(t, activation(t, MAP));
  const { backward, saved } = replay(t, loss, { fanInCopies, residentGradients: false });
  return (backward.bytes - saved - loss.storage.bytes) / U;
}

const silently = (t: Tape, x: Tensor): Tensor => scale(t, x);

describe('gradients that meet', () => {
  /** Two branches of one map, each with a gradient of its own, then their sum. */
  const branches = (t: Tape, x: Tensor): Tensor => add(t, silently(t, x), silently(t, x));

  test('make a third in traces, and are added in place on a GPU', () => {
    expect(units(branches, true)).toBe(3);
    expect(units(branches, false)).toBe(2);
  });

  test('a shared one is never added to in place', () => {
    // x + 2x: the gradient of the sum is still held by the engine when the other part arrives.
    const shared = (t: Tape, x: Tensor): Tensor => add(t, x, silently(t, x));
    expect(units(shared, true)).toBe(units(shared, false));
  });

  test('nor is a slice of a larger one', () => {
    const sliced = (t: Tape, x: Tensor): Tensor => concat(t, [silently(t, x), x], 1);
    expect(units(sliced, true)).toBe(units(sliced, false));
  });

  test('branches made later go first', () => {
    const t = newTape();
    const x = activation(t, MAP);
    const early = activate(t, x, 'gelu');
    const late = activate(t, x, 'gelu');
    const order: string[] = [];
    replay(t, add(t, early, late), {
      fanInCopies: true,
      residentGradients: false,
      log: {
        allocated: () => undefined,
        freed: (key) => {
          if (key === early.storage) order.push('early');
          if (key === late.storage) order.push('late');
        },
      },
    });
    expect(order).toEqual([]);
    expect(early.node?.index).toBeLessThan(late.node?.index ?? 0);
  });
});

describe('gradients on the way', () => {
  test('a chain holds two at a time: the one that comes in and the new one', () => {
    expect(units((t, x) => silently(t, silently(t, silently(t, x))))).toBe(2);
  });

  test('addition, copies and views pass it on without memory', () => {
    expect(units((t, x) => reshape(t, copy(t, shift(t, x)), [16, 1024]))).toBe(0);
  });

  test('all parts of a concatenation are slices of one gradient until the last is done', () => {
    // The whole (2), a new one for each part in turn.
    expect(units((t, x) => scale(t, concat(t, [silently(t, x), silently(t, activation(t, MAP))], 1)))).toBe(3);
  });

  test('a product makes both before either goes on', () => {
    expect(units((t, x) => multiply(t, silently(t, x), silently(t, activation(t, MAP))))).toBe(2);
  });

  test('an expanded tensor gets a sum', () => {
    const t = newTape();
    const x = activation(t, [1, 1, 32, 32]);
    const loss = expand(t, x, [16, 1, 32, 32]);
    const { backward } = replay(t, loss, { fanInCopies: true, residentGradients: false });
    expect(backward.bytes).toBe(16 * 4096 + 4096 + 4096);
  });
});

/** A 1×1 convolution of 16 channels: weight 1 KiB. */
const conv = (t: Tape, x: Tensor): Tensor => conv2d(t, x, { out: 16, kernel: 1 });

describe('gradients of weights', () => {
  const replayed = (t: Tape, loss: Tensor, residentGradients = false): Replay =>
    replay(t, loss, { fanInCopies: true, residentGradients });

  test('stay until the end and are counted once', () => {
    const t = newTape();
    const loss = conv(t, conv(t, t.input(MAP)));
    expect(replayed(t, loss).gradientBytes).toBe(2 * KIB);
    expect(t.params.every((param) => param.receivesGradient)).toBe(true);
  });

  test('resident ones exist beforehand: a new one is added to them and freed', () => {
    const grown = newTape();
    const resident = newTape();
    const deep = (t: Tape): Tensor => Array.from({ length: 8 }).reduce<Tensor>((x) => conv(t, x), t.input(MAP));
    const difference =
      replayed(grown, deep(grown)).backward.bytes - replayed(resident, deep(resident), true).backward.bytes;
    // The peak is the second node walked (two maps and a weight): its own part is there in both.
    expect(difference).toBe(KIB);
  });

  test('a frozen weight gets none', () => {
    const t = newTape();
    const loss = conv(
      t,
      t.freeze(true, () => conv(t, conv(t, t.input(MAP)))),
    );
    expect(replayed(t, loss).gradientBytes).toBe(KIB);
    expect(t.params.map((param) => param.receivesGradient)).toEqual([false, false, true]);
    expect([t.parameterCount, t.trainableCount]).toEqual([768, 256]);
  });

  test('an expanded weight’s sum is its gradient; a shared buffer is copied', () => {
    const t = newTape();
    const token = t.param(1, 1, 256);
    const loss = expand(t, token, [4, 1, 256]);
    expect(replayed(t, loss).gradientBytes).toBe(KIB);
  });

  test('modules that run again use their first weights', () => {
    const t = newTape();
    const weights = new ModuleWeights();
    const x = t.input(MAP);
    const loss = t.again(weights, () => conv(t, x));
    const second = t.again(weights, () => conv(t, loss));
    expect(t.params).toHaveLength(1);
    expect(weights.tensors).toHaveLength(1);
    expect(replayed(t, second).gradientBytes).toBe(KIB);
  });

  test('weights that the loss does not depend on get none', () => {
    const t = newTape();
    const x = t.input(MAP);
    conv(t, x);
    expect(replayed(t, conv(t, x)).gradientBytes).toBe(KIB);
    expect(t.params.map((param) => param.receivesGradient)).toEqual([false, true]);
  });
});

describe('what lives in forward', () => {
  const forward = (build: (t: Tape) => Tensor): Replay => {
    const t = newTape();
    return replay(t, build(t), { fanInCopies: true, residentGradients: false });
  };

  test('a map that nobody keeps dies with its last use', () => {
    const { forward: peak, saved } = forward((t) => scale(t, scale(t, scale(t, activation(t, MAP)))));
    expect(peak.bytes).toBe(2 * U);
    expect(saved).toBe(U);
  });

  test('a module holds its argument until it returns', () => {
    const chain = (t: Tape, x: Tensor): Tensor => scale(t, scale(t, x));
    const build =
      (inModule: boolean) =>
      (t: Tape): Tensor => {
        const x = activation(t, MAP);
        return inModule ? t.call('m', [x], () => chain(t, x)) : chain(t, x);
      };
    expect(forward(build(false)).forward.bytes).toBe(2 * U);
    expect(forward(build(true)).forward.bytes).toBe(3 * U);
  });

  test('a local variable lives to where it is kept', () => {
    const { forward: peak } = forward((t) => {
      const x = activation(t, MAP);
      const out = scale(t, scale(t, x));
      t.keep(x);
      return out;
    });
    expect(peak.bytes).toBe(3 * U);
  });

  test('a graph beside the loss lives as long as the tensor that ends it', () => {
    const { saved, forward: peak } = forward((t) => {
      const x = activation(t, MAP);
      const metric = activate(t, activate(t, x, 'gelu'), 'gelu');
      const out = scale(t, scale(t, scale(t, x)));
      t.keep(metric);
      return out;
    });
    expect(saved).toBe(U);
    // x, both saved inputs and outputs of the metric, and two maps of the chain.
    expect(peak.bytes).toBe(5 * U);
  });

  test('what the training loop holds is saved', () => {
    const { saved } = forward((t) => {
      const x = scale(t, activation(t, MAP));
      t.hold(x);
      return scale(t, x);
    });
    expect(saved).toBe(2 * U);
  });

  test('kernel-internal bytes count apart and add up within an operation', () => {
    const { forward: peak } = forward((t) => {
      const x = scale(t, activation(t, MAP));
      t.kernels.add(t.now, U);
      t.kernels.add(t.now, U);
      return scale(t, x);
    });
    expect(peak).toMatchObject({ bytes: 2 * U, withKernels: 4 * U, operation: 'mul', mark: 1 });
  });
});

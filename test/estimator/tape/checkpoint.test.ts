import { describe, expect, test } from 'vitest';

import { replay } from '../../../src/estimator/replay.ts';
import { activate } from '../../../src/estimator/tape/ops-activation.ts';
import { add, scale } from '../../../src/estimator/tape/ops-core.ts';
import { linear } from '../../../src/estimator/tape/ops-linear.ts';
import { concat, slice } from '../../../src/estimator/tape/ops-parts.ts';
import { reshape, transpose } from '../../../src/estimator/tape/ops-shape.ts';
import type { Tensor } from '../../../src/estimator/tape/storage.ts';
import type { Tape } from '../../../src/estimator/tape/tape.ts';
import { activation, KIB, newTape } from './harness.ts';

/** One unit of memory: 1×16×32×32 in fp32. */
const MAP = [1, 16, 32, 32];
const U = 64 * KIB;

describe('checkpointing', () => {
  const block = (t: Tape, x: Tensor): Tensor => activate(t, activate(t, activate(t, x, 'gelu'), 'gelu'), 'gelu');
  const peaks = (build: (t: Tape, x: Tensor) => Tensor): { saved: number; backward: number } => {
    const t = newTape();
    const { saved, backward } = replay(t, build(t, activation(t, MAP)), {
      fanInCopies: true,
      residentGradients: false,
    });
    return { saved: saved / U, backward: backward.bytes / U };
  };

  test('keeps the input of the region only; backward makes its maps again', () => {
    // Three kept inputs and the loss; the root gradient, the one that comes in and the new one.
    expect(peaks((t, x) => scale(t, block(t, x)))).toEqual({ saved: 4, backward: 7 });
    // Input and loss; the same gradients beside two maps of the replay.
    expect(
      peaks((t, x) =>
        scale(
          t,
          t.checkpoint(true, [x], () => block(t, x)),
        ),
      ),
    ).toEqual({ saved: 2, backward: 7 });
  });

  test('two regions replay one at a time', () => {
    const plain = peaks((t, x) => scale(t, block(t, block(t, x))));
    const twice = peaks((t, x) => {
      const middle = t.checkpoint(true, [x], () => block(t, x));
      return scale(
        t,
        t.checkpoint(true, [middle], () => block(t, middle)),
      );
    });
    expect(plain).toEqual({ saved: 7, backward: 10 });
    expect(twice).toEqual({ saved: 3, backward: 8 });
  });

  test('switched off, or in evaluation, it changes nothing', () => {
    expect(
      peaks((t, x) =>
        scale(
          t,
          t.checkpoint(false, [x], () => block(t, x)),
        ),
      ),
    ).toEqual({ saved: 4, backward: 7 });
    const t = newTape({ training: false });
    t.checkpoint(true, [], () => scale(t, t.input(MAP)));
    t.checkpointReentrant(true, [], () => scale(t, t.input(MAP)));
    expect(t.works.products).toEqual([0, 0]);
  });

  test('the reentrant form runs to the end and holds its result', () => {
    const { saved, backward } = peaks((t, x) =>
      scale(
        t,
        t.checkpointReentrant(true, [x], () => block(t, x)),
      ),
    );
    expect(saved).toBe(2);
    // Root, gradient into the region, its result, two maps, one new gradient, beside the saved input and loss.
    expect(backward).toBe(8);
  });

  test('nested regions keep inner inputs for their parent only', () => {
    const inner = (t: Tape, x: Tensor): Tensor => {
      const middle = t.checkpoint(true, [x], () => block(t, x));
      return t.checkpoint(true, [middle], () => block(t, middle));
    };
    const nested = peaks((t, x) =>
      scale(
        t,
        t.checkpoint(true, [x], () => inner(t, x)),
      ),
    );
    // As two regions one after the other, but the inner input is made by the replay.
    expect(nested).toEqual({ saved: 2, backward: 8 });
  });

  test('a gradient that a matrix product cannot read is copied before the replay', () => {
    const { saved, backward } = peaks((t, map) => {
      const tokens = reshape(t, map, [2, 128, 64]);
      const layer = t.checkpoint(true, [tokens], () => {
        const wide = scale(t, concat(t, new Array<Tensor>(8).fill(tokens), 1));
        const hidden = activate(t, slice(t, wide, 1, 128), 'gelu');
        return add(t, tokens, linear(t, hidden, 64, { bias: false }));
      });
      return scale(t, transpose(t, layer, 1, 2));
    });
    expect(saved).toBe(2);
    // Saved ones, root, gradient into the region (tokens take it too) and its copy, beside two wide maps of the replay.
    expect(backward).toBe(2 + 1 + 1 + 1 + 8 + 8);
  });

  test('its operations are timed once more', () => {
    const t = newTape();
    const x = activation(t, MAP);
    t.checkpoint(true, [x], () => scale(t, x));
    scale(t, x);
    expect(t.works.products).toEqual([2, 1]);
  });
});

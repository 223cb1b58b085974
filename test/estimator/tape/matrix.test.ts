import { describe, expect, test } from 'vitest';

import { scaledDotProduct } from '../../../src/estimator/tape/ops-attention.ts';
import { applyLinear, bmm, linear, matmul } from '../../../src/estimator/tape/ops-linear.ts';
import { split, unbind } from '../../../src/estimator/tape/ops-parts.ts';
import { permute, reshape, transpose } from '../../../src/estimator/tape/ops-shape.ts';
import type { Tensor } from '../../../src/estimator/tape/storage.ts';
import type { Tape } from '../../../src/estimator/tape/tape.ts';
import { activation, KIB, measure, newTape } from './harness.ts';

/** 2×64×128 tokens: 64 KiB in fp32. */
const TOKENS = [2, 64, 128];
const X = 64 * KIB;

/** B×N×C → B×h×N×(C/h), as attention code writes it. */
function splitHeads(t: Tape, x: Tensor, heads: number): Tensor {
  const [batch = 1, tokens = 1, channels = 1] = x.shape;
  return transpose(t, reshape(t, x, [batch, tokens, heads, channels / heads]), 1, 2);
}

const names = (t: Tape): readonly string[] => t.operationNames.filter((name) => name !== 'source');

describe('linear', () => {
  test('on row-major tokens is one fused product; its bias is free to keep', () => {
    const t = newTape();
    const x = activation(t, TOKENS);
    const measured = measure(t, x, () => linear(t, x, 256));
    expect(measured).toMatchObject({ saved: ['input', 'weight'], output: 2 * X, backward: X + 128 * KIB + 1024 });
    expect(names(t)).toEqual(['addmm']);
    expect(t.works.totalMacs).toBe(2 * 64 * 128 * 256);
  });

  test('keeps its weight only for the gradient of the input, and the input only for that of the weight', () => {
    const t = newTape();
    const image = t.input(TOKENS);
    expect(measure(t, image, () => linear(t, image, 8, { bias: false })).saved).toEqual(['input']);
    const x = activation(t, TOKENS);
    const frozen = t.freeze(true, () => measure(t, x, () => linear(t, x, 8, { bias: false })));
    expect(frozen).toMatchObject({ saved: ['weight'], backward: X });
  });

  test('on tokens seen in a map copies them, multiplies, then adds the bias (physics.md §7 F8)', () => {
    const t = newTape();
    const x = transpose(t, activation(t, [2, 128, 64]), 1, 2);
    const measured = measure(t, x, () => linear(t, x, 256));
    expect(names(t)).toEqual(['clone', 'mm', 'add']);
    expect(measured.saved).toEqual([X, 'weight']);
  });

  test('of one image needs no copy', () => {
    const t = newTape();
    const x = transpose(t, activation(t, [1, 128, 64]), 1, 2);
    measure(t, x, () => linear(t, x, 256));
    expect(names(t)).toEqual(['mm', 'add']);
  });

  test('on a GPU the bias is added in place', () => {
    const t = newTape({ fanInCopies: false });
    linear(t, transpose(t, activation(t, [2, 128, 64]), 1, 2), 256);
    expect(names(t)).toEqual(['clone', 'mm', 'add_']);
  });

  test('on rows with strides stays one product', () => {
    const t = newTape();
    linear(t, transpose(t, activation(t, [128, 64]), 0, 1), 256);
    expect(names(t)).toEqual(['addmm']);
  });

  test('a gradient that cannot be seen as rows is copied first, and the copy replaces it', () => {
    const t = newTape();
    const x = activation(t, TOKENS);
    const { backward } = measure(t, x, () => transpose(t, linear(t, x, 256), 1, 2));
    // The root gradient is held by the engine, so the copy comes on top of it.
    expect(backward).toBe(2 * X + X + 128 * KIB + 1024);
    const moved = newTape();
    const y = activation(moved, TOKENS);
    const copied = measure(moved, y, () =>
      linear(moved, permuteBatch(moved, linear(moved, y, 128, { bias: false })), 8, { bias: false }),
    );
    expect(names(moved)).toContain('clone');
    expect(copied.saved).toContain('input');
  });

  test('shared weights get one gradient from two uses', () => {
    const t = newTape();
    const x = activation(t, TOKENS);
    const shared = { weight: t.param(128, 128), bias: null };
    const weight = 64 * KIB;
    const { backward } = measure(t, x, () => applyLinear(t, applyLinear(t, x, shared), shared));
    // In the first use: the gradient that comes in, two new ones and the other part, without the tokens between.
    expect(backward).toBe(2 * X + 2 * weight - X);
    expect(t.parameterCount).toBe(128 * 128 + 1);
  });
});

const permuteBatch = (t: Tape, x: Tensor): Tensor => permute(t, x, [1, 0, 2]);

describe('matrix products', () => {
  test('keep both factors', () => {
    const t = newTape();
    const x = activation(t, TOKENS);
    expect(measure(t, x, () => bmm(t, x, transpose(t, activation(t, TOKENS), 1, 2)))).toMatchObject({
      saved: [X, 'input'],
      output: 2 * 64 * 64 * 4,
      backward: 2 * X,
    });
  });

  test('keep only what a trained side needs', () => {
    const t = newTape();
    const x = activation(t, TOKENS);
    const other = t.input([2, 128, 8]);
    expect(measure(t, x, () => bmm(t, x, other))).toMatchObject({ saved: ['weight'], backward: X });
    expect(t.works.products.at(-1)).toBe(1);
    expect(measure(t, other, () => bmm(t, t.input([2, 8, 128]), transpose(t, x, 1, 2))).saved).toEqual(['weight']);
  });

  test('of heads copy them unless batch or heads is one (physics.md §7 F9)', () => {
    const heads = (batch: number, count: number): number => {
      const t = newTape();
      const q = splitHeads(t, activation(t, [batch, 64, 128]), count);
      const k = splitHeads(t, activation(t, [batch, 64, 128]), count);
      matmul(t, q, transpose(t, k, 2, 3));
      return names(t).filter((name) => name === 'clone').length;
    };
    expect([heads(2, 4), heads(1, 4), heads(2, 1)]).toEqual([2, 0, 0]);
  });

  test('give B×h×N×M scores, then B×h×N×d', () => {
    const t = newTape();
    const q = splitHeads(t, activation(t, TOKENS), 4);
    const scores = matmul(t, q, transpose(t, splitHeads(t, activation(t, [2, 16, 128]), 4), 2, 3));
    expect(scores.shape).toEqual([2, 4, 64, 16]);
    const out = matmul(t, scores, splitHeads(t, activation(t, [2, 16, 128]), 4));
    expect(out.shape).toEqual([2, 4, 64, 32]);
    expect(t.works.macs.reduce((sum, macs) => sum + macs, 0)).toBe(2 * (2 * 4 * 64 * 16 * 32));
  });
});

describe('fused attention', () => {
  /** 2×4×50×32 heads: 50 KiB in fp32. */
  const HEADS = [2, 4, 50, 32];
  const Q = 50 * KIB;

  test('memory-efficient in fp32: rows of logsumexp padded to 32, two seeds, no scores', () => {
    const t = newTape();
    const q = activation(t, HEADS);
    const measured = measure(t, q, () => scaledDotProduct(t, { q, k: activation(t, HEADS), v: activation(t, HEADS) }));
    expect(measured.saved).toEqual([512, 512, 4 * 2 * 4 * 64, Q, Q, 'input', 'output']);
    expect(measured).toMatchObject({ output: Q, backward: 3 * Q });
    expect(names(t)).toEqual(['efficient_attention']);
    expect(t.works.totalMacs).toBe(2 * 4 * 50 * 50 * 64);
  });

  test('flash in 16 bit: rows as they are', () => {
    const t = newTape({ autocast: 'fp16' });
    const q = activation(t, HEADS, 'half');
    const k = activation(t, HEADS, 'half');
    const { saved } = measure(t, q, () => scaledDotProduct(t, { q, k, v: k }));
    expect(saved).toEqual([512, 512, 2048, Q / 2, Q / 2, 'input', 'output']);
    expect(names(t)).toEqual(['flash_attention']);
  });

  test('flash pads heads to a multiple of 8 and cuts the result', () => {
    const t = newTape({ autocast: 'fp16' });
    const q = activation(t, [2, 4, 64, 20], 'half');
    const out = scaledDotProduct(t, { q, k: q, v: q });
    expect(out.shape).toEqual([2, 4, 64, 20]);
    expect(names(t)).toEqual(['pad', 'pad', 'pad', 'flash_attention']);
    expect(out.storage.bytes).toBe(2 * 4 * 64 * 24 * 2);
  });

  test('a bias is padded to rows of 8 and kept; its gradient has rows of 16', () => {
    const t = newTape();
    const q = activation(t, HEADS);
    const mask = activation(t, [1, 4, 50, 50]);
    const measured = measure(t, q, () => scaledDotProduct(t, { q, k: q, v: q, mask }));
    const padded = Math.ceil((4 * 50 * 56 * 4) / 512) * 512;
    expect(measured.saved).toContain(padded);
    expect(names(t)).toEqual(['pad', 'efficient_attention']);
    const gradient = 2 * 4 * 50 * 64 * 4;
    expect(measured.backward).toBe(3 * Q + gradient);
  });

  test('a row-major mask of rows of 8 is used as it is, also with flash’s types', () => {
    const t = newTape({ autocast: 'fp16' });
    const q = activation(t, [2, 4, 64, 32], 'half');
    const mask = activation(t, [2, 4, 64, 64], 'half');
    scaledDotProduct(t, { q, k: q, v: q, mask });
    expect(names(t)).toEqual(['efficient_attention']);
  });

  test('backward recomputes the scores: five products against two', () => {
    const t = newTape();
    const q = activation(t, HEADS);
    scaledDotProduct(t, { q, k: q, v: q });
    expect(t.works.products.at(-1)).toBe(2.5);
    const plain = newTape({ training: false });
    const x = plain.input(HEADS);
    scaledDotProduct(plain, { q: x, k: x, v: x });
    expect(plain.works.products).toEqual([0]);
  });
});

describe('parts of a tensor', () => {
  test('split and unbind are views whose gradients are joined; missing ones are zeros first', () => {
    const t = newTape();
    const x = activation(t, [2, 64, 3, 128]);
    const parts = unbind(t, x, 2);
    expect(parts.map((part) => part.shape)).toEqual([TOKENS, TOKENS, TOKENS]);
    expect(parts.every((part) => part.storage === x.storage)).toBe(true);
    const [first] = parts;
    if (first === undefined) throw new Error('no part');
    // Root gradient for each of three outputs, then one gradient of all.
    expect(measure(t, x, () => first).backward).toBe(3 * X);
  });

  test('one part of a split costs two zeros and the whole', () => {
    const t = newTape();
    const x = activation(t, [2, 64, 384]);
    const [first] = split(t, x, -1, [128, 128, 128]);
    if (first === undefined) throw new Error('no part');
    const { backward } = measure(t, x, () => reshape(t, linear(t, first, 8, { bias: false }), [-1]));
    // Its own gradient, two zeros and the whole, when the saved input of three parts is gone; the weight's stays.
    expect(backward).toBe(6 * X - 3 * X + 8 * 128 * 4);
  });
});

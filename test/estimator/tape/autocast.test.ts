import { describe, expect, test } from 'vitest';

import { logSoftmax, prelu, softmax } from '../../../src/estimator/tape/ops-activation.ts';
import { conv2d } from '../../../src/estimator/tape/ops-conv.ts';
import { add, cast, multiply, toFloat, toHalf } from '../../../src/estimator/tape/ops-core.ts';
import { linear, matmul } from '../../../src/estimator/tape/ops-linear.ts';
import { binaryCrossEntropy, crossEntropy } from '../../../src/estimator/tape/ops-loss.ts';
import { batchNorm, frozenBatchNorm, groupNorm, layerNorm } from '../../../src/estimator/tape/ops-norm.ts';
import { concat } from '../../../src/estimator/tape/ops-parts.ts';
import { resize, sum } from '../../../src/estimator/tape/ops-resize.ts';
import { gridSample } from '../../../src/estimator/tape/ops-sample.ts';
import type { DType, Tensor } from '../../../src/estimator/tape/storage.ts';
import type { Tape } from '../../../src/estimator/tape/tape.ts';
import type { TapeOptions } from '../../../src/estimator/tape/tape-types.ts';
import { activation, KIB, type Measured, measure, newTape } from './harness.ts';

/** 16,384 elements: 64 KiB in fp32, half of it in 16 bit. */
const MAP = [2, 32, 16, 16];
const X = 64 * KIB;
const HALF = X / 2;

type Build = (t: Tape, x: Tensor) => Tensor;

function run(build: Build, dtype: DType, options: Partial<TapeOptions> = { autocast: 'fp16' }): Measured {
  const t = newTape(options);
  const x = activation(t, MAP, dtype);
  return measure(t, x, (input) => build(t, input));
}

/** Policy lists of autocast (aten/src/ATen/autocast_mode.h; physics.md §3.3): result type and what is kept. */
const POLICY: readonly (readonly [string, Build, DType, DType, Measured['saved']])[] = [
  ['conv casts a float map', (t, x) => conv2d(t, x, { out: 32, kernel: 1 }), 'float', 'half', [2 * KIB, HALF]],
  ['conv keeps a half map', (t, x) => conv2d(t, x, { out: 32, kernel: 1 }), 'half', 'half', [2 * KIB, 'input']],
  ['linear', (t, x) => linear(t, x, 16), 'float', 'half', [512, HALF]],
  ['matmul', (t, x) => matmul(t, x, x), 'float', 'half', [HALF, HALF]],
  ['prelu', (t, x) => prelu(t, x, 1), 'float', 'half', [512, HALF]],
  ['batch norm follows its input', (t, x) => batchNorm(t, x), 'half', 'half', [512, 512, 'input']],
  ['frozen batch norm widens', (t, x) => frozenBatchNorm(t, x), 'half', 'float', [512]],
  ['layer norm keeps a float copy', (t, x) => layerNorm(t, x), 'half', 'float', [4096, 4096, X]],
  ['group norm keeps a float copy', (t, x) => groupNorm(t, x, 4), 'half', 'float', [512, 512, X]],
  ['layer norm of a float map', (t, x) => layerNorm(t, x), 'float', 'float', [4096, 4096, 'input']],
  ['upsampling', (t, x) => resize(t, x, [32, 32]), 'half', 'float', []],
  ['sum', (t, x) => sum(t, x, [1], false), 'half', 'float', []],
  ['grid sampling', (t, x) => gridSample(t, x, t.input([2, 8, 8, 2])), 'half', 'float', [X, 'weight']],
  ['softmax', (t, x) => softmax(t, x), 'half', 'float', ['output']],
  ['log softmax', (t, x) => logSoftmax(t, x), 'half', 'float', ['output']],
  ['log softmax of an explicit type', (t, x) => logSoftmax(t, x, true), 'half', 'half', ['output']],
  ['addition promotes', (t, x) => add(t, x, t.input(MAP)), 'half', 'float', []],
  ['a scalar tensor does not', (t, x) => add(t, x, t.input([])), 'half', 'half', []],
  ['nor on the left', (t, x) => add(t, t.input([]), x), 'half', 'half', []],
  ['concat promotes', (t, x) => concat(t, [x, t.input(MAP)], 1), 'half', 'float', []],
  ['product promotes', (t, x) => multiply(t, x, t.input(MAP)), 'half', 'float', ['weight']],
  ['an explicit cast', (t, x) => cast(t, x, 'float'), 'half', 'float', []],
];

describe('autocast', () => {
  test.each(POLICY)('%s', (_name, build, input, dtype, saved) => {
    expect(run(build, input)).toMatchObject({ dtype, saved });
  });

  test('without it no type changes', () => {
    const t = newTape();
    const x = activation(t, MAP);
    expect(toHalf(t, x)).toBe(x);
    const narrow = activation(t, MAP, 'half');
    expect(toFloat(t, narrow)).toBe(narrow);
    expect(run((tape, half) => softmax(tape, half), 'half', {}).dtype).toBe('half');
  });

  test('nor in a region that leaves it', () => {
    expect(run((t, x) => t.withoutAutocast(() => conv2d(t, x, { out: 32, kernel: 1 })), 'float').dtype).toBe('float');
  });

  test('bfloat16 is widened before softmax, float16 inside its kernel', () => {
    const fp16 = run((t, x) => t.call('', x, () => softmax(t, x)), 'half');
    const bf16 = run((t, x) => t.call('', x, () => softmax(t, x)), 'half', { autocast: 'bf16' });
    expect(fp16.forward).toBe(X);
    expect(bf16.forward).toBe(2 * X);
  });

  test('a cast to the own type is the tensor itself', () => {
    const t = newTape();
    const x = activation(t, MAP);
    expect(cast(t, x, 'float')).toBe(x);
  });
});

describe('weight copies', () => {
  const twice = (frozen: boolean): Tape => {
    const t = newTape({ autocast: 'fp16' });
    const x = activation(t, MAP, 'half');
    t.freeze(frozen, () => {
      const shared = { weight: t.param(32, 32, 1, 1), bias: null };
      conv2d(t, conv2d(t, x, { out: 32, kernel: 1, shared }), { out: 32, kernel: 1, shared });
    });
    return t;
  };
  const casts = (t: Tape): number => t.operationNames.filter((name) => name === 'to').length;

  test('a trained weight is cast once, a frozen one each time', () => {
    expect(casts(twice(false))).toBe(1);
    expect(casts(twice(true))).toBe(2);
  });

  test('the copy of a trained weight lives until autocast exits', () => {
    const t = newTape({ autocast: 'fp16' });
    const x = t.input(MAP, 'half');
    t.freeze(false, () => conv2d(t, x, { out: 32, kernel: 1 }));
    const copy = t.storages[0];
    expect(copy?.bytes).toBe(2 * KIB);
    t.begin('later', []);
    t.begin('later', []);
    expect(copy?.death).toBeLessThan(t.now);
    t.exitAutocast();
    expect(copy?.death).toBe(t.now);
  });

  test('its gradient is 16 bit first, then widened, when the copy itself is gone', () => {
    const t = newTape({ autocast: 'fp16' });
    const x = t.input(MAP, 'half');
    const { backward } = measure(t, x, () => conv2d(t, x, { out: 1024, kernel: 1 }));
    const weight = 4 * 1024 * 32;
    const copy = weight / 2;
    expect(backward).toBe(copy + weight - copy);
  });
});

/** Logits of 2×32×16×16 with int64 labels (physics.md §6). */
describe('losses', () => {
  const loss = (t: Tape, x: Tensor): Tensor => crossEntropy(t, x, t.target([2, 16, 16], 'long'));

  test('cross entropy keeps log-probabilities, labels and the total weight', () => {
    expect(run(loss, 'float', {})).toMatchObject({ saved: [512, X, X, 'weight'], output: 512, shape: [] });
  });

  test('16-bit logits make a 16-bit log-softmax and an fp32 cast of it', () => {
    expect(run(loss, 'half').saved).toEqual([512, HALF, X, 'weight']);
  });

  test('three maps meet in its backward: log-probabilities are saved, two gradients beside them, the total weight is gone', () => {
    expect(run(loss, 'float', {}).backward).toBe(2 * X - 512);
  });

  test('unreduced it gives one value a pixel', () => {
    const unreduced: Build = (t, x) => crossEntropy(t, x, t.target([2, 16, 16], 'long'), { reduced: false });
    expect(run(unreduced, 'float', {})).toMatchObject({ shape: [2, 16, 16], output: 2048 });
  });

  test('class weights are kept too', () => {
    const weighted: Build = (t, x) => crossEntropy(t, x, t.target([2, 16, 16], 'long'), { weights: t.input([32]) });
    expect(run(weighted, 'float', {}).saved.filter((one) => one === 'weight')).toHaveLength(2);
  });

  test('binary cross entropy keeps logits and target, with one temporary in backward and two in its kernel', () => {
    const binary: Build = (t, x) => binaryCrossEntropy(t, x, t.target(MAP, 'float'));
    expect(run(binary, 'float', {})).toMatchObject({ saved: ['input', 'weight'], backward: 2 * X, forward: 512 });
    expect(run(binary, 'float', { kernelTemporaries: true }).forward).toBe(512 + 2 * X);
    expect(run(binary, 'half').saved).toEqual([X, 'weight']);
    const unreduced: Build = (t, x) => binaryCrossEntropy(t, x, t.target(MAP, 'float'), false);
    expect(run(unreduced, 'float', {}).output).toBe(X);
  });
});

import { describe, expect, test } from 'vitest';

import { type Activation, activate, logSoftmax, prelu, softmax } from '../../../src/estimator/tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../../../src/estimator/tape/ops-conv.ts';
import { add, addInPlace, multiply, scale, shift } from '../../../src/estimator/tape/ops-core.ts';
import { indexed } from '../../../src/estimator/tape/ops-index.ts';
import { instanceNorm, leakyReluIntoView } from '../../../src/estimator/tape/ops-instance-norm.ts';
import {
  adaptiveAveragePool,
  averagePool,
  dropout,
  dropout2d,
  dropPath,
  maxPool,
} from '../../../src/estimator/tape/ops-layers.ts';
import { binaryCrossEntropyOfProbabilities } from '../../../src/estimator/tape/ops-loss.ts';
import { batchNorm, frozenBatchNorm, groupNorm, layerNorm } from '../../../src/estimator/tape/ops-norm.ts';
import { concat, pad, roll, slice, stack } from '../../../src/estimator/tape/ops-parts.ts';
import { maxOverLast, repeat, square, subtract } from '../../../src/estimator/tape/ops-reduce.ts';
import { mean, resize, sum } from '../../../src/estimator/tape/ops-resize.ts';
import { gridSample } from '../../../src/estimator/tape/ops-sample.ts';
import { copy } from '../../../src/estimator/tape/ops-shape.ts';
import type { Tensor } from '../../../src/estimator/tape/storage.ts';
import type { Tape } from '../../../src/estimator/tape/tape.ts';
import type { TapeOptions } from '../../../src/estimator/tape/tape-types.ts';
import { activation, KIB, type Measured, measure, newTape } from './harness.ts';

/** 2×32×16×16: 16,384 elements, 64 KiB in fp32. */
const MAP = [2, 32, 16, 16];
const X = 64 * KIB;

type Build = (t: Tape, x: Tensor) => Tensor;
type Row = readonly [name: string, build: Build, saved: Measured['saved'], output: number, backward: number];

function run(build: Build, options: Partial<TapeOptions> = {}, dtype: 'float' | 'half' = 'float'): Measured {
  const t = newTape(options);
  const x = activation(t, MAP, dtype);
  return measure(t, x, (input) => build(t, input));
}

/** What each operation keeps (physics.md §3.2 and §6), its result, and what its backward makes: bytes. */
const FP32: readonly Row[] = [
  ['conv 3×3', (t, x) => conv2d(t, x, { out: 64, kernel: 3, padding: 1 }), ['input', 'weight'], 2 * X, X + 72 * KIB],
  [
    'conv 1×1 with bias: a bias is one block more',
    (t, x) => conv2d(t, x, { out: 64, kernel: 1, bias: true }),
    ['input', 'weight'],
    2 * X,
    X + 8 * KIB + 512,
  ],
  [
    'depthwise conv',
    (t, x) => conv2d(t, x, { out: 32, kernel: 3, padding: 1, groups: 32 }),
    ['input', 'weight'],
    X,
    X + 1536,
  ],
  [
    'transposed conv 2×2',
    (t, x) => convTranspose2d(t, x, { out: 16, kernel: 2, stride: 2 }),
    ['input', 'weight'],
    2 * X,
    X + 8 * KIB,
  ],
  ['batch norm: input, mean, deviation', (t, x) => batchNorm(t, x), [512, 512, 'input'], X, X + 1024],
  ['batch norm without weights', (t, x) => batchNorm(t, x, { affine: false }), [512, 512, 'input'], X, X],
  ['frozen batch norm keeps a vector of C', (t, x) => frozenBatchNorm(t, x), [512], X, X],
  ['instance norm: two values a map', (t, x) => instanceNorm(t, x), [512, 512, 'input'], X, X],
  [
    'instance norm with weights repeated over the batch',
    (t, x) => instanceNorm(t, x, { affine: true }),
    [512, 512, 512, 'input'],
    X,
    X + 1024,
  ],
  ['leaky ReLU into a view: two maps beside the gradient', (t, x) => leakyReluIntoView(t, x), ['input'], X, 3 * X],
  [
    'binary cross entropy of probabilities',
    (t, x) => binaryCrossEntropyOfProbabilities(t, x, t.target(MAP, 'float')),
    ['input', 'weight'],
    512,
    X,
  ],
  ['group norm', (t, x) => groupNorm(t, x, 4), [512, 512, 'input'], X, X + 1024],
  ['layer norm: a mean per row of 16', (t, x) => layerNorm(t, x), [4096, 4096, 'input'], X, X + 1024],
  ['layer norm over two axes', (t, x) => layerNorm(t, x, { axes: 2 }), [512, 512, 'input'], X, X + 2048],
  ['layer norm without bias', (t, x) => layerNorm(t, x, { bias: false }), [4096, 4096, 'input'], X, X + 512],
  ['max pool: int64 indices', (t, x) => maxPool(t, x, { kernel: 2, stride: 2 }), [X / 2, 'input'], X / 4, X],
  ['average pool', (t, x) => averagePool(t, x, { kernel: 2, stride: 2 }), ['input'], X / 4, X],
  ['adaptive average pool to 2×2', (t, x) => adaptiveAveragePool(t, x, 2), ['input'], 1024, X],
  ['adaptive average pool to 2×1', (t, x) => adaptiveAveragePool(t, x, [2, 1]), ['input'], 512, X],
  ['adaptive average pool to 1×1 is a mean', (t, x) => adaptiveAveragePool(t, x, 1), [], 512, X],
  ['mean', (t, x) => mean(t, x, [1], true), [], X / 32, X],
  ['sum: its gradient is an expanded view', (t, x) => sum(t, x, [-1], false), [], X / 16, 0],
  ['bilinear resize', (t, x) => resize(t, x, [32, 32]), [], 4 * X, X],
  ['resize to the same size is a copy', (t, x) => resize(t, x, [16, 16]), [], X, X],
  ['dropout: a mask of bytes', (t, x) => dropout(t, x, 0.1), [X / 4], X, X],
  ['channel dropout: a mask of B×C', (t, x) => dropout2d(t, x, 0.1), [512], X, X],
  ['drop path: a mask of B', (t, x) => dropPath(t, x, 0.1, false), [512], X, X],
  ['add with itself', (t, x) => add(t, x, x), [], X, X],
  ['add of a row: sums its gradient', (t, x) => add(t, x, t.param(32, 1, 1)), [], X, 512],
  ['product with a gate', (t, x) => multiply(t, x, activation(t, MAP)), [X, 'input'], X, 2 * X],
  ['product with a gate of C', (t, x) => multiply(t, x, activation(t, [2, 32, 1, 1])), [512, 'input'], X, 2 * X + 512],
  ['product with data', (t, x) => multiply(t, x, t.input([1])), ['weight'], X, X],
  ['product with a number', (t, x) => scale(t, x), [], X, X],
  ['sum with a number passes the gradient', (t, x) => shift(t, x), [], X, 0],
  ['copy passes the gradient', (t, x) => copy(t, x), [], X, 0],
  ['concat hands out slices', (t, x) => concat(t, [x, activation(t, MAP)], 1), [], 2 * X, 0],
  ['stack hands out slices', (t, x) => stack(t, [x, activation(t, MAP)]), [], 2 * X, 0],
  ['slice is a view; its gradient is padded', (t, x) => slice(t, x, 1, 8), [], X, X],
  ['roll', (t, x) => roll(t, x), [], X, X],
  ['pad', (t, x) => pad(t, x, [2, 32, 16, 32]), [], 2 * X, X],
  ['pad by nothing is a copy', (t, x) => pad(t, x, MAP), [], X, X],
  ['prelu: input and slope', (t, x) => prelu(t, x, 32), ['input', 'weight'], X, 2 * X + 512],
  ['softmax', (t, x) => softmax(t, x), ['output'], X, X],
  ['log softmax', (t, x) => logSoftmax(t, x), ['output'], X, X],
  ['square: two steps to the derivative', (t, x) => square(t, x), ['input'], X, 3 * X],
  ['maximum: int64 indices', (t, x) => maxOverLast(t, x), [X / 8], X / 16, 2 * X],
  ['repeat', (t, x) => repeat(t, x, [1, 1, 2, 1]), [], 2 * X, X],
  ['difference: the subtrahend is negated', (t, x) => subtract(t, x, activation(t, MAP)), [], X, X],
  ['indexing: zeros, then a filled copy', (t, x) => indexed(t, x, [2, 32, 4, 16]), [], X / 4, 2 * X],
  [
    'grid sample makes the gradient of a fixed grid too',
    (t, x) => gridSample(t, x, t.input([2, 8, 8, 2])),
    ['input', 'weight'],
    X / 4,
    X + 1024,
  ],
];

test.each(FP32)('%s', (_name, build, saved, output, backward) => {
  expect(run(build)).toMatchObject({ saved, output, backward, dtype: 'float' });
});

/** Kept out of place and in place (physics.md §6). */
const ACTIVATIONS: readonly (readonly [Activation, Measured['saved'], Measured['saved']])[] = [
  ['relu', ['output'], ['input']],
  ['sigmoid', ['output'], ['input']],
  ['tanh', ['output'], ['input']],
  ['gelu', ['input'], ['input']],
  ['leaky_relu', ['input'], ['input']],
  ['elu', ['input'], ['input']],
  ['relu6', ['input'], [X]],
  ['silu', ['input'], [X]],
  ['hardswish', ['input'], [X]],
  ['hardsigmoid', ['input'], [X]],
];

describe('activations', () => {
  test.each(ACTIVATIONS)('%s', (kind, plain, inPlace) => {
    expect(run((t, x) => activate(t, x, kind), { fanInCopies: false })).toMatchObject({
      saved: plain,
      forward: X,
      backward: X,
    });
    const reused = run((t, x) => activate(t, x, kind, true), { fanInCopies: false });
    expect(reused).toMatchObject({ saved: inPlace, output: X, backward: X });
    expect(reused.forward).toBe(inPlace[0] === X ? X : 0);
  });

  test('none is the tensor itself', () => {
    const t = newTape();
    const x = activation(t, MAP);
    expect(activate(t, x, 'none')).toBe(x);
  });

  test('in evaluation an in-place form clones nothing', () => {
    const t = newTape({ training: false });
    const x = t.input(MAP);
    expect(activate(t, x, 'silu', true).storage).toBe(x.storage);
    expect(t.storages).toHaveLength(0);
  });

  test('the SiLU of fake tensors takes five temporaries in backward', () => {
    expect(run((t, x) => activate(t, x, 'silu')).backward).toBe(6 * X);
  });

  test('before torch 2.0 in-place ReLU6 kept its result', () => {
    const rules = { softmaxKeepsInput: false, relu6KeepsResult: true, composedHardswish: false };
    expect(run((t, x) => activate(t, x, 'relu6', true), { rules })).toMatchObject({ saved: ['input'], forward: 0 });
    expect(run((t, x) => activate(t, x, 'relu6'), { rules }).saved).toEqual(['input']);
  });

  test('before torch 1.7 hard-swish was four tensors: x, x + 3 clipped, their product and its sixth', () => {
    const rules = { softmaxKeepsInput: false, relu6KeepsResult: true, composedHardswish: true };
    expect(run((t, x) => activate(t, x, 'hardswish'), { rules })).toMatchObject({ saved: [X, X, 'input'] });
  });
});

describe('old softmax', () => {
  const rules = { softmaxKeepsInput: true, relu6KeepsResult: true, composedHardswish: false };

  test('before torch 1.11 both kept their input too', () => {
    expect(run((t, x) => softmax(t, x), { rules }).saved).toEqual(['input', 'output']);
    expect(run((t, x) => logSoftmax(t, x), { rules }).saved).toEqual(['input', 'output']);
  });

  test('the kernel of softmax multiplies into one more matrix, log softmax does not', () => {
    expect(run((t, x) => softmax(t, x), { kernelTemporaries: true }).backward).toBe(2 * X);
    expect(run((t, x) => logSoftmax(t, x), { kernelTemporaries: true }).backward).toBe(X);
  });
});

describe('in place', () => {
  test('addition makes no storage and keeps the left type', () => {
    const t = newTape();
    const x = activation(t, MAP, 'half');
    const out = addInPlace(t, x, activation(t, MAP));
    expect(out.storage).toBe(x.storage);
    expect(out.dtype).toBe('half');
  });

  test('a product copies what it overwrites when the other operand needs it', () => {
    expect(run((t, x) => multiply(t, x, activation(t, MAP), { inPlace: true })).saved).toEqual([X, X]);
    expect(run((t, x) => multiply(t, x, t.input(MAP), { inPlace: true })).saved).toEqual(['weight']);
  });
});

describe('drop path and dropout', () => {
  test('mmcv divides the input first, timm the mask', () => {
    const inModule = (divides: boolean) => run((t, x) => t.call('drop', x, () => dropPath(t, x, 0.1, divides)));
    expect(inModule(true).forward).toBe(2 * X + 512);
    expect(inModule(false).forward).toBe(X + 512);
  });

  test.each([0, 0.5])('in evaluation, and with probability 0, they are the tensor itself (%d)', (probability) => {
    const t = newTape({ training: probability === 0 });
    const x = t.input(MAP);
    expect(dropout(t, x, probability)).toBe(x);
    expect(dropout2d(t, x, probability)).toBe(x);
    expect(dropPath(t, x, probability, true)).toBe(x);
    expect(t.now).toBe(-1);
  });

  test('channel dropout in place reuses the map', () => {
    expect(run((t, x) => dropout2d(t, x, 0.1, true)).forward).toBe(512);
  });
});

import { describe, expect, test } from 'vitest';
import { replay } from '../../../src/estimator/replay.ts';
import { conv2d, convTranspose2d } from '../../../src/estimator/tape/ops-conv.ts';
import { averagePool, maxPool } from '../../../src/estimator/tape/ops-layers.ts';
import { batchNorm, frozenBatchNorm } from '../../../src/estimator/tape/ops-norm.ts';
import { contiguous } from '../../../src/estimator/tape/ops-shape.ts';
import type { Tensor } from '../../../src/estimator/tape/storage.ts';
import type { Tape } from '../../../src/estimator/tape/tape.ts';
import type { TapeOptions } from '../../../src/estimator/tape/tape-types.ts';
import { activation, KIB, measure, newTape } from './harness.ts';

const MAP = [2, 32, 16, 16];
const X = 64 * KIB;

type Build = (t: Tape, x: Tensor) => Tensor;

describe('sides of windows', () => {
  const side = (build: Build, height = 15): readonly number[] => {
    const t = newTape();
    return build(t, activation(t, [1, 4, height, 20])).shape;
  };

  test.each([
    [{ out: 8, kernel: 3, stride: 2, padding: 1 }, [1, 8, 8, 10]],
    [{ out: 8, kernel: 3, dilation: 2, padding: 2 }, [1, 8, 15, 20]],
    [{ out: 8, kernel: 3, dilation: 3 }, [1, 8, 9, 14]],
    [{ out: 8, kernel: [1, 7] as const, padding: [0, 3] as const }, [1, 8, 15, 20]],
    [{ out: 8, kernel: 2, stride: [1, 2] as const }, [1, 8, 14, 10]],
    [{ out: 8, kernel: 4, stride: 4 }, [1, 8, 3, 5]],
  ])('convolution %o', (options, shape) => {
    expect(side((t, x) => conv2d(t, x, options))).toEqual(shape);
  });

  test.each([
    [{ out: 8, kernel: 2, stride: 2 }, [1, 8, 30, 40]],
    [{ out: 8, kernel: 3, stride: 2, padding: 1, outputPadding: 1 }, [1, 8, 30, 40]],
    [{ out: 8, kernel: 4, stride: 2, padding: 1 }, [1, 8, 30, 40]],
    [{ out: 8, kernel: [2, 3] as const, stride: [2, 1] as const }, [1, 8, 30, 22]],
  ])('transposed convolution %o', (options, shape) => {
    expect(side((t, x) => convTranspose2d(t, x, options))).toEqual(shape);
  });

  test.each([
    [{ kernel: 3, stride: 2, padding: 1 }, [1, 4, 8, 10]],
    [{ kernel: 2, stride: 2 }, [1, 4, 7, 10]],
    [{ kernel: 2, stride: 2, ceil: true }, [1, 4, 8, 10]],
    [{ kernel: 3, stride: 2, ceil: true }, [1, 4, 7, 10]],
    // The last window would start in the padding: torch drops it.
    [{ kernel: 2, stride: 3, padding: 1, ceil: true }, [1, 4, 6, 7]],
    [{ kernel: 2, stride: [2, 1] as const }, [1, 4, 7, 19]],
  ])('pooling %o', (options, shape) => {
    expect(side((t, x) => maxPool(t, x, options))).toEqual(shape);
    expect(side((t, x) => averagePool(t, x, options))).toEqual(shape);
  });
});

describe('weights and work', () => {
  test('a convolution has out × in ÷ groups × kernel weights and multiplies each at every pixel', () => {
    const t = newTape();
    conv2d(t, activation(t, MAP), { out: 64, kernel: [3, 1], padding: [1, 0], groups: 4, bias: true });
    expect(t.parameterCount - 1).toBe(64 * 8 * 3 + 64);
    expect(t.works.totalMacs).toBe(2 * 64 * 256 * 8 * 3);
  });

  test('batch norm has two vectors of weights and three buffers of a block each', () => {
    const t = newTape();
    batchNorm(t, activation(t, MAP));
    expect(t.parameterCount - 1).toBe(64);
    expect(t.bufferBytes).toBe(3 * 512);
    expect(t.parameterBytes).toBe(3 * 512);
  });

  test('a frozen batch norm has four buffers and no weight', () => {
    const t = newTape();
    frozenBatchNorm(t, activation(t, MAP));
    expect(t.parameterCount).toBe(1);
    expect(t.bufferBytes).toBe(4 * 512);
  });

  test.each([
    [{ out: 64, kernel: 3, padding: 1 }, 'convolution-3x3'],
    [{ out: 64, kernel: 3, padding: 2, dilation: 2 }, 'convolution-dilated'],
    [{ out: 64, kernel: 3, stride: 2 }, 'convolution'],
    [{ out: 64, kernel: 1 }, 'convolution'],
    [{ out: 32, kernel: 3, groups: 32 }, 'depthwise'],
    [{ out: 32, kernel: 3, groups: 4 }, 'convolution'],
  ])('%o is timed as %s', (options, kind) => {
    const t = newTape();
    conv2d(t, activation(t, MAP), options);
    expect(t.works.kinds.at(-1)).toBe(kind);
    expect(t.works.products.at(-1)).toBe(2);
  });

  test('the first convolution multiplies once in backward: the image needs no gradient', () => {
    const t = newTape();
    const image = t.input(MAP);
    expect(measure(t, image, () => conv2d(t, image, { out: 64, kernel: 1 }))).toMatchObject({
      saved: ['input', 'weight'],
      backward: 8 * KIB,
    });
    expect(t.works.products).toEqual([1]);
  });

  test('frozen weights on an image keep nothing; a frozen weight after a trained one keeps both', () => {
    const t = newTape();
    const image = t.input(MAP);
    const frozen = t.freeze(true, () => conv2d(t, image, { out: 64, kernel: 1 }));
    expect(frozen.node).toBeNull();
    expect(t.trainableCount).toBe(0);
    const x = activation(t, MAP);
    const kept = measure(t, x, () => t.freeze(true, () => conv2d(t, x, { out: 64, kernel: 1 })));
    expect(kept).toMatchObject({ saved: ['input', 'weight'], backward: X });
  });
});

describe('workspace of wide fp32 3×3 convolutions', () => {
  const wide = (channels: number, options: object = {}, on: Partial<TapeOptions> = {}): number => {
    const t = newTape(on);
    const x = activation(t, [2, channels, 16, 16]);
    conv2d(t, x, { out: 256, kernel: 3, padding: 1, ...options });
    return t.workspaces.total;
  };
  const map = 2 * 256 * 256 * 4;

  test('is 2.25 × (input + output) + 4 × weight', () => {
    expect(wide(256)).toBe(2.25 * 2 * map + 4 * 256 * 256 * 9 * 4);
    expect(wide(512)).toBe(2.25 * 3 * map + 4 * 256 * 512 * 9 * 4);
  });

  test('and absent elsewhere', () => {
    expect(wide(255)).toBe(0);
    expect(wide(256, { out: 255 })).toBe(0);
    expect(wide(256, { stride: 2 })).toBe(0);
    expect(wide(256, { dilation: 2, padding: 2 })).toBe(0);
    expect(wide(256, { kernel: 1, padding: 0 })).toBe(0);
    expect(wide(256, { groups: 2 })).toBe(0);
    expect(wide(256, {}, { autocast: 'fp16' })).toBe(0);
  });

  test('and counts, where the card takes it, in forward and in backward beside all gradients', () => {
    const t = newTape();
    const x = activation(t, [2, 256, 16, 16]);
    const loss = conv2d(t, x, { out: 256, kernel: 3, padding: 1 });
    const weight = 256 * 256 * 9 * 4;
    const options = { fanInCopies: true, residentGradients: false };
    const [without, taken] = [false, true].map((convWorkspace) => replay(t, loss, { ...options, convWorkspace }));
    expect(without?.forward.withKernels).toBe(2 * map);
    expect(taken?.forward.withKernels).toBe(2 * map + wide(256));
    expect(without?.backward.withKernels).toBe(3 * map + weight + map);
    expect(taken?.backward.withKernels).toBe(3 * map + weight + map + wide(256));
  });

  test('small maps have none: the transform of the weights would not pay', () => {
    const t = newTape();
    conv2d(t, activation(t, [1, 256, 8, 8]), { out: 256, kernel: 3, padding: 1 });
    expect(t.workspaces.total).toBe(0);
  });
});

test('row-major tensors are not copied by contiguous', () => {
  const t = newTape();
  const x = activation(t, MAP);
  expect(contiguous(t, x)).toBe(x);
});

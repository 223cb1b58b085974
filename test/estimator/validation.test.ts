import { describe, expect, test } from 'vitest';

import { estimate } from '../../src/estimator/estimate.ts';
import { replayWithoutGradient } from '../../src/estimator/replay.ts';
import { atScale, trace, traceValidation } from '../../src/estimator/trace.ts';
import { validationOutput } from '../../src/estimator/validation.ts';
import { KIB, newTape } from './tape/harness.ts';
import { workloadOf } from './truth.ts';

const base = workloadOf({ model: "smp.Unet('resnet18', classes=4)", imageHeight: 64, imageWidth: 64, batchSize: 1 });
const sized = { ...base, validationHeight: 64, validationWidth: 64, validationBatch: 1 };

describe('the end of a validation pass', () => {
  const run = (side: number): { names: readonly string[]; peak: number } => {
    const t = newTape({ training: false });
    t.begin('logits', []);
    const storage = t.allocate([1, 4, side, side], 'float');
    const logits = t.result(
      { storage, shape: [1, 4, side, side], dtype: 'float' },
      { name: 'logits', inputs: [], saved: [], rule: () => undefined },
    );
    validationOutput(t, logits, sized);
    return { names: t.operationNames.slice(1), peak: replayWithoutGradient(t).bytes };
  };

  test('resizes logits to the image, then softmax and argmax while they live', () => {
    // Full-size logits, probabilities and int64 labels.
    expect(run(16)).toEqual({ names: ['upsample_bilinear2d', 'softmax', 'argmax'], peak: (64 + 64 + 32) * KIB });
  });

  test('logits of image size are not resized', () => {
    expect(run(64)).toEqual({ names: ['softmax', 'argmax'], peak: (64 + 64 + 32) * KIB });
  });

  test('a network without a map of classes has none', () => {
    const t = newTape({ training: false });
    validationOutput(t, null, sized);
    expect(t.now).toBe(-1);
  });
});

describe('validation of a network', () => {
  test('makes no graph and keeps nothing', () => {
    const t = traceValidation(sized);
    expect(t.nodes).toHaveLength(0);
    expect(t.storages.every(({ holders }) => holders === 0)).toBe(true);
  });

  test('whole images are of validation size, windows of training size', () => {
    const large = { ...sized, validationHeight: 256, validationWidth: 128 };
    expect(traceValidation(large).inputBytes).toBe(3 * 256 * 128 * 4);
    expect(traceValidation({ ...large, validationMode: 'slide' }).inputBytes).toBe(3 * 64 * 64 * 4);
    expect(traceValidation({ ...large, validationBatch: 2 }).inputBytes).toBe(2 * 3 * 256 * 128 * 4);
  });

  test('sides that the network refuses are padded to a multiple of 32', () => {
    const fpn = workloadOf({ model: "smp.FPN('resnet18', classes=4)", imageHeight: 64, imageWidth: 64, batchSize: 1 });
    const peak = (height: number): number =>
      estimate({ ...fpn, validationHeight: height, validationWidth: 64 }).bytes.validationPeak;
    expect(peak(100)).toBeGreaterThan(peak(96));
    expect(peak(100)).toBeLessThanOrEqual(peak(128));
  });

  test('grows with the image and is far below training of the same size', () => {
    const of = (side: number) =>
      estimate({ ...base, imageHeight: side, imageWidth: side, validationHeight: side, validationWidth: side }).bytes;
    expect(of(256).validationPeak).toBeGreaterThan(of(128).validationPeak);
    expect(of(256).validationPeak).toBeLessThan(of(256).allocatedPeak);
  });
});

describe('varying input sizes', () => {
  test('are taken on a grid of 32, never below it', () => {
    const w = { ...base, imageHeight: 512, imageWidth: 768, multiScale: [0.5, 2] as const };
    expect(atScale(w, 0.5)).toMatchObject({ imageHeight: 256, imageWidth: 384, multiScale: null });
    expect(atScale(w, 0.77)).toMatchObject({ imageHeight: 384, imageWidth: 576 });
    expect(atScale(w, 0.01)).toMatchObject({ imageHeight: 32, imageWidth: 32 });
  });

  test('the peak is that of the largest', () => {
    const w = { ...base, imageHeight: 128, imageWidth: 128 };
    const varying = estimate({ ...w, multiScale: [0.5, 2] }).bytes;
    expect(varying.allocatedPeak).toBe(estimate({ ...w, imageHeight: 256, imageWidth: 256 }).bytes.allocatedPeak);
  });
});

describe('a trace', () => {
  test.each([
    ['fp32', null],
    ['fp16', 'fp16'],
    ['bf16', 'bf16'],
  ] as const)('in %s runs under the autocast type %s', (precision, autocast) => {
    expect(trace({ ...base, precision }).t.options).toMatchObject({ autocast, training: true });
  });

  test.each([
    [2.13, { softmaxKeepsInput: false, relu6KeepsResult: false, composedHardswish: false }],
    [2, { softmaxKeepsInput: false, relu6KeepsResult: false, composedHardswish: false }],
    [1.13, { softmaxKeepsInput: false, relu6KeepsResult: true, composedHardswish: false }],
    [1.11, { softmaxKeepsInput: false, relu6KeepsResult: true, composedHardswish: false }],
    [1.1, { softmaxKeepsInput: true, relu6KeepsResult: true, composedHardswish: false }],
    [1.07, { softmaxKeepsInput: true, relu6KeepsResult: true, composedHardswish: false }],
    [1.06, { softmaxKeepsInput: true, relu6KeepsResult: true, composedHardswish: true }],
  ])('of torch %d follows the rules of its time', (torch, rules) => {
    expect(trace({ ...base, torch }).t.options.rules).toEqual(rules);
  });

  test('of a network that nobody has built is refused by name', () => {
    const model = { ...base.model, architecture: 'perceiver', backbone: 'none-such' };
    expect(() => trace({ ...base, model })).toThrowError(
      expect.objectContaining({
        code: 'unsupported-combination',
        details: expect.objectContaining({ architecture: 'perceiver' }),
      }),
    );
  });
});

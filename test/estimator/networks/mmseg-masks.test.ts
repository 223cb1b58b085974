import { describe, expect, test } from 'vitest';

import { estimate } from '../../../src/estimator/estimate.ts';
import { exactToTheByte } from '../byte-exact.ts';
import { scoreRows, truthRows, workloadOf } from '../truth.ts';

const given = truthRows('traces-mmseg').filter(({ family }) => /Mask2Former|MaskFormer|SemanticFPN/.test(family));
const scored = scoreRows([...given, ...truthRows('own-mmseg-masks')]);

describe('mask classifiers, PoolFormer, Twins and MAE of MMSegmentation', () => {
  exactToTheByte(scored, 35);
});

describe('objects in the images', () => {
  const peak = (model: string, instancesPerImage: number): number =>
    estimate(workloadOf({ model, imageHeight: 512, imageWidth: 512, batchSize: 2, numClasses: 150, instancesPerImage }))
      .bytes.allocatedPeak;
  const MIB = 2 ** 20;

  test.each([
    ['mask2former_r50_8xb2-160k_ade20k-512x512', 10, 30],
    ['maskformer_r50-d32_8xb2-160k_ade20k-512x512', 25, 60],
  ])('%s needs %d to %d MiB more for each mask of an image', (model, least, most) => {
    const each = (peak(model, 16) - peak(model, 8)) / 8 / 2 / MIB;
    expect(each).toBeGreaterThan(least);
    expect(each).toBeLessThan(most);
  });
});

test('a backbone without a config is refused with those that have one', () => {
  const known = workloadOf({ model: 'mask2former_r50_8xb2-160k_ade20k-512x512', numClasses: 150 });
  const model = { ...known.model, backbone: 'convnext-t' };
  expect(() => estimate({ ...known, model })).toThrow(expect.objectContaining({ code: 'unknown-backbone' }));
});

/** No-gradient passes of the official code in evaluation mode (MMSegmentation 1.2.2, torch 2.13.0, fake tensors, 2026-11-30). */
test.each([
  ['mask2former_r50_8xb2-160k_ade20k-512x512', 512, 512, 150, 'fp32', 644220416],
  ['mask2former_swin-t_8xb2-90k_cityscapes-512x1024', 512, 1024, 19, 'fp16', 917020672],
  ['maskformer_r50-d32_8xb2-160k_ade20k-512x512', 512, 683, 150, 'fp32', 754408960],
  ['fpn_poolformer_s12_8xb4-40k_ade20k-512x512', 512, 512, 150, 'fp32', 382522368],
] as const)('validation of %s at %d×%d, %d classes, %s', (model, height, width, numClasses, precision, peak) => {
  const size = { validationHeight: height, validationWidth: width, validationBatch: 1 };
  const input = { model, imageHeight: 512, imageWidth: 512, batchSize: 2, numClasses, precision, ...size };
  const { validationPeak } = estimate(workloadOf(input)).bytes;
  expect(Math.abs(validationPeak - peak) / peak).toBeLessThan(0.001);
});

import { describe, expect, test } from 'vitest';

import { estimate } from '../../src/estimator/estimate.ts';
import { workloadOf } from './truth.ts';

const MIB = 2 ** 20;

/**
 * Re-statements replayed on torch 1.13's meta device before any trace existed (physics.md §4): batch, height and width;
 * classes; million parameters; then MiB of base, saved, and the peaks of forward and backward.
 */
const GOLDEN = [
  ['fcn_r50-d8_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 49.5, 209, 4488, 4575, 4640],
  ['fcn_r101-d8_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 68.5, 282, 7752, 7839, 7904],
  ['fcn_r18-d8_4xb2-80k_cityscapes-512x1024', [2, 512, 1024], 19, 12.8, 69, 1196, 1282, 1348],
  ['pspnet_r50-d8_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 49.0, 207, 4457, 4544, 4701],
  ['pspnet_r101-d8_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 68.0, 280, 7722, 7808, 7966],
  ['deeplabv3_r50-d8_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 68.1, 280, 4616, 4703, 4768],
  ['deeplabv3_r101-d8_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 87.1, 353, 7880, 7967, 8032],
  ['deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 43.6, 187, 6692, 6782, 6844],
  ['deeplabv3plus_r101-d8_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 62.6, 259, 9957, 10046, 10109],
  ['deeplabv3plus_r18-d8_4xb2-80k_cityscapes-512x1024', [2, 512, 1024], 19, 12.5, 68, 1747, 1837, 1899],
  ['fcn_r50-d8_4xb2-40k_cityscapes-512x1024', [4, 512, 512], 150, 49.6, 209, 5536, 6163, 6736],
  ['pspnet_r50-d8_4xb2-40k_cityscapes-512x1024', [4, 512, 512], 150, 49.1, 207, 5507, 6133, 6707],
  ['deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024', [4, 512, 512], 150, 43.7, 187, 7740, 8395, 8940],
  ['deeplabv3plus_r101-d8_4xb2-40k_cityscapes-512x1024', [4, 512, 512], 150, 62.7, 260, 11005, 11659, 12205],
  ['deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024', [4, 512, 512], 7, 43.6, 187, 6596, 6635, 6695],
  ['deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024', [4, 896, 896], 16, 43.6, 228, 20421, 20657, 20813],
  ['pspnet_r50-d8_4xb2-40k_cityscapes-512x1024', [4, 896, 896], 16, 49.0, 248, 13576, 13802, 14205],
  ['deeplabv3plus_r50-d8_4xb2-40k_cityscapes-769x769', [2, 769, 769], 19, 43.6, 189, 7654, 7756, 7826],
  ['unet-s5-d16_fcn_4xb4-160k_cityscapes-512x1024', [4, 512, 1024], 19, 29.1, 151, 16512, 16870, 16816],
  ['unet-s5-d16_fcn_4xb4-160k_cityscapes-512x1024', [4, 256, 256], 2, 29.1, 116, 2030, 2037, 2076],
  ['upernet_r50_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 66.4, 274, 3749, 3974, 3902],
  ['upernet_r101_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 85.4, 346, 4566, 4790, 4719],
  ['upernet_r50_4xb2-40k_cityscapes-512x1024', [4, 512, 512], 150, 66.5, 274, 4799, 5446, 5999],
  ['fcn_hr18_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 9.6, 58, 2451, 2536, 2603],
  ['fcn_hr48_4xb2-40k_cityscapes-512x1024', [2, 512, 1024], 19, 65.9, 272, 4756, 4840, 5040],
  ['fcn_hr48_4xb2-40k_cityscapes-512x1024', [4, 512, 512], 150, 66.0, 272, 5280, 5921, 6480],
  ['fcn_hr48_4xb2-40k_cityscapes-512x1024', [4, 896, 896], 16, 65.9, 313, 14526, 14747, 15433],
  ['segformer_mit-b0_8xb2-160k_ade20k-512x512', [2, 512, 512], 150, 3.8, 24, 1061, 1382, 1661],
  ['segformer_mit-b1_8xb2-160k_ade20k-512x512', [2, 512, 512], 150, 13.7, 62, 1387, 1707, 1987],
  ['segformer_mit-b2_8xb2-160k_ade20k-512x512', [2, 512, 512], 150, 24.8, 104, 2027, 2348, 2627],
  ['segformer_mit-b3_8xb2-160k_ade20k-512x512', [2, 512, 512], 150, 44.6, 180, 2755, 3076, 3355],
  ['segformer_mit-b4_8xb2-160k_ade20k-512x512', [2, 512, 512], 150, 61.4, 244, 3674, 3995, 4274],
  ['segformer_mit-b5_8xb2-160k_ade20k-512x512', [2, 512, 512], 150, 82.0, 323, 4276, 4597, 4876],
  ['segformer_mit-b5_8xb2-160k_ade20k-512x512', [2, 640, 640], 150, 82.0, 329, 7213, 7714, 8150],
  ['segformer_mit-b0_8xb2-160k_ade20k-512x512', [1, 1024, 1024], 19, 3.7, 34, 2307, 2491, 2459],
  ['segformer_mit-b1_8xb2-160k_ade20k-512x512', [1, 1024, 1024], 19, 13.7, 72, 2923, 3108, 3075],
  ['segformer_mit-b2_8xb2-160k_ade20k-512x512', [1, 1024, 1024], 19, 24.7, 114, 4790, 4975, 4942],
  ['segformer_mit-b3_8xb2-160k_ade20k-512x512', [1, 1024, 1024], 19, 44.6, 190, 6891, 7075, 7043],
  ['segformer_mit-b4_8xb2-160k_ade20k-512x512', [1, 1024, 1024], 19, 61.4, 254, 9563, 9748, 9715],
  ['segformer_mit-b5_8xb2-160k_ade20k-512x512', [1, 1024, 1024], 19, 82.0, 333, 11291, 11476, 11443],
  [
    'swin-tiny-patch4-window7-in1k-pre_upernet_8xb2-160k_ade20k-512x512',
    [2, 512, 512],
    150,
    59.9,
    239,
    2648,
    2972,
    3248,
  ],
  [
    'swin-small-patch4-window7-in1k-pre_upernet_8xb2-160k_ade20k-512x512',
    [2, 512, 512],
    150,
    81.3,
    320,
    3326,
    3650,
    3926,
  ],
  [
    'swin-base-patch4-window7-in1k-pre_upernet_8xb2-160k_ade20k-512x512',
    [2, 512, 512],
    150,
    121.3,
    473,
    3940,
    4264,
    4540,
  ],
  [
    'swin-base-patch4-window12-in1k-384x384-pre_upernet_8xb2-160k_ade20k-512x512',
    [2, 512, 512],
    150,
    121.4,
    473,
    4452,
    4776,
    5052,
  ],
  ["smp.Unet('resnet34')", [4, 512, 512], 2, 24.4, 113, 1474, 1482, 1594],
  ["smp.Unet('resnet50')", [4, 512, 512], 2, 32.5, 144, 2652, 2672, 2772],
  ['unet-s5-d16_fcn_4xb4-160k_cityscapes-512x1024', [4, 512, 512], 19, 29.1, 131, 8256, 8435, 8408],
] as const;

describe('golden numbers, fp32, eager attention', () => {
  test.each(GOLDEN)('%s, %j, %d classes', (model, [batchSize, imageHeight, imageWidth], numClasses, ...want) => {
    const [parameters, base, saved, forward, backward] = want;
    const input = { model, batchSize, imageHeight, imageWidth, numClasses, attention: 'eager', outputHeld: false };
    const result = estimate(
      workloadOf({ ...input, kernelTemporaries: false, fanInCopies: true, convWorkspace: false }),
    );
    const { bytes } = result;
    const off = (have: number, mib: number): number => Math.abs(have / MIB / mib - 1);
    expect(result.parameters / 1e6).toBeCloseTo(parameters, 0);
    // The printed digit; and Swin's index tables, which the re-statement shared between blocks.
    expect(Math.abs(bytes.base / MIB - base)).toBeLessThanOrEqual(Math.max(1, 0.01 * base));
    expect(off(bytes.saved, saved)).toBeLessThanOrEqual(0.007);
    expect(off(bytes.peakBackward, backward)).toBeLessThanOrEqual(0.007);
    // The official loss also computes an accuracy figure, which the re-statement left out.
    expect(off(bytes.peakForward, forward)).toBeLessThanOrEqual(0.033);
  });
});

/** Replayed peaks of activations at 4×512², fp32 and 16 bit, in MiB (physics.md §3.3; smp's row was corrected in §6). */
const HALF = [
  ['deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024', 19, 6844, 3679],
  ['deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024', 150, 8940, 5776],
  ['fcn_hr48_4xb2-40k_cityscapes-512x1024', 19, 5040, 2836],
  ['segformer_mit-b2_8xb2-160k_ade20k-512x512', 150, 5254, 4214],
  ['segformer_mit-b5_8xb2-160k_ade20k-512x512', 150, 9753, 7525],
  ['swin-tiny-patch4-window7-in1k-pre_upernet_8xb2-160k_ade20k-512x512', 150, 6496, 4949],
] as const;

test.each(HALF)('16 bit saves on %s with %d classes what the replay saved', (model, numClasses, full, half) => {
  const peak = (precision: string): number => {
    const size = { imageHeight: 512, imageWidth: 512, batchSize: 4 };
    const input = { model, numClasses, precision, attention: 'eager', outputHeld: false, ...size };
    const { bytes } = estimate(workloadOf({ ...input, kernelTemporaries: false, fanInCopies: true }));
    return Math.max(bytes.peakForward, bytes.peakBackward) / MIB;
  };
  expect(Math.abs(peak('fp32') / full - 1)).toBeLessThanOrEqual(0.007);
  expect(Math.abs(peak('fp16') / half - 1)).toBeLessThanOrEqual(0.007);
});

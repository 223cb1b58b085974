import { describe, expect, test } from 'vitest';

import { estimate } from '../../../src/estimator/estimate.ts';
import { stagesFor } from '../../../src/estimator/networks/nnunet-plan.ts';
import { exactToTheByte } from '../byte-exact.ts';
import { scoreRows, truthRows, workloadOf } from '../truth.ts';

const rows = truthRows('own-medical');
const scored = scoreRows(rows);

describe('nnU-Net, MONAI and U²-Net', () => {
  exactToTheByte(scored, 30);

  test.each([
    ['monai AttentionUnet', 7],
    ['monai UNet', 9],
    ['original U2NET', 6],
    ['original U2NETP', 4],
    ['original nnU-Net PlainConvUNet', 9],
    ['original nnU-Net ResidualEncoderUNet', 7],
  ])('%s: %d traces', (family, count) => {
    expect(rows.filter((row) => row.family === family)).toHaveLength(count);
  });
});

/** No-gradient passes of the official code in evaluation mode (versions of own-medical.json, fake tensors, 2026-11-30). */
const VALIDATION = [
  ['nnU-Net 2d', 1, 512, 512, 3, 'fp16', 404104704],
  ['nnU-Net ResEnc L', 3, 256, 320, 14, 'fp32', 492448256],
  ['attention unet', 3, 512, 512, 2, 'fp32', 667062784],
  ['attention unet', 3, 256, 256, 2, 'fp16', 258408448],
  [
    'UNet(spatial_dims=2, channels=[16, 32, 64, 128, 256], strides=[2, 2, 2, 2], num_res_units=2)',
    1,
    512,
    384,
    4,
    'fp32',
    26180608,
  ],
  ['u2net', 3, 320, 320, 1, 'fp32', 454044160],
  ['u2netp', 3, 512, 512, 1, 'fp16', 460351488],
] as const;

test.each(VALIDATION)(
  'validation of %s on %d channels at %d×%d, %d classes, %s',
  (model, inputChannels, imageHeight, imageWidth, numClasses, precision, peak) => {
    const input = { model, inputChannels, imageHeight, imageWidth, batchSize: 2, numClasses, precision };
    const { validationPeak } = estimate(workloadOf(input)).bytes;
    expect(Math.abs(validationPeak - peak)).toBeLessThanOrEqual(4096);
  },
);

describe("nnU-Net's planner", () => {
  const strides = (height: number, width: number): string =>
    stagesFor(height, width, 32)
      .map(({ stride }) => stride.join(''))
      .join(' ');

  /** `get_pool_and_conv_props` of nnunetv2 2.8.1 with equal spacing. */
  test.each([
    [512, 512, '11 22 22 22 22 22 22 22'],
    [256, 224, '11 22 22 22 22 22'],
    [512, 128, '11 22 22 22 22 22 21'],
    [320, 512, '11 22 22 22 22 22 22'],
    [1024, 256, '11 22 22 22 22 22 22 21'],
    [24, 512, '11 22 22 12 12 12 12'],
    [8, 64, '11 22 12 12'],
    [16, 16, '11 22 22'],
  ])('%d×%d', (height, width, expected) => {
    const found = strides(height, width);
    expect(found).toBe(expected);
  });

  test('features double up to 512', () => {
    expect(stagesFor(512, 512, 32).map(({ features }) => features)).toEqual([32, 64, 128, 256, 512, 512, 512, 512]);
  });

  test.each([
    [500, 500, { multipleOf: 128 }],
    [12, 12, { minimumSide: 16 }],
  ])('refuses %d×%d', (imageHeight, imageWidth, details) => {
    const run = (): unknown =>
      estimate(workloadOf({ model: 'nnunet', imageHeight, imageWidth, batchSize: 2, numClasses: 2 }));
    expect(run).toThrow(expect.objectContaining({ code: 'unsupported-combination' }));
    expect(run).toThrow(expect.objectContaining({ details: expect.objectContaining(details) }));
  });
});

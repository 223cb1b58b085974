import { describe, expect, test } from 'vitest';

import { estimate } from '../../../src/estimator/estimate.ts';
import { trace } from '../../../src/estimator/trace.ts';
import { exactToTheByte } from '../byte-exact.ts';
import { scoreRows, truthRows, workloadOf } from '../truth.ts';

const scored = scoreRows(truthRows('own-mmseg-cnn'));

describe('convolutional networks of MMSegmentation beyond the given traces', () => {
  exactToTheByte(scored, 60);
});

test('every official convolutional config has its exact parameters and buffers', () => {
  const rows = truthRows('own-mmseg-parameters');
  expect(rows.length).toBeGreaterThan(570);
  const wrong = rows.filter(({ input, expect: want }) => {
    const { t } = trace(workloadOf(input));
    const { parameters, trainableParameters, buffers } = want;
    return t.parameterCount !== parameters || t.trainableCount !== trainableParameters || t.bufferBytes !== buffers;
  });
  expect(wrong.map(({ id }) => id)).toEqual([]);
});

/** No-gradient passes of the official code in evaluation mode (MMSegmentation 1.2.2, torch 2.13.0, fake tensors, 2026-11-30). */
const VALIDATION = [
  ['fcn_r50-d8_4xb2-40k_cityscapes-512x1024', 512, 512, 19, 'fp32', 344028160],
  ['fcn_r50-d8_4xb2-40k_cityscapes-512x1024', 512, 1024, 150, 'fp16', 932582912],
  ['deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024', 512, 1024, 19, 'fp32', 764019200],
  ['fcn_hr48_4xb2-40k_cityscapes-512x1024', 512, 1024, 19, 'fp32', 565397504],
  ['danet_r50-d8_4xb2-40k_cityscapes-512x1024', 512, 512, 19, 'fp32', 431397376],
  ['unet-s5-d16_fcn_4xb4-160k_cityscapes-512x1024', 512, 512, 19, 'fp32', 710872064],
  ['upernet_r50_4xb2-40k_cityscapes-512x1024', 512, 512, 150, 'fp32', 613977600],
  ['stdc1_4xb12-80k_cityscapes-512x1024', 512, 1024, 19, 'fp32', 124561408],
  ['pidnet-s_2xb6-120k_1024x1024-cityscapes', 512, 1024, 19, 'fp32', 121253888],
  ['bisenetv2_fcn_4xb4-160k_cityscapes-1024x1024', 512, 1024, 19, 'fp16', 156252160],
  ['knet-s3_r50-d8_upernet_8xb2-adamw-80k_ade20k-512x512', 512, 512, 150, 'fp32', 666825216],
] as const;

test.each(VALIDATION)(
  'validation of %s at %d×%d, %d classes, %s',
  (model, height, width, numClasses, precision, peak) => {
    const size = { validationHeight: height, validationWidth: width, validationBatch: 1 };
    const input = { model, imageHeight: 512, imageWidth: 512, batchSize: 2, numClasses, precision, ...size };
    const { validationPeak } = estimate(workloadOf(input)).bytes;
    expect(Math.abs(validationPeak - peak) / peak).toBeLessThan(0.001);
  },
);

describe('what the official code refuses is refused with a reason', () => {
  const refusal = (input: Record<string, unknown>): unknown => {
    try {
      estimate(workloadOf({ imageHeight: 512, imageWidth: 512, batchSize: 2, numClasses: 19, ...input }));
    } catch (error) {
      return error;
    }
    return undefined;
  };

  test('UNet-S5 needs multiples of 16', () => {
    const error = refusal({ model: 'unet-s5-d16_fcn_4xb4-160k_cityscapes-512x1024', imageHeight: 500 });
    expect(error).toMatchObject({ code: 'unsupported-combination', details: { multipleOf: 16 } });
  });

  test('LR-ASPP pools windows of 49×49 at stride 8', () => {
    const error = refusal({ model: 'mobilenet-v3-d8_lraspp_4xb4-320k_cityscapes-512x1024', imageHeight: 256 });
    expect(error).toMatchObject({ code: 'unsupported-combination', details: { minimumSide: 392 } });
  });
});

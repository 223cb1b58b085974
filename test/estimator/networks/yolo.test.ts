import { describe, expect, test } from 'vitest';

import { estimate } from '../../../src/estimator/estimate.ts';
import { exactToTheByte } from '../byte-exact.ts';
import { scoreRows, truthRows, workloadOf } from '../truth.ts';

const rows = truthRows('own-ultralytics');
const scored = scoreRows(rows);

describe('YOLOv8-seg and YOLO11-seg of ultralytics', () => {
  exactToTheByte(scored, 15);

  test('every size of both generations was traced', () => {
    const traced = new Set(rows.map((row) => row.input['model']));
    const sizes = ['n', 's', 'm', 'l', 'x'];
    expect([...traced].sort()).toEqual(sizes.flatMap((size) => [`yolo11${size}-seg`, `yolov8${size}-seg`]).sort());
  });
});

const small = workloadOf({ model: 'yolov8n-seg', imageHeight: 320, imageWidth: 320, batchSize: 4 });

/** Parameters of the constructors with 80 classes (ultralytics 8.4.190, counted 2026-11-30). */
const PARAMETERS = [
  ['yolov8n-seg', 3_409_968],
  ['yolo11n-seg', 2_876_848],
  ['yolo11s-seg', 10_113_248],
  ['yolo11m-seg', 22_420_896],
  ['yolo11l-seg', 27_678_368],
  ['yolo11x-seg', 62_142_656],
] as const;

test.each(PARAMETERS)('%s has the %d parameters that ultralytics prints', (model, parameters) => {
  expect(estimate(workloadOf({ model, numClasses: 80 })).parameters).toBe(parameters);
});

describe('what ultralytics does without being asked', () => {
  test('640² in fp16, 16 images, fused AdamW, gradients kept until a step', () => {
    expect(workloadOf({ model: 'yolo11s-seg' })).toMatchObject({
      imageHeight: 640,
      imageWidth: 640,
      batchSize: 16,
      precision: 'fp16',
      optimizer: 'adamw',
      optimizerStep: 'fused',
      residentGradients: true,
    });
    expect(workloadOf({ model: 'yolo11s-seg', optimizer: 'sgd' }).optimizerStep).toBe('foreach');
  });

  test('the moving average is a second copy of weights and statistics', () => {
    const { bytes } = estimate(small);
    expect(bytes.buffers).toBeGreaterThan(bytes.parameters);
    expect(bytes.buffers).toBeLessThan(1.1 * bytes.parameters);
  });

  test('sides are rounded up to multiples of 32, in training and in validation', () => {
    const odd = { imageHeight: 300, imageWidth: 310, validationHeight: 300, validationWidth: 310 };
    const { bytes } = estimate({ ...small, ...odd });
    expect(bytes.allocatedPeak).toBe(estimate(small).bytes.allocatedPeak);
    expect(bytes.validationPeak).toBe(estimate(small).bytes.validationPeak);
  });
});

describe('what the masks of objects cost', () => {
  test('ten masks an object are kept, until every position has one', () => {
    const saved = (instancesPerImage: number): number => estimate({ ...small, instancesPerImage }).bytes.saved;
    const mask = 80 * 80 * 10 * 4 * (4 + 4);
    expect((saved(12) - saved(8)) / (4 * mask)).toBeCloseTo(1, 1);
    const positions = (40 * 40 + 20 * 20 + 10 * 10) / 10;
    expect((saved(2 * positions) - saved(positions)) / saved(positions)).toBeLessThan(0.05);
  });

  test('object numbers above 255 take four bytes a pixel', () => {
    const target = (instancesPerImage: number): number => estimate({ ...small, instancesPerImage }).bytes.target;
    expect(target(256) - target(255)).toBeGreaterThanOrEqual(3 * 4 * 80 * 80);
  });

  test('pictures without objects are estimated too', () => {
    const { bytes } = estimate({ ...small, instancesPerImage: 0 });
    expect(bytes.saved).toBeLessThan(estimate({ ...small, instancesPerImage: 1 }).bytes.saved);
  });

  test('the range says that the fullest batch decides', () => {
    const { uncertainty } = estimate(workloadOf({ model: 'yolov8m-seg' }));
    expect(uncertainty.relative).toBe(0.15);
    expect(uncertainty.reason).toContain('most objects');
  });
});

test('a frozen backbone keeps nothing and has no gradient', () => {
  const all = estimate(small);
  const frozen = estimate({ ...small, frozenBackbone: true });
  expect(frozen.parameters).toBe(all.parameters);
  expect(frozen.trainableParameters).toBeLessThan(0.75 * all.trainableParameters);
  expect(frozen.bytes.saved).toBeLessThan(0.75 * all.bytes.saved);
});

test.each(['yolov8m-seg', 'yolo11x-seg'])('%s: the explanation sums to the peak, module by module', (model) => {
  const result = estimate({ ...small, model: workloadOf({ model }).model });
  expect(result.holders.reduce((sum, { bytes }) => sum + bytes, 0)).toBe(result.bytes.allocatedPeak);
  expect(result.holders.map(({ module }) => module)).toContainEqual(expect.stringMatching(/^model\.\d+/));
});

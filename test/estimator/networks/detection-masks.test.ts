import { describe, expect, test } from 'vitest';

import { estimate } from '../../../src/estimator/estimate.ts';
import type { Workload } from '../../../src/estimator/workload.ts';
import { scoreRows, truthRows, workloadOf } from '../truth.ts';

const scored = scoreRows(truthRows('own-mmdet-masks'));

test.each(['parameters', 'trainableParameters', 'buffers', 'base', 'saved', 'peakBackward', 'allocatedPeak'])(
  'Mask2Former of MMDetection: %s is exact to the byte',
  (figure) => {
    const rows = scored.filter((one) => one.figure === figure);
    expect(rows.length).toBeGreaterThan(2);
    expect(rows.filter(({ error }) => error > 0).map(({ row, signed }) => [row.id, signed])).toEqual([]);
  },
);

const base = workloadOf({ model: 'mask2former_r50_8xb2-160k_ade20k-512x512', numClasses: 150, batchSize: 2 });

function detector(architecture: string, backbone: string, changes: Partial<Workload> = {}): Workload {
  const implementation = changes.model?.implementation ?? 'detectron2';
  const window = /swin-[bl]/.test(backbone) ? { window: 12 } : {};
  return { ...base, ...changes, model: { implementation, architecture, backbone, options: window } };
}

/** Millions of parameters as the papers print them: Cheng et al. 2022, table 4; Cheng et al. 2021, table 1; detectron2 0.6. */
const PUBLISHED = [
  ['mask2former', 'resnet50', 44],
  ['mask2former', 'resnet101', 63],
  ['mask2former', 'swin-t', 47],
  ['mask2former', 'swin-s', 69],
  ['mask2former', 'swin-b', 107],
  ['mask2former', 'swin-l', 216],
  ['maskformer', 'resnet50', 41],
  ['maskformer', 'resnet101', 60],
  ['maskformer', 'swin-t', 42],
  ['maskformer', 'swin-s', 63],
  ['maskformer', 'swin-b', 102],
  ['maskformer', 'swin-l', 212],
] as const;

test.each(PUBLISHED)('%s on %s has the published %d million parameters', (architecture, backbone, millions) => {
  const { parameters } = estimate(detector(architecture, backbone));
  expect(Math.abs(parameters / 1e6 - millions)).toBeLessThan(0.6);
});

describe('detectors of detectron2 and MMDetection', () => {
  const coco = { numClasses: 80, imageHeight: 800, imageWidth: 1344 };

  test.each([
    ['maskrcnn', 'resnet50'],
    ['maskrcnn', 'resnext101_32x8d'],
    ['panoptic-fpn', 'resnet50'],
    ['pointrend', 'resnet50'],
    ['semantic-fpn', 'resnet101'],
  ])('%s on %s is answered, with the width of structure alone', (architecture, backbone) => {
    const result = estimate(detector(architecture, backbone, coco));
    expect(result.bytes.allocatedPeak).toBeGreaterThan(result.bytes.base + result.bytes.saved);
    expect(result.uncertainty.relative).toBeGreaterThanOrEqual(0.08);
  });

  test('frozen statistics keep less than the normalisation of MMDetection', () => {
    const model = {
      implementation: 'mmdetection',
      architecture: 'maskrcnn',
      backbone: 'resnet50',
      options: {},
    } as const;
    const frozen = estimate(detector('maskrcnn', 'resnet50', coco)).bytes.saved;
    expect(estimate(detector('maskrcnn', 'resnet50', { ...coco, model })).bytes.saved).toBeGreaterThan(1.1 * frozen);
  });

  test('a semantic head on the pyramid adds to Mask R-CNN', () => {
    const alone = estimate(detector('maskrcnn', 'resnet50', coco));
    const both = estimate(detector('panoptic-fpn', 'resnet50', coco));
    expect(both.parameters).toBeGreaterThan(alone.parameters);
    expect(both.bytes.saved).toBeGreaterThan(alone.bytes.saved);
  });
});

import { describe, expect, test } from 'vitest';
import { canCheckpoint, canFuseAttention, smallestBatch } from '../../src/advice/memory/library-limits.ts';
import type { Implementation, Workload } from '../../src/estimator/workload.ts';
import { toyWorkload } from './toy-estimator.ts';

function built(architecture: string, backbone: string | null, changed: Partial<Workload> = {}): Workload {
  return { ...toyWorkload, model: { ...toyWorkload.model, architecture, backbone }, ...changed };
}

describe('the smallest batch that trains', () => {
  const pooled = `deeplabv3 deeplabv3plus pspnet upernet pan psanet icnet apcnet dmnet bisenetv1 bisenetv2 stdc ddrnet
    pidnet fastscnn fast-scnn encnet ppliteseg pp-liteseg autodeeplab panoptic-deeplab beit data2vec`.split(/\s+/);

  test.each(pooled)('two where %s pools through BatchNorm, one where it is frozen', (architecture) => {
    expect(smallestBatch(built(architecture, 'resnet50'))).toBe(2);
    expect(smallestBatch(built(architecture, 'resnet50', { norm: 'batch' }))).toBe(2);
    expect(smallestBatch(built(architecture, 'resnet50', { norm: 'frozen' }))).toBe(1);
  });

  test.each(['unet', 'fcn', 'segformer', 'semantic-fpn', 'panoptic-fpn', 'deeplabv3plus-lite', 'panseg'])(
    'one for %s',
    (architecture) => {
      expect(smallestBatch(built(architecture, 'resnet50'))).toBe(1);
      expect(smallestBatch(built(architecture, null))).toBe(1);
      expect(smallestBatch(built(architecture, 'timm-resnest101e'))).toBe(2);
    },
  );
});

test.each<[Implementation, boolean, boolean]>([
  ['mmseg', true, false],
  ['mmdetection', true, false],
  ['transformers', true, true],
  ['milesial', true, false],
  ['smp', false, false],
  ['torchvision', false, false],
  ['ultralytics', false, false],
  ['detectron2', false, false],
])('%s: checkpointing %s, fused attention %s', (implementation, checkpoints, fuses) => {
  const workload = { ...toyWorkload, model: { ...toyWorkload.model, implementation } };
  expect([canCheckpoint(workload), canFuseAttention(workload)]).toEqual([checkpoints, fuses]);
});

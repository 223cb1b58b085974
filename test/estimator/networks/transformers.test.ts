import { describe, expect, test } from 'vitest';

import { AppError } from '../../../src/errors.ts';
import { estimate } from '../../../src/estimator/estimate.ts';
import { trace } from '../../../src/estimator/trace.ts';
import { scoreRows, truthRows, workloadOf } from '../truth.ts';

const scored = scoreRows([...truthRows('own-transformers'), ...truthRows('traces-transformers')]);

/** Networks whose loss samples points and matches masks image by image: a few rows are off by a block or two of 512 bytes. */
const SAMPLED = /Mask2Former|MaskFormer|OneFormer|Eomt|Sam/;

describe('networks of transformers, given and own traces', () => {
  test.each(['parameters', 'trainableParameters', 'buffers', 'base'])('%s is exact on every row', (figure) => {
    const wrong = scored.filter((one) => one.figure === figure && one.error > 0);
    expect(wrong.map(({ row, signed }) => [row.id, signed])).toEqual([]);
  });

  test.each(['saved', 'peakForward', 'peakBackward', 'allocatedPeak'])('%s agrees with the trace', (figure) => {
    const rows = scored.filter((one) => one.figure === figure);
    const far = rows.filter(({ row, error }) => error > (SAMPLED.test(row.family) ? 0.00003 : 0));
    expect(rows.length).toBeGreaterThan(70);
    expect(far.map(({ row, signed }) => [row.id, signed])).toEqual([]);
  });

  /** The given rows multiply gradients; those of ours ran two steps of the optimizer, with slices kept as gradients. */
  test('peakStep agrees with the steps of own traces', () => {
    const rows = scored.filter(({ row, figure }) => figure === 'peakStep' && row.id.startsWith('own|'));
    const far = rows.filter(({ row, error }) => error > (/OneFormer|Sam/.test(row.family) ? 0.000001 : 0));
    expect(rows.length).toBeGreaterThan(70);
    expect(far.map(({ row, signed }) => [row.id, signed])).toEqual([]);
  });

  test('multiply-accumulates are within 1 %', () => {
    const far = scored.filter(({ figure, error }) => figure === 'forwardMacs' && error > 0.01);
    expect(far.map(({ row, signed }) => [row.id, signed])).toEqual([]);
  });
});

const BASE = { imageHeight: 512, imageWidth: 512, batchSize: 2, numClasses: 19, precision: 'fp32' };

/** What the library raises on (5.24.0, read and tried 2026-11). */
const REFUSED: readonly (readonly [string, string, Readonly<Record<string, unknown>>])[] = [
  ['checkpointing of MobileNetV2', 'MobileNetV2ForSemanticSegmentation()', { gradientCheckpointing: true }],
  [
    'checkpointing of EoMT',
    'EomtForUniversalSegmentation("tue-mps/ade20k_semantic_eomt_base_512")',
    { gradientCheckpointing: true },
  ],
  [
    'checkpointing of Mask2Former',
    'Mask2FormerForUniversalSegmentation("facebook/mask2former-swin-tiny")',
    { gradientCheckpointing: true },
  ],
  [
    'checkpointing of MaskFormer',
    'MaskFormerForInstanceSegmentation("facebook/maskformer-swin-tiny")',
    { gradientCheckpointing: true },
  ],
  [
    'EoMT at another size',
    'EomtForUniversalSegmentation("tue-mps/ade20k_semantic_eomt_base_512")',
    { imageHeight: 640 },
  ],
  ['DPT on wide images', 'DPTForSemanticSegmentation("Intel/dpt-large-ade")', { imageWidth: 1024 }],
  ['DPT without its auxiliary head', 'DPTForSemanticSegmentation("Intel/dpt-large-ade")', { auxiliaryHead: false }],
  ['DPT-Hybrid at another size', 'DPTForSemanticSegmentation("Intel/dpt-hybrid-midas")', {}],
  ['SAM below 1024', 'SamModel("facebook/sam-vit-base")', {}],
  ['one class in BEiT', 'BeitForSemanticSegmentation("microsoft/beit-base-finetuned-ade-640-640")', { numClasses: 1 }],
];

test.each(REFUSED)('%s is refused', (_what, model, changes) => {
  const workload = workloadOf({ ...BASE, model, ...changes });
  expect(() => trace(workload)).toThrowError(AppError);
});

test.each([
  'Mask2FormerForUniversalSegmentation("facebook/mask2former-swin-tiny")',
  'MaskFormerForInstanceSegmentation("facebook/maskformer-resnet50")',
])('%s needs more memory for more objects', (model) => {
  const peaks = [2, 8, 30, 80].map(
    (instancesPerImage) => estimate(workloadOf({ ...BASE, model, instancesPerImage })).bytes.allocatedPeak,
  );
  expect(peaks).toEqual([...peaks].sort((a, b) => a - b));
  expect(new Set(peaks).size).toBe(peaks.length);
});

test('checkpointed BEiT keeps less, a frozen SAM almost nothing', () => {
  const beit = { ...BASE, model: 'BeitForSemanticSegmentation("microsoft/beit-base-finetuned-ade-640-640")' };
  const saved = (input: Readonly<Record<string, unknown>>): number => estimate(workloadOf(input)).bytes.saved;
  expect(saved({ ...beit, gradientCheckpointing: true })).toBeLessThan(saved(beit));
  const sam = {
    ...BASE,
    model: 'SamModel("facebook/sam-vit-base")',
    imageHeight: 1024,
    imageWidth: 1024,
    numClasses: 1,
  };
  expect(saved({ ...sam, frozenBackbone: true }) * 20).toBeLessThan(saved(sam));
});

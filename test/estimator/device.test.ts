import { describe, expect, test } from 'vitest';

import { contextBytes, deviceBytes, ncclBytes } from '../../src/estimator/device.ts';
import { uncertaintyOf } from '../../src/estimator/uncertainty.ts';
import { parseTorchVersion, type Workload } from '../../src/estimator/workload.ts';
import { workloadOf } from './truth.ts';

const MIB = 2 ** 20;
const GIB = 2 ** 30;
const base = workloadOf({ model: 'pspnet_r50-d8_4xb2-40k_cityscapes-512x1024' });
const of = (changes: Partial<Workload>): Workload => ({ ...base, ...changes });

describe('outside of tensors (physics.md §3.5)', () => {
  test('the CUDA context takes half a GiB since torch 2.0, 1.25 before', () => {
    expect(contextBytes(of({ torch: 2 }))).toBe(512 * MIB);
    expect(contextBytes(of({ torch: 2.13 }))).toBe(512 * MIB);
    expect(contextBytes(of({ torch: 1.13 }))).toBe(1280 * MIB);
  });

  test('NCCL takes about 550 MB for two GPUs, 700 from three on, nothing alone', () => {
    expect(ncclBytes(of({ gpus: 1 }))).toBe(0);
    expect(ncclBytes(of({ gpus: 2 })) / MIB).toBe(563);
    expect(ncclBytes(of({ gpus: 3 })) / MIB).toBe(717);
    expect(ncclBytes(of({ gpus: 8 }))).toBe(ncclBytes(of({ gpus: 4 })));
  });

  test('what nvidia-smi shows is the sum', () => {
    expect(deviceBytes(7 * GIB, of({ torch: 2.1, gpus: 1 }))).toBe(7.5 * GIB);
    expect(deviceBytes(7 * GIB, of({ torch: 2.1, gpus: 2 }))).toBe(7.5 * GIB + 563 * MIB);
  });
});

describe('uncertainty', () => {
  const width = (changes: Partial<Workload>, peak = 8 * GIB): number => uncertaintyOf(of(changes), peak).relative;
  const implemented = (implementation: Workload['model']['implementation']) => ({
    model: { ...base.model, implementation },
  });

  test.each([
    [{}, 8 * GIB, 0.03],
    [implemented('smp'), 8 * GIB, 0.04],
    [implemented('transformers'), 8 * GIB, 0.04],
    [{ precision: 'fp16' } as const, 8 * GIB, 0.06],
    [{ precision: 'bf16' } as const, 8 * GIB, 0.06],
    [{ model: { ...base.model, architecture: 'mask2former' } }, 8 * GIB, 0.06],
    [implemented('detectron2'), 8 * GIB, 0.08],
    [implemented('mmdetection'), 8 * GIB, 0.08],
    [{}, 1.25 * GIB, 0.03],
    [{}, 1.25 * GIB - 1, 0.14],
    [{ ...implemented('detectron2'), precision: 'fp16' } as const, GIB, 0.14],
  ])('%# is as wide as its thinnest evidence', (changes, peak, relative) => {
    expect(width(changes, peak)).toBe(relative);
  });

  test('the reason belongs to the width', () => {
    const reasons = new Set(
      [of({}), of({ precision: 'fp16' }), of(implemented('smp')), of(implemented('detectron2'))].map(
        (w) => uncertaintyOf(w, 8 * GIB).reason,
      ),
    );
    expect(reasons.size).toBe(4);
    expect(uncertaintyOf(of({}), GIB).reason).toContain('small maps');
  });
});

test.each([
  ['2.13.0', 2.13],
  ['1.8', 1.08],
  ['1.13.1+cu117', 1.13],
  [' 2.0 ', 2],
])('torch %s reads as %d, so that versions compare as numbers', (text, version) => {
  expect(parseTorchVersion(text)).toBeCloseTo(version, 10);
});

test.each(['', '2', 'two.one', 'v2.1', '.5'])('%j is no version of torch', (text) => {
  expect(parseTorchVersion(text)).toBeUndefined();
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toGpuSpec } from '../../catalog/gpu-names.ts';
import { neededGiB, usableGiB } from '../../src/advice/fit.ts';
import { findMaxBatch, findMaxSize } from '../../src/advice/run/limits.ts';
import { AppError } from '../../src/errors.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { catalog } from './ask.ts';
import { toyEstimate, toyWorkload } from './toy-estimator.ts';

const GIB = 2 ** 30;
const row = catalog.gpuByName('NVIDIA A10');
if (row === undefined) throw new Error('no A10');
const a10 = toGpuSpec(row);
const unet = { implementation: 'smp', architecture: 'unet', backbone: 'resnet34', options: {} } as const;
const plain: Workload = { ...toyWorkload, model: unet };

/** An estimator whose need is exactly `gib` of the workload, and how many workloads it was asked. */
function needing(gib: (workload: Workload) => number) {
  const asked = new Set<string>();
  const estimate = (workload: Workload) => {
    const key = [workload.batchSize, workload.imageHeight, workload.imageWidth].join();
    asked.add(key);
    const made = toyEstimate(workload);
    const allocatedPeak = ((gib(workload) - 0.5) / 2) * GIB;
    return { ...made, bytes: { ...made.bytes, allocatedPeak }, uncertainty: { relative: 0.97, reason: 'test' } };
  };
  return { estimate, asked };
}

const card = (gib: number) => ({ ...a10, usableMiB: gib * 1024 });

describe('the largest batch', () => {
  const curves: readonly (readonly [string, number, (batch: number) => number])[] = [
    ['a line', 4, (batch) => 1 + batch],
    ['a curve that steepens', 20, (batch) => 1 + (batch * batch) / 64],
    ['a curve that flattens', 20, (batch) => 1 + 8 * Math.sqrt(batch)],
    ['steps', 28, (batch) => 1 + 16 * Math.ceil(batch / 16)],
    ['a plateau and a cliff', 20, (batch) => (batch < 37 ? 2 : 1000 + batch)],
  ];

  test.each(curves)('on %s is the last that fits, found in %i tries', (_, tries, curve) => {
    const memory = fc.integer({ min: 3, max: 400 });
    fc.assert(
      fc.property(memory, fc.integer({ min: 1, max: 64 }), (gib, batchSize) => {
        const { estimate, asked } = needing((workload) => curve(workload.batchSize));
        const found = findMaxBatch(estimate, { ...plain, batchSize }, card(gib));
        if (found === null) expect(curve(1)).toBeGreaterThan(gib);
        else {
          expect(curve(found)).toBeLessThanOrEqual(gib);
          if (found < 4096) expect(curve(found + 1)).toBeGreaterThan(gib);
        }
        expect(asked.size).toBeLessThanOrEqual(tries);
      }),
      { numRuns: 300 },
    );
  });

  test('may need exactly the usable memory, and is at most 4096', () => {
    const { estimate } = needing(({ batchSize }) => 1 + batchSize);
    for (const batchSize of [1, 5, 8, 9, 100]) expect(findMaxBatch(estimate, { ...plain, batchSize }, card(9))).toBe(8);
    const small = needing(() => 2);
    expect(findMaxBatch(small.estimate, plain, card(9))).toBe(4096);
  });

  test('smaller than a batch that the library refuses', () => {
    const { estimate } = needing(({ batchSize }) => 1 + batchSize);
    const picky = (workload: Workload) => {
      if (workload.batchSize > 5) throw new AppError('out-of-range', 'too many');
      return estimate(workload);
    };
    expect(findMaxBatch(picky, { ...plain, batchSize: 6 }, card(40))).toBe(5);
    expect(findMaxBatch(picky, { ...plain, batchSize: 5 }, card(40))).toBe(5);
  });
});

describe('the largest size', () => {
  const STEP = 32;

  /** The shape with its shorter side at so many steps, as a person would round it. */
  function shape({ imageHeight, imageWidth }: Workload, steps: number) {
    const [shorter, longer] = [Math.min(imageHeight, imageWidth), Math.max(imageHeight, imageWidth)];
    const sides = [steps * STEP, Math.round((steps * longer) / shorter) * STEP] as const;
    return imageHeight <= imageWidth
      ? { imageHeight: sides[0], imageWidth: sides[1] }
      : { imageHeight: sides[1], imageWidth: sides[0] };
  }

  test('is the last of all sizes of the shape that fits, lying or standing', () => {
    const side = fc.integer({ min: 1, max: 40 }).map((steps) => steps * STEP);
    fc.assert(
      fc.property(side, side, fc.integer({ min: 1, max: 200 }), (imageHeight, imageWidth, gib) => {
        const asked = { ...plain, imageHeight, imageWidth };
        const { estimate } = needing((one) => (one.imageHeight * one.imageWidth) / 2 ** 16);
        const fits = (steps: number) =>
          neededGiB(estimate({ ...asked, ...shape(asked, steps) })) <= usableGiB(card(gib));
        let most = 0;
        while (most < 256 && fits(most + 1)) most += 1;
        expect(findMaxSize(estimate, asked, card(gib))).toEqual(most === 0 ? null : shape(asked, most));
      }),
      { numRuns: 150 },
    );
  });

  test('may need exactly the usable memory', () => {
    const { estimate } = needing((one) => (one.imageHeight * one.imageWidth) / 2 ** 16);
    const square = { imageHeight: 512, imageWidth: 512 };
    for (const side of [32, 256, 512, 544, 1024])
      expect(findMaxSize(estimate, { ...plain, imageHeight: side, imageWidth: side }, card(4))).toEqual(square);
  });

  test('is found in few tries', () => {
    const { estimate, asked } = needing((one) => (one.imageHeight * one.imageWidth) / 2 ** 16);
    findMaxSize(estimate, { ...plain, imageHeight: 64, imageWidth: 64 }, card(150));
    expect(asked.size).toBeLessThanOrEqual(14);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toGpuSpec } from '../../catalog/gpu-names.ts';
import { forCard, neededGiB, usableGiB } from '../../src/advice/fit.ts';
import { findMaxBatch, findMaxSize } from '../../src/advice/run/limits.ts';
import { AppError } from '../../src/errors.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { catalog } from './ask.ts';
import { toyEstimate, toyWorkload } from './toy-estimator.ts';

const cards = catalog.gpus.filter((row) => row.usableMiB !== null).map(toGpuSpec);
function card(name: string): (typeof cards)[number] {
  const found = cards.find((gpu) => gpu.name === name);
  if (found === undefined) throw new Error(`no ${name}`);
  return found;
}

const unet = { implementation: 'smp', architecture: 'unet', backbone: 'resnet34', options: {} } as const;

const need = (workload: Workload, gpu: (typeof cards)[number]) => neededGiB(toyEstimate(forCard(workload, gpu)));

const workload = fc
  .record({
    side: fc.integer({ min: 2, max: 80 }),
    wide: fc.integer({ min: 1, max: 3 }),
    batchSize: fc.integer({ min: 1, max: 300 }),
  })
  .map(({ side, wide, batchSize }) => ({
    ...toyWorkload,
    model: unet,
    imageHeight: side * 32,
    imageWidth: side * 32 * wide,
    batchSize,
  }));

describe('the largest batch', () => {
  test('fits, and one more does not, on any card', () => {
    fc.assert(
      fc.property(workload, fc.constantFrom(...cards), (asked, gpu) => {
        const found = findMaxBatch(toyEstimate, asked, gpu);
        const fits = (batchSize: number) => need({ ...asked, batchSize }, gpu) <= usableGiB(gpu);
        if (found === null) expect(fits(1)).toBe(false);
        else {
          expect(fits(found)).toBe(true);
          expect(found === 4096 || !fits(found + 1)).toBe(true);
        }
      }),
      { numRuns: 500 },
    );
  });

  test('takes few estimates', () => {
    const asked = new Set<number>();
    const counted = (workload: Workload) => {
      asked.add(workload.batchSize);
      return toyEstimate(workload);
    };
    const found = findMaxBatch(counted, { ...toyWorkload, model: unet, batchSize: 2 }, card('A100 80GB'));
    expect([...asked]).toEqual([2, (found ?? 0) + 1, found]);
  });

  test('is at least two where BatchNorm needs it, and null where two do not fit', () => {
    expect(findMaxBatch(toyEstimate, { ...toyWorkload, imageHeight: 4096, imageWidth: 4096 }, card('T4'))).toBeNull();
  });

  test('batches that the library refuses are not the answer', () => {
    const picky = (asked: Workload) => {
      if (asked.batchSize > 7) throw new AppError('out-of-range', 'too many');
      return toyEstimate(asked);
    };
    expect(
      findMaxBatch(
        picky,
        { ...toyWorkload, model: unet, batchSize: 1, imageHeight: 256, imageWidth: 256 },
        card('A10'),
      ),
    ).toBe(7);
  });
});

describe('the largest size', () => {
  test('fits, keeps the shape in steps of 32, and the next step does not fit', () => {
    fc.assert(
      fc.property(workload, fc.constantFrom(...cards), (asked, gpu) => {
        const found = findMaxSize(toyEstimate, asked, gpu);
        if (found === null) return;
        const ratio = asked.imageWidth / asked.imageHeight;
        expect(found.imageHeight % 32).toBe(0);
        expect(found.imageWidth % 32).toBe(0);
        expect(Math.abs(found.imageWidth - found.imageHeight * ratio)).toBeLessThanOrEqual(16);
        expect(need({ ...asked, ...found }, gpu)).toBeLessThanOrEqual(usableGiB(gpu));
        const larger = { imageHeight: found.imageHeight + 32, imageWidth: (found.imageHeight + 32) * ratio };
        expect(found.imageHeight >= 8192 || need({ ...asked, ...larger }, gpu) > usableGiB(gpu)).toBe(true);
      }),
      { numRuns: 300 },
    );
  });
});

describe('the largest size of a network with windows', () => {
  /** As Swin-Unet refuses: the two sides are multiples of so many pixels. */
  const windowed = (multipleOf: number) => (asked: Workload) => {
    const { imageHeight, imageWidth } = asked;
    if (imageHeight % multipleOf === 0 && imageWidth % multipleOf === 0) return toyEstimate(asked);
    throw new AppError('unsupported-combination', 'sides', { details: { rule: 'multiple-of', multipleOf } });
  };

  test.each([224, 14, 48, 64])('is searched in the steps of its sides: %i', (multipleOf) => {
    const step = Math.ceil(32 / multipleOf) * multipleOf;
    for (const gpu of cards) {
      for (const sides of [
        { imageHeight: step, imageWidth: step },
        { imageHeight: 2 * step, imageWidth: 4 * step },
      ]) {
        const asked = { ...toyWorkload, ...sides };
        const found = findMaxSize(windowed(multipleOf), asked, gpu);
        if (found === null) continue;
        expect(found.imageHeight % step).toBe(0);
        expect(found.imageWidth / found.imageHeight).toBe(asked.imageWidth / asked.imageHeight);
        expect(need({ ...asked, ...found }, gpu)).toBeLessThanOrEqual(usableGiB(gpu));
        const imageHeight = found.imageHeight + step;
        const larger = { imageHeight, imageWidth: (imageHeight * asked.imageWidth) / asked.imageHeight };
        expect(need({ ...asked, ...larger }, gpu)).toBeGreaterThan(usableGiB(gpu));
      }
    }
  });
});

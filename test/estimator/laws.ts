import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { AppError } from '../../src/errors.ts';
import { estimate } from '../../src/estimator/estimate.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { FAMILIES } from './families.ts';

/** Networks whose input size is part of the network. */
const FIXED_SIZE = /swin-unet|transunet|beit|sam|dpt|eomt/;

const family = fc.constantFrom(...FAMILIES);

/** `numRuns` random cases of each law, over every family. */
export function lawsOfMemory(numRuns: number): void {
  describe('laws of memory', () => {
    test('it never falls when the batch grows', () => {
      fc.assert(
        fc.property(family, fc.integer({ min: 2, max: 6 }), fc.integer({ min: 1, max: 6 }), (w, batch, more) => {
          const small = estimate({ ...w, batchSize: batch }).bytes;
          const large = estimate({ ...w, batchSize: batch + more }).bytes;
          expect(large.allocatedPeak).toBeGreaterThanOrEqual(small.allocatedPeak);
          expect(large.saved).toBeGreaterThanOrEqual(small.saved);
        }),
        { numRuns },
      );
    });

    test('it never falls when the classes grow', () => {
      fc.assert(
        fc.property(family, fc.integer({ min: 2, max: 100 }), fc.integer({ min: 1, max: 100 }), (w, classes, more) => {
          const few = estimate({ ...w, numClasses: classes }).bytes.allocatedPeak;
          expect(estimate({ ...w, numClasses: classes + more }).bytes.allocatedPeak).toBeGreaterThanOrEqual(few);
        }),
        { numRuns },
      );
    });

    test('it never falls when the image grows over multiples of stride and window', () => {
      const resizable = FAMILIES.filter(({ model }) => !FIXED_SIZE.test(model.architecture));
      fc.assert(
        fc.property(
          fc.constantFrom(...resizable),
          fc.integer({ min: 1, max: 2 }),
          fc.integer({ min: 1, max: 2 }),
          (w, scale, more) => {
            const side = (factor: number): Workload => ({ ...w, imageHeight: 448 * factor, imageWidth: 448 * factor });
            const small = estimate(side(scale)).bytes.allocatedPeak;
            expect(estimate(side(scale + more)).bytes.allocatedPeak).toBeGreaterThanOrEqual(small);
          },
        ),
        { numRuns: Math.ceil(numRuns / 2) },
      );
    });

    test('checkpointing never keeps more', () => {
      for (const w of FAMILIES) {
        const plain = estimate({ ...w, gradientCheckpointing: false });
        try {
          const checkpointed = estimate({ ...w, gradientCheckpointing: true });
          expect(checkpointed.bytes.saved, w.model.architecture).toBeLessThanOrEqual(plain.bytes.saved);
          expect(checkpointed.parameters).toBe(plain.parameters);
        } catch (error) {
          expect(error).toBeInstanceOf(AppError);
        }
      }
    });

    test('what holds memory at the peak sums to the peak, by kind and by module', () => {
      fc.assert(
        fc.property(family, fc.constantFrom('fp32', 'fp16', 'bf16'), fc.boolean(), (w, precision, resident) => {
          const result = estimate({
            ...w,
            precision,
            residentGradients: resident,
            kernelTemporaries: true,
            convWorkspace: true,
          });
          const sum = result.holders.reduce((total, holder) => total + holder.bytes, 0);
          expect(sum).toBe(result.bytes.allocatedPeak);
        }),
        { numRuns },
      );
    });

    test('two runs give the same bytes', () => {
      for (const w of FAMILIES) {
        expect(JSON.stringify(estimate(w).bytes)).toBe(JSON.stringify(estimate(w).bytes));
      }
    });
  });
}

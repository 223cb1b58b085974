import fc from 'fast-check';
import { expect, test } from 'vitest';

import { AppError } from '../../src/errors.ts';
import { estimate } from '../../src/estimator/estimate.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { FAMILIES } from './families.ts';

/** Every field of a workload at random, over every family. */
const anyWorkload: fc.Arbitrary<Workload> = fc
  .record({
    w: fc.constantFrom(...FAMILIES),
    imageHeight: fc.integer({ min: 32, max: 640 }),
    imageWidth: fc.integer({ min: 32, max: 640 }),
    batchSize: fc.integer({ min: 1, max: 4 }),
    numClasses: fc.integer({ min: 1, max: 40 }),
    inputChannels: fc.constantFrom(1, 3, 4),
    precision: fc.constantFrom('fp32', 'fp16', 'bf16'),
    optimizer: fc.constantFrom('sgd', 'adam', 'adamw'),
    optimizerStep: fc.constantFrom('foreach', 'fused', 'for-loop'),
    loss: fc.constantFrom('cross-entropy', 'dice', 'bce', 'cross-entropy+dice', 'dice+bce'),
    attention: fc.constantFrom('eager', 'sdpa'),
    gradientCheckpointing: fc.boolean(),
    frozenBackbone: fc.boolean(),
    outputHeld: fc.boolean(),
    gpus: fc.constantFrom(1, 2, 8),
    gradientAccumulation: fc.constantFrom(1, 4),
    torch: fc.constantFrom(1.05, 1.09, 1.13, 2.0, 2.13),
    fanInCopies: fc.boolean(),
  })
  .map(({ w, ...fields }) => ({
    ...w,
    ...fields,
    validationHeight: fields.imageHeight,
    validationWidth: fields.imageWidth,
  }));

/** `numRuns` random workloads over every family: estimated, or refused with a reason. */
export function randomWorkloads(numRuns: number): void {
  test('a random workload is estimated or refused with a reason, never an accident', () => {
    fc.assert(
      fc.property(anyWorkload, (w) => {
        try {
          const { bytes } = estimate(w);
          expect(bytes.allocatedPeak).toBeGreaterThan(bytes.base);
          expect(Number.isSafeInteger(bytes.allocatedPeak)).toBe(true);
        } catch (error) {
          if (!(error instanceof AppError)) throw error;
          expect(['unsupported-combination', 'unknown-backbone']).toContain(error.code);
        }
      }),
      { numRuns },
    );
  }, 7_200_000);
}

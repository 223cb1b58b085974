import { expect, test } from 'vitest';

import { loadCatalog } from '../../catalog/index.ts';
import { AppError } from '../../src/errors.ts';
import { estimate } from '../../src/estimator/estimate.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { cacheEstimates } from '../../src/workload/estimate-cache.ts';
import { workloadFromLine } from '../../src/workload/from-line.ts';

const { workload } = workloadFromLine({ model: 'unet', imageHeight: 64, imageWidth: 64 }, loadCatalog());
const withBatch = (batchSize: number): Workload => ({ ...workload, batchSize });

test('an estimate is made once and shared, the least recently used goes first', () => {
  const made: number[] = [];
  const cached = cacheEstimates((one) => {
    made.push(one.batchSize);
    return estimate(one);
  }, 2);
  const first = cached(withBatch(1));
  expect(cached(withBatch(1))).toBe(first);
  cached(withBatch(2));
  cached(withBatch(1));
  cached(withBatch(3));
  expect(cached(withBatch(1))).toBe(first);
  cached(withBatch(2));
  expect(made).toEqual([1, 2, 3, 2]);
});

test('what cannot be estimated is tried once and refused each time; an accident is tried again', () => {
  let tries = 0;
  const cached = cacheEstimates(({ batchSize }) => {
    tries += 1;
    throw batchSize === 1 ? new AppError('unsupported-combination', 'no such head') : new Error('accident');
  });
  for (let asked = 0; asked < 3; asked += 1) expect(() => cached(withBatch(1))).toThrow(/no such head/);
  expect(tries).toBe(1);
  for (let asked = 0; asked < 2; asked += 1) expect(() => cached(withBatch(2))).toThrow(/accident/);
  expect(tries).toBe(3);
});

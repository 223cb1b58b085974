import fc from 'fast-check';
import { expect } from 'vitest';
import { loadCatalog } from '../../catalog/index.ts';
import { createPriceBook } from '../../catalog/price-book.ts';
import { recommend } from '../../src/advice/recommend.ts';
import type { Fit } from '../../src/advice/recommendation.ts';
import { type Answer, exhaustive, type Question } from './exhaustive.ts';
import { toyEstimate, toySeconds, toyWorkload } from './toy-estimator.ts';

const catalog = loadCatalog();
const prices = createPriceBook(catalog.prices);
const usdCny = 7.1;
const ports = { catalog, prices, usdCny, estimate: toyEstimate, secondsPerIteration: toySeconds };
const world = { catalog, usdCny, estimate: toyEstimate, seconds: toySeconds };

const model = fc.constantFrom(
  { implementation: 'mmseg', architecture: 'deeplabv3plus', backbone: 'resnet50', options: {} } as const,
  { implementation: 'mmseg', architecture: 'deeplabv3plus', backbone: 'resnet101', options: {} } as const,
  { implementation: 'transformers', architecture: 'segformer', backbone: 'mit-b2', options: {} } as const,
  { implementation: 'smp', architecture: 'unet', backbone: 'resnet34', options: {} } as const,
);

const workload = fc
  .record({
    model,
    side: fc.integer({ min: 8, max: 64 }),
    batchSize: fc.integer({ min: 1, max: 48 }),
    numClasses: fc.constantFrom(2, 19, 150),
    precision: fc.constantFrom('fp32', 'fp16', 'bf16'),
    attention: fc.constantFrom('eager', 'sdpa'),
    gradientCheckpointing: fc.boolean(),
    optimizer: fc.constantFrom('sgd', 'adamw'),
    gpus: fc.constantFrom(1, 1, 1, 2, 3, 4, 8),
    multiScale: fc.constantFrom(null, [0.5, 2] as const),
  })
  .map(({ side, ...rest }) => ({ ...toyWorkload, ...rest, imageHeight: side * 32, imageWidth: side * 32 }));

const budget = fc.option(
  fc.record({
    amount: fc.double({ min: 0.5, max: 400, noNaN: true }),
    currency: fc.constantFrom('CNY', 'USD'),
    period: fc.constantFrom('hour', 'day', 'month', 'total'),
  }),
);

const scaled = { hour: 1, day: 24, month: 480, total: 40 } as const;

export const question: fc.Arbitrary<Question> = fc
  .record({
    workload,
    budget,
    region: fc.constantFrom(
      'cn-hangzhou',
      'cn-shanghai',
      'cn-shenzhen',
      'cn-beijing',
      ...prices.regions(),
      'xx-nowhere',
    ),
    chargeType: fc.constantFrom('PostPaid', 'Spot', 'PrePaid'),
    totalBatch: fc.option(fc.integer({ min: 1, max: 64 }), { freq: 3 }),
    iterations: fc.option(fc.integer({ min: 100, max: 200_000 })),
    hoursPerMonth: fc.constantFrom(100, 480, 720),
  })
  .map((one) => ({
    ...one,
    budget: one.budget === null ? null : { ...one.budget, amount: one.budget.amount * scaled[one.budget.period] },
    // A free number of GPUs never leaves less per card than BatchNorm takes.
    totalBatch: one.totalBatch === null ? null : Math.max(2, one.totalBatch),
  }));

const shown = (fit: Fit) => ({
  status: fit.status,
  gpu: fit.gpu,
  gpus: fit.gpus,
  instanceType: fit.instanceType,
  changes: fit.changes.map((change) => (change.value === undefined ? change.id : `${change.id} ${change.value}`)),
  neededGiB: fit.neededGiB,
});

const bare = ({ status, gpu, gpus, instanceType, changes, neededGiB }: Answer) => ({
  status,
  gpu,
  gpus,
  instanceType,
  changes: [...changes],
  neededGiB,
});

export function answersAlike(asked: Question): void {
  const { totalBatch, iterations, ...rest } = asked;
  const answer = recommend(
    {
      ...rest,
      freeTotalBatch: totalBatch,
      only: null,
      own: null,
      run: iterations === null ? {} : { iterations },
      assumeUsualRun: false,
      deadlineHours: null,
    },
    ports,
  );
  const expected = exhaustive(world, asked);
  expect(answer.tiers.map(shown)).toEqual(expected.tiers.map(bare));
  expect(answer.recommended === null ? null : shown(answer.recommended)).toEqual(
    expected.recommended === null ? null : bare(expected.recommended),
  );
}

import { describe, expect, test } from 'vitest';
import { hostAdvice } from '../../src/advice/host.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { ask, best, catalog } from './ask.ts';
import { toyEstimate } from './toy-estimator.ts';

const small = { batchSize: 2, imageHeight: 512, imageWidth: 512 };
const named = (name: string) => ({ gpus: [{ name }], instances: [] });

describe('cards that are not wanted', () => {
  const cards = (avoid: readonly string[]) => ask({ workload: small, avoid }).bests.map(({ gpu }) => gpu);

  test('are left out in all their memory sizes, and no other card with them', () => {
    const all = cards([]);
    expect(all).toEqual(expect.arrayContaining(['A10', 'A100 40GB', 'A100 80GB', 'V100 16GB', 'V100 32GB']));
    const without = (...names: string[]) => all.filter((gpu) => !names.includes(gpu));
    expect(cards(['A10'])).toEqual(without('A10'));
    expect(cards(['A100', 'V100'])).toEqual(without('A100 40GB', 'A100 80GB', 'V100 16GB', 'V100 32GB'));
    expect(cards(['V100 16GB'])).toEqual(without('V100 16GB'));
  });

  test('are not recommended', () => {
    expect(ask({ workload: small }).recommended?.gpu).toBe('A10');
    expect(ask({ workload: small, avoid: ['A10'] }).recommended?.gpu).not.toBe('A10');
  });
});

describe('a number of GPUs that nobody sells', () => {
  const next = (gpus: number, rest: Omit<Parameters<typeof ask>[0] & object, 'workload'> = {}) =>
    ask({ workload: { ...small, gpus }, ...rest }).nextCount;

  test.each([
    [3, 4],
    [5, 8],
    [7, 8],
  ])('%i: the choice for %i, with as many images per GPU', (asked, sold) => {
    expect(next(asked)).toMatchObject({ gpus: sold, imagesPerStep: 2 * sold, reason: 'no-budget-given' });
  });

  test('more than anybody sells, or a number that is sold: none', () => {
    expect(next(9)).toBeNull();
    expect(next(8)).toBeNull();
  });

  test('is held against the budget', () => {
    const budget = { amount: 1, currency: 'CNY', period: 'hour' } as const;
    expect(next(3, { budget })).toMatchObject({ gpus: 4, reason: 'nothing-within-budget' });
  });
});

describe('a total batch on a free number of GPUs', () => {
  const counts = (freeTotalBatch: number, workload: Partial<Workload> = {}) =>
    [...new Set(ask({ workload: { ...small, ...workload }, freeTotalBatch }).bests.map(({ gpus }) => gpus))].sort();

  test('is shared in whole numbers, of no less than the network takes', () => {
    expect(counts(8)).toEqual([1, 2, 4]);
    expect(counts(8, { norm: 'frozen' })).toEqual([1, 2, 4, 8]);
    expect(counts(12, { gradientAccumulation: 3 })).toEqual([1, 2]);
  });

  test('that cannot be shared is asked as it stands', () => {
    expect(ask({ workload: { ...small, gpus: 2 }, freeTotalBatch: 1 }).bests[0]).toMatchObject({
      gpus: 2,
      imagesPerStep: 4,
    });
  });
});

describe('what limits and tips are about', () => {
  test('the own card, else the named, else the recommended, else the next number, else the best of all', () => {
    const about = (question: Parameters<typeof ask>[0]) => ask(question).maxBatch?.gpu;
    const own = { name: '3090' };
    expect(about({ workload: small, own, only: named('T4') })).toBe('RTX 3090');
    expect(about({ workload: small, only: named('T4') })).toBe('T4');
    expect(about({ workload: small })).toBe('A10');
    expect(about({ workload: { ...small, gpus: 3 } })).toBe(ask({ workload: { ...small, gpus: 3 } }).nextCount?.gpu);
    const nowhere = { workload: small, region: 'cn-lhasa' };
    expect(about(nowhere)).toBe(ask(nowhere).bests[0]?.gpu);
  });

  test('an own card of which the memory is known', () => {
    const { maxBatch, own } = ask({ workload: small, own: { memoryGiB: 24 } });
    expect(maxBatch).toMatchObject({ gpu: '24 GB', changes: [] });
    expect(maxBatch?.batchPerGpu).toBe(ask({ workload: small, own: { name: 'A10G' } }).maxBatch?.batchPerGpu);
    expect(own?.usableGiB).toBeLessThan(24);
    const twice = ask({ workload: small, own: { name: '4090', memoryGiB: 48 } }).maxBatch?.batchPerGpu ?? 0;
    expect(twice).toBeGreaterThan(1.5 * (maxBatch?.batchPerGpu ?? Number.POSITIVE_INFINITY));
    const filtered = ask({ workload: small, only: { gpus: [{ memoryGiB: 12 }], instances: [] } }).maxBatch;
    expect(filtered?.gpu).toBe('12 GB');
  });

  test('the largest batch takes the changes, and the accumulation that was asked for', () => {
    const workload = { batchSize: 64, gradientAccumulation: 2 };
    const { maxBatch, own } = ask({ workload, own: { name: 'T4' } });
    expect(own?.changes.map(({ id }) => id)).toEqual(['amp', 'checkpointing', 'micro-batch']);
    expect(maxBatch?.changes).toEqual(own?.changes);
    const half = { precision: 'fp16', gradientCheckpointing: true, gradientAccumulation: 2 } as const;
    const changes = (batchSize: number) =>
      ask({ workload: { ...half, batchSize }, own: { name: 'T4' } }).own?.changes.length;
    expect([changes(maxBatch?.batchPerGpu ?? 0), changes((maxBatch?.batchPerGpu ?? 0) + 2)]).toEqual([0, 1]);
  });

  test('none where not even one image fits', () => {
    expect(ask({ workload: { imageHeight: 8192, imageWidth: 8192, batchSize: 4 } }).maxBatch).toBeNull();
  });
});

describe('the cost of the run', () => {
  test('is that of the recommended machine', () => {
    const { run, recommended } = ask({ workload: small, run: { iterations: 7200 } });
    const [low, high] = recommended?.secondsPerIteration ?? [0, 0];
    const price = recommended?.price?.amount ?? 0;
    const close = (value: number) => expect.closeTo(value, 9);
    expect(run).toEqual({
      iterations: 7200,
      basis: 'stated',
      hours: [close(2 * low), close(2 * high)],
      amount: [close(2 * low * price), close(2 * high * price)],
      currency: 'CNY',
    });
  });

  test('is unknown without a machine or a length', () => {
    expect(ask({ workload: small, region: 'cn-lhasa', run: { iterations: 7200 } }).run).toBeNull();
    expect(ask({ workload: small }).run).toBeNull();
  });

  test('hours that a sum buys: only of a sum for the whole run, in either currency', () => {
    const bought = (amount: number, currency: 'CNY' | 'USD', period: 'hour' | 'total') =>
      ask({ workload: small, budget: { amount, currency, period } });
    const inCny = bought(71, 'CNY', 'total');
    expect(inCny.hoursBought).toBeCloseTo(71 / (inCny.recommended?.price?.amount ?? 0), 9);
    expect(bought(10, 'USD', 'total').hoursBought).toBeCloseTo(inCny.hoursBought ?? 0, 9);
    expect(bought(71, 'CNY', 'hour').hoursBought).toBeNull();
    const budget = { amount: 71, currency: 'CNY', period: 'total' } as const;
    expect(ask({ workload: small, budget, region: 'cn-lhasa' }).hoursBought).toBeNull();
    const usual = { workload: small, budget, run: { dataset: 'cityscapes' } };
    expect(ask(usual).hoursBought).not.toBeNull();
    expect(ask({ ...usual, assumeUsualRun: true }).hoursBought).toBeNull();
  });
});

describe('the host beside the choice', () => {
  function expected(dataset: string, pictures: number) {
    const { recommended, host } = ask({ workload: small, run: { dataset } });
    const instance = catalog.instance(recommended?.instanceType ?? '');
    if (recommended === null || instance === undefined) throw new Error('nothing recommended');
    const { diskGB } = catalog.datasets.find((row) => row.id === dataset) ?? { diskGB: null };
    const bytesPerImage = diskGB === null || pictures === 0 ? null : (diskGB * 1e9) / pictures;
    const advice = hostAdvice({
      instance,
      workload: toyEstimate({ ...ask({ workload: small }).estimate.workload }).workload,
      secondsPerIteration: recommended.secondsPerIteration,
      data: { diskGB, bytesPerImage },
      disks: catalog.prices.disks,
      peerToPeer: catalog.gpuByName(instance.gpu)?.peerToPeer ?? null,
    });
    return { host, advice };
  }

  test.each([
    ['cityscapes', 2975 + 500 + 1525],
    ['pascal-voc-2012', 1464 + 1449],
    ['kitti-semantics', 200 + 200],
    ['no such data', 0],
  ])('reads %s by its %i pictures', (dataset, pictures) => {
    const { host, advice } = expected(dataset, pictures);
    expect(host).toEqual(advice);
    expect(host?.readMBps === null).toBe(pictures === 0);
  });
});

test('data of an unknown size on disk is read at no known rate', () => {
  const dataset = catalog.datasets.find(({ diskGB, trainImages }) => diskGB === null && trainImages !== null)?.id ?? '';
  expect(dataset).not.toBe('');
  expect(ask({ workload: small, run: { dataset } }).host?.readMBps).toBeNull();
});

test('the reason of the choice follows the budget', () => {
  const reason = (amount: number) =>
    ask({ workload: small, budget: { amount, currency: 'CNY', period: 'hour' } }).recommended?.reason;
  expect([reason(1), reason(1000)]).toEqual(['nothing-within-budget', 'cheapest-per-image']);
  expect(ask({ workload: small }).recommended?.reason).toBe('no-budget-given');
});

test('the question is told with the answer', () => {
  const budget = { amount: 12, currency: 'CNY', period: 'hour' } as const;
  const question = { budget, region: 'cn-shanghai', chargeType: 'Spot', deadlineHours: 5 } as const;
  const answer = ask({ workload: small, ...question });
  expect(answer).toMatchObject(question);
  expect(answer.estimate.workload).toMatchObject(small);
  expect(answer.priceBasis).toEqual({ usdCny: 7.1, origin: 'snapshot', fellBack: false });
  expect(best(answer, 'A10').gpus).toBe(1);
});

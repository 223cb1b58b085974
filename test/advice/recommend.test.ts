import { describe, expect, test } from 'vitest';
import { createPriceBook } from '../../catalog/price-book.ts';
import { ask, best, catalog, ports } from './ask.ts';
import { toyEstimate } from './toy-estimator.ts';

const small = { batchSize: 2, imageHeight: 512, imageWidth: 512 };
const GIB = 2 ** 30;

describe('feasibility', () => {
  test('need = allocated × (1 + uncertainty + 3 %) + 0.5 GiB context', () => {
    const { estimate, bests } = ask({ workload: small });
    const expected = (estimate.bytes.allocatedPeak / GIB) * 1.06 + 0.5;
    expect(bests.find((fit) => fit.gpu === 'A10')?.neededGiB).toBeCloseTo(expected, 10);
  });

  test('varying sizes add 10 % instead of 3; several GPUs add NCCL', () => {
    const varying = best(ask({ workload: { ...small, multiScale: [0.5, 2] } }), 'A10');
    expect(varying.neededGiB).toBeCloseTo(
      (ask({ workload: small }).estimate.bytes.allocatedPeak / GIB) * 1.13 + 0.5,
      10,
    );
    for (const [gpus, nccl] of [
      [2, 0.55],
      [4, 0.7],
      [8, 0.7],
    ] as const) {
      const { estimate, bests } = ask({ workload: { ...small, gpus } });
      const need = (estimate.bytes.allocatedPeak / GIB) * 1.06 + 0.5 + nccl;
      expect(bests.find((fit) => fit.gpu === 'A10')?.neededGiB).toBeCloseTo(need, 10);
    }
  });

  test('cards without TF32 take the convolution workspace in fp32 only', () => {
    const fp32 = ask({ workload: small });
    expect(best(fp32, 'T4').neededGiB).toBeGreaterThan(best(fp32, 'A10').neededGiB);
    const half = ask({ workload: { ...small, precision: 'fp16' } });
    expect(best(half, 'T4').neededGiB).toBe(best(half, 'A10').neededGiB);
  });

  test('bf16 on a card without it is judged as fp16, with a note', () => {
    const { bests } = ask({ workload: { ...small, precision: 'bf16' } });
    const notes = Object.fromEntries(bests.map((fit) => [fit.gpu, fit.notes.includes('no-bf16')]));
    expect(notes).toMatchObject({ T4: true, 'V100 16GB': true, 'V100 32GB': true, A10: false, L20: false });
  });
});

describe('changes', () => {
  test('none when it fits; AMP first; then what the library can do; then the micro-batch', () => {
    const changesOf = (workload: Parameters<typeof ask>[0] extends infer R ? R : never) =>
      best(ask(workload), 'T4').changes.map((change) => change.id);
    expect(changesOf({ workload: small })).toEqual([]);
    expect(changesOf({ workload: { batchSize: 10 } })).toEqual(['amp']);
    expect(changesOf({ workload: { batchSize: 16 } })).toEqual(['amp', 'checkpointing']);
    expect(changesOf({ workload: { batchSize: 64 } })).toEqual(['amp', 'checkpointing', 'micro-batch']);
    const model = {
      implementation: 'transformers',
      architecture: 'segformer',
      backbone: 'mit-b2',
      options: {},
    } as const;
    expect(changesOf({ workload: { batchSize: 14, model } })).toEqual(['amp', 'sdpa']);
    const smp = { implementation: 'smp', architecture: 'unet', backbone: 'resnet34', options: {} } as const;
    expect(changesOf({ workload: { batchSize: 16, model: smp } })).toEqual(['amp', 'micro-batch']);
  });

  test('the micro-batch is a divisor of the batch at most half of it, and the step keeps its images', () => {
    const fit = best(ask({ workload: { batchSize: 45, precision: 'fp16', gradientCheckpointing: true } }), 'T4');
    expect(fit.changes).toEqual([{ id: 'micro-batch', value: 15 }]);
    expect(fit.imagesPerStep).toBe(45);
  });

  test('never below 2 where BatchNorm would see one value per channel, down to 1 elsewhere', () => {
    const huge = { imageHeight: 3072, imageWidth: 3072, batchSize: 4 };
    const pooled = best(ask({ workload: huge }), 'T4');
    expect(pooled.changes.find((change) => change.id === 'micro-batch')?.value).toBe(2);
    expect(pooled.status).toBe('does-not-fit');
    const model = { implementation: 'mmseg', architecture: 'segformer', backbone: 'mit-b2', options: {} } as const;
    expect(best(ask({ workload: { ...huge, model } }), 'T4').changes.at(-1)).toEqual({ id: 'micro-batch', value: 1 });
    const frozen = best(ask({ workload: { ...huge, norm: 'frozen' } }), 'T4');
    expect(frozen.changes.at(-1)).toEqual({ id: 'micro-batch', value: 1 });
  });

  test('what does not lower the need is skipped', () => {
    const stubborn = (workload: Parameters<typeof toyEstimate>[0]) =>
      toyEstimate({ ...workload, precision: 'fp32', gradientCheckpointing: false });
    const fit = best(ask({ workload: { batchSize: 16 } }, { estimate: stubborn }), 'A10');
    expect(fit.changes.map((change) => change.id)).toEqual(['micro-batch']);
  });
});

describe('price and budget', () => {
  test('hour: the price of the row, with its day and region', () => {
    const { recommended } = ask({ workload: small, budget: { amount: 15, currency: 'CNY', period: 'hour' } });
    expect(recommended).toMatchObject({
      instanceType: 'ecs.gn7i-c16g1.4xlarge',
      gpu: 'A10',
      status: 'fits',
      budgetCost: null,
      price: {
        currency: 'CNY',
        period: 'hour',
        region: 'cn-hangzhou',
        chargeType: 'PostPaid',
        checkedOn: '2024-12-30',
        observed: false,
      },
    });
    expect(recommended?.price?.amount).toBe(ports.prices.find('ecs.gn7i-c16g1.4xlarge', 'cn-hangzhou')?.amountPerHour);
  });

  test('no period means an hour; a shown amount is within a budget of the shown amount', () => {
    const exact = ask({ workload: small, budget: { amount: 10.09, currency: 'CNY' } });
    expect(best(exact, 'A10').status).toBe('fits');
    expect(best(ask({ workload: small, budget: { amount: 9, currency: 'CNY' } }), 'A10').status).toBe('over-budget');
  });

  test('day: 24 hours of it', () => {
    const within = best(ask({ workload: small, budget: { amount: 243, currency: 'CNY', period: 'day' } }), 'A10');
    expect(within.status).toBe('fits');
    expect(within.budgetCost?.amount).toBeCloseTo(242.24, 2);
    // The larger host costs 242.24 a day, so 240 leaves the smaller one.
    const smaller = best(ask({ workload: small, budget: { amount: 240, currency: 'CNY', period: 'day' } }), 'A10');
    expect(smaller.instanceType).toBe('ecs.gn7i-c8g1.2xlarge');
  });

  test('month: subscription when the machine runs all month, hours when it does not', () => {
    const always = best(ask({ workload: small, budget: { amount: 5000, currency: 'CNY', period: 'month' } }), 'A10');
    expect(always.budgetCost).toMatchObject({ chargeType: 'PrePaid' });
    expect(always.budgetCost?.amount).toBeCloseTo(480 * (always.price?.amount ?? 0), 6);
    expect(always.notes).toContain('subscription-unverified');
    const budget = { amount: 5000, currency: 'CNY', period: 'month' } as const;
    const some = best(ask({ workload: small, hoursPerMonth: 100, budget }), 'A10');
    expect(some.budgetCost).toMatchObject({ chargeType: 'PostPaid' });
    expect(some.budgetCost?.amount).toBeCloseTo(100 * (some.price?.amount ?? 0), 6);
    expect(some.notes).not.toContain('subscription-unverified');
    const verified = ask({ workload: small, budget: { amount: 4600, currency: 'CNY', period: 'month' } });
    expect(best(verified, 'A10')).toMatchObject({ instanceType: 'ecs.gn7i-c8g1.2xlarge', status: 'fits' });
    expect(best(verified, 'A10').notes).not.toContain('subscription-unverified');
  });

  test('total: price × hours when the length is known, otherwise how many hours it buys', () => {
    const budget = { amount: 100, currency: 'CNY', period: 'total' } as const;
    const known = ask({ workload: small, budget, run: { iterations: 40_000 } });
    const fit = best(known, 'A10');
    expect(fit.budgetCost?.amount).toBeCloseTo((fit.runHours ?? 0) * (fit.price?.amount ?? 0), 6);
    expect(known.hoursBought).toBeNull();
    const open = ask({ workload: small, budget });
    expect(open.bests.every((one) => one.status !== 'over-budget')).toBe(true);
    expect(open.hoursBought).toBeCloseTo(100 / (open.recommended?.price?.amount ?? 0), 6);
  });

  test('USD converts at the planning rate, in both directions', () => {
    expect(
      best(ask({ workload: small, budget: { amount: 1.43, currency: 'USD', period: 'hour' } }), 'A10').status,
    ).toBe('fits');
    const abroad = ask({ workload: { ...small, gpus: 2 }, region: 'ap-southeast-1' });
    expect(best(abroad, 'L20').price).toMatchObject({ currency: 'USD', amount: 5.88, observed: true });
    const budget = { amount: 41, currency: 'CNY', period: 'hour' } as const;
    expect(best(ask({ workload: { ...small, gpus: 2 }, region: 'ap-southeast-1', budget }), 'L20').status).toBe(
      'over-budget',
    );
  });

  test('spot: the stated market price, else pay-as-you-go with a note', () => {
    const here = best(ask({ workload: small, chargeType: 'Spot' }), 'A10');
    expect(here.price?.chargeType).toBe('PostPaid');
    expect(here.notes).toContain('spot-price-unknown');
    const seen = best(ask({ workload: { ...small, gpus: 4 }, chargeType: 'Spot', region: 'us-east-1' }), 'L20');
    expect(seen.price).toMatchObject({ amount: 1.98, chargeType: 'Spot', currency: 'USD' });
    expect(seen.notes).not.toContain('spot-price-unknown');
  });

  test('a live price replaces the row', () => {
    const row = {
      instanceType: 'ecs.gn7i-c16g1.4xlarge',
      region: 'cn-hangzhou',
      currency: 'CNY',
      amountPerHour: 5,
      spotPerHour: 1,
      source: 'x',
      checkedOn: '2026-11-30',
    } as const;
    const prices = createPriceBook(catalog.prices, { origin: 'api', live: [row] });
    const answer = ask({ workload: small, chargeType: 'Spot' }, { prices });
    expect(best(answer, 'A10').price).toMatchObject({ amount: 1, chargeType: 'Spot', checkedOn: '2026-11-30' });
    expect(answer.priceBasis).toEqual({ usdCny: 7.1, origin: 'api', fellBack: false });
  });
});

describe('the host rule', () => {
  test('a type that keeps it is taken when it costs at most 15 % more', () => {
    const { bests } = ask({ workload: small });
    const a10 = bests.find((fit) => fit.gpu === 'A10');
    expect(a10).toMatchObject({ instanceType: 'ecs.gn7i-c16g1.4xlarge', notes: [], vcpu: 16, hostMemoryGiB: 60 });
    const t4 = bests.find((fit) => fit.gpu === 'T4');
    expect(t4).toMatchObject({
      instanceType: 'ecs.gn6i-c4g1.xlarge',
      notes: ['host-memory-below-rule', 'host-cpu-below-rule'],
    });
  });
});

describe('what cannot be had still gets an answer', () => {
  test('a budget below every price: the nearest, with what it costs', () => {
    const { recommended, tiers } = ask({ workload: small, budget: { amount: 1, currency: 'CNY', period: 'hour' } });
    expect(recommended).toMatchObject({ reason: 'nothing-within-budget', status: 'over-budget', gpu: 'A10' });
    expect(tiers.find((fit) => fit.tier === 'A')?.status).toBe('over-budget');
  });

  test('a region without GPUs: which regions sell it', () => {
    const { tiers, recommended } = ask({ workload: small, region: 'cn-lhasa' });
    expect(recommended).toBeNull();
    expect(tiers.find((fit) => fit.tier === 'A')).toMatchObject({ status: 'not-in-region' });
    expect(tiers.find((fit) => fit.tier === 'A')?.soldIn).toContain('cn-hangzhou');
  });

  test('a GPU without a price: price on request, never recommended', () => {
    const { bests, recommended } = ask({
      workload: { ...small, batchSize: 120, gradientCheckpointing: true, precision: 'fp16', imageWidth: 1024 },
      budget: { amount: 1, currency: 'CNY', period: 'hour' },
    });
    const h20 = bests.find((fit) => fit.gpu === 'H20 96GB');
    expect(h20).toMatchObject({ status: 'price-on-request', price: null, instanceType: 'ecs.gn8v.4xlarge' });
    expect(recommended?.price).not.toBeNull();
  });

  test('three GPUs: nobody sells that, and which numbers are sold', () => {
    const { tiers, recommended, nextCount } = ask({ workload: { ...small, gpus: 3 } });
    expect(tiers.every((fit) => fit.status === 'no-candidate' && fit.instanceType === null)).toBe(true);
    expect(tiers.find((fit) => fit.gpu === 'V100 16GB')?.soldCounts ?? [1, 2, 4, 8]).toEqual([1, 2, 4, 8]);
    expect(recommended).toBeNull();
    expect(nextCount).toMatchObject({ gpus: 4, status: 'fits', gpu: 'A10' });
    expect(ask({ workload: small }).nextCount).toBeNull();
  });

  test('nothing holds it: by how much', () => {
    const { bests, recommended } = ask({ workload: { imageHeight: 8192, imageWidth: 8192, batchSize: 4 } });
    expect(recommended).toBeNull();
    expect(bests.every((fit) => fit.status === 'does-not-fit' && fit.neededGiB > fit.usableGiB)).toBe(true);
    expect(bests.every((fit) => fit.secondsPerIteration === null)).toBe(true);
  });

  test('a deadline that nothing meets: the fastest, saying so', () => {
    const { recommended, bests } = ask({ workload: small, run: { iterations: 10_000_000 }, deadlineHours: 1 });
    expect(recommended?.reason).toBe('nothing-within-deadline');
    expect(recommended?.notes).toContain('misses-deadline');
    const hours = bests.flatMap((fit) => (fit.price === null ? [] : [fit.runHours ?? Infinity]));
    expect(recommended?.runHours).toBe(Math.min(...hours));
  });

  test('a deadline that some meet is a constraint like a budget', () => {
    const run = { iterations: 80_000 };
    const free = ask({ workload: small, run });
    const hours = free.bests.flatMap((fit) => fit.runHours ?? []).sort((left, right) => left - right);
    const deadlineHours = ((hours[0] ?? 0) + (hours[1] ?? 0)) / 2;
    const { bests } = ask({ workload: small, run, deadlineHours });
    const meeting = bests.filter((fit) => (fit.runHours ?? Infinity) <= deadlineHours);
    expect(meeting.length).toBeGreaterThan(0);
    for (const fit of bests)
      if (!meeting.includes(fit))
        expect(fit.notes.includes('misses-deadline') || fit.runHours === undefined).toBe(true);
  });
});

describe('number of GPUs', () => {
  test('free with a total batch: every number that divides it, in images of one step', () => {
    const { bests } = ask({ workload: small, freeTotalBatch: 16 });
    const a10 = bests
      .filter((fit) => fit.gpu === 'A10')
      .map((fit) => fit.gpus)
      .sort();
    expect(a10).toEqual([1, 2, 4, 8]);
    expect(bests.every((fit) => fit.imagesPerStep === 16)).toBe(true);
  });

  test('a total batch that only one GPU can take', () => {
    const { bests } = ask({ workload: small, freeTotalBatch: 7 });
    expect(new Set(bests.map((fit) => fit.gpus))).toEqual(new Set([1]));
  });

  test('A10s have no peer-to-peer, V100s need old wheels', () => {
    const { bests } = ask({ workload: { ...small, gpus: 2 } });
    expect(bests.find((fit) => fit.gpu === 'A10')?.notes).toContain('no-p2p');
    expect(bests.find((fit) => fit.gpu === 'V100 32GB')?.notes).toEqual(['old-gpu-wheels']);
  });
});

describe('named and own cards', () => {
  test('cards named in their own numbers share the total each in its own way', () => {
    const gpus = [
      { name: 'A10', count: 2 },
      { name: 'T4', count: 1 },
    ];
    const { named } = ask({ workload: small, freeTotalBatch: 6, only: { gpus, instances: [] } });
    expect(named.map((fit) => [fit.gpu, fit.gpus, fit.imagesPerStep])).toEqual([
      ['A10', 2, 6],
      ['T4', 1, 6],
    ]);
  });

  test('a named card is judged alone, the recommended choice stays', () => {
    const { tiers, named, recommended } = ask({
      workload: small,
      only: { gpus: [{ name: 'A100', memoryGiB: 80 }], instances: [] },
    });
    expect(named.map((fit) => fit.gpu)).toEqual(['A100 80GB']);
    expect(tiers).toEqual(named);
    expect(recommended?.gpu).toBe('A10');
  });

  test('a name of several cards judges each', () => {
    const { named } = ask({ workload: small, only: { gpus: [{ name: 'V100' }], instances: [] } });
    expect(named.map((fit) => fit.gpu)).toEqual(['V100 16GB', 'V100 32GB']);
  });

  test('a card that nobody rents out is judged for memory and time', () => {
    const { named } = ask({ workload: small, only: { gpus: [{ name: 'RTX 3090' }], instances: [] } });
    expect(named[0]).toMatchObject({ gpu: 'RTX 3090', status: 'fits', instanceType: null, price: null, tier: null });
    expect(named[0]?.secondsPerIteration).not.toBeNull();
  });

  test('families and types, bare metal too when it is named, slices never', () => {
    const ofFamily = ask({ workload: small, only: { gpus: [], instances: ['gn6v'] } }).named;
    expect(ofFamily.map((fit) => fit.instanceType)).toEqual(['ecs.gn6v-c8g1.2xlarge']);
    const ofType = ask({ workload: small, only: { gpus: [], instances: ['ecs.gn7i-c32g1.32xlarge'] } }).named;
    expect(ofType[0]).toMatchObject({ instanceType: 'ecs.gn7i-c32g1.32xlarge', gpus: 4 });
    const metal = ask({ workload: small, only: { gpus: [], instances: ['ebmgn7e'] } }).named;
    expect(metal[0]).toMatchObject({ gpu: 'A100 80GB', gpus: 8 });
    expect(ask({ workload: small, only: { gpus: [], instances: ['vgn7i-vws', 'gn8i'] } }).named).toEqual([]);
  });

  test('an own card by name, by memory, re-chipped, unknown', () => {
    const own = (card: Parameters<typeof ask>[0] extends infer R ? (R extends { own?: infer O } ? O : never) : never) =>
      ask({ workload: small, own: card }).own;
    expect(own({ name: '2080ti', count: 2 })).toMatchObject({ gpu: 'RTX 2080 Ti', gpus: 2, status: 'fits' });
    expect(own({ memoryGiB: 24 })).toMatchObject({ gpu: '24 GB', secondsPerIteration: null, price: null });
    expect(own({ memoryGiB: 24 })?.usableGiB).toBeLessThan(23);
    expect(own({ memoryGiB: 10.76 })?.usableGiB).toBeCloseTo(10.76, 2);
    expect(own({ name: '4090', memoryGiB: 48 })?.usableGiB).toBeGreaterThan(40);
    expect(own({ name: 'V100' })?.gpu).toBe('V100 16GB');
    expect(own({ name: 'nothing known' })).toBeNull();
    expect(own(null)).toBeNull();
  });
});

describe('cost and host of the choice', () => {
  test('every amount can be computed from the row it cites', () => {
    const { recommended, run } = ask({ workload: small, run: { epochs: 10, dataset: 'cityscapes' } });
    const [low, high] = recommended?.secondsPerIteration ?? [0, 0];
    const price = recommended?.price?.amount ?? 0;
    expect(recommended?.costPerThousandIterations).toBeCloseTo((price * Math.sqrt(low * high) * 1000) / 3600, 9);
    expect(run).toMatchObject({ iterations: Math.ceil((10 * 2975) / 2), basis: 'epochs', currency: 'CNY' });
    expect(run?.hours[0]).toBeCloseTo(((run?.iterations ?? 0) * low) / 3600, 9);
    expect(run?.amount[1]).toBeCloseTo((run?.hours[1] ?? 0) * price, 9);
  });

  test('the usual run on a data set is shown, but judges only when asked to', () => {
    const budget = { amount: 1, currency: 'CNY', period: 'total' } as const;
    const shown = ask({ workload: small, budget, run: { dataset: 'cityscapes' } });
    expect(shown.run).toMatchObject({ basis: 'usual', iterations: (80_000 * 8) / 2 });
    expect(shown.recommended?.status).toBe('fits');
    const judged = ask({ workload: small, budget, run: { dataset: 'cityscapes' }, assumeUsualRun: true });
    expect(judged.recommended?.status).toBe('over-budget');
  });

  test('host: workers, memory, disk and storage', () => {
    const { host } = ask({ workload: small, run: { dataset: 'cityscapes' } });
    expect(host).toMatchObject({
      vcpuPerGpu: 16,
      workersPerProcess: 15,
      hostMemoryGiB: 60,
      ruleMemoryGiB: 36,
      sharedStorage: false,
    });
    expect(host?.disk).toMatchObject({ level: 'PL1', cnyPerMonth: 120, checkedOn: '2021-07-19' });
    expect(host?.neededMemoryGiB).toBeGreaterThan(2.5);
    const large = ask({ workload: small, run: { dataset: 'cityscapes' }, region: 'cn-lhasa' });
    expect(large.host).toBeNull();
  });

  test('the largest batch of the chosen card fits, one more does not', () => {
    const { maxBatch } = ask({ workload: small });
    const fits = (batchSize: number) => best(ask({ workload: { ...small, batchSize } }), 'A10').changes.length === 0;
    expect(maxBatch?.gpu).toBe('A10');
    expect(fits(maxBatch?.batchPerGpu ?? 0)).toBe(true);
    expect(fits((maxBatch?.batchPerGpu ?? 0) + 1)).toBe(false);
  });
});

test('a workload that cannot be trained at all is an error, not an answer', () => {
  const model = { implementation: 'smp', architecture: 'forbidden', backbone: null, options: {} } as const;
  expect(() => ask({ workload: { model } })).toThrow(expect.objectContaining({ code: 'unsupported-combination' }));
});

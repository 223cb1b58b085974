import { describe, expect, test } from 'vitest';
import { createPriceBook } from '../../catalog/price-book.ts';
import type { OwnGpu } from '../../src/advice/request.ts';
import { ask, best, catalog, ports } from './ask.ts';

const small = { batchSize: 2, imageHeight: 512, imageWidth: 512 };
const twoL20 = { ...small, gpus: 2 };

describe('what one entry tells', () => {
  test('sold here: nothing about other regions or numbers of GPUs', () => {
    const fit = best(ask({ workload: small }), 'A10');
    for (const absent of ['soldIn', 'pricesElsewhere', 'soldCounts', 'zonesWithStock', 'runHours', 'asIsGiB'])
      expect(fit).not.toHaveProperty(absent);
  });

  test('sold elsewhere: its price in each region, for the asked way of paying', () => {
    const at = (chargeType: 'PostPaid' | 'Spot') =>
      best(ask({ workload: { ...small, gpus: 4 }, region: 'cn-lhasa', chargeType }), 'L20');
    for (const chargeType of ['Spot', 'PostPaid', 'Spot'] as const) {
      const { status, soldIn = [], pricesElsewhere = [], instanceType } = at(chargeType);
      expect(status).toBe('not-in-region');
      expect(pricesElsewhere.map(({ region }) => region)).toEqual(soldIn);
      for (const price of pricesElsewhere) {
        const quote = ports.prices.find(instanceType ?? '', price.region);
        const spot = chargeType === 'Spot' ? quote?.spotPerHour : undefined;
        expect(price.amount).toBe(spot ?? quote?.amountPerHour);
      }
    }
    expect(at('PostPaid').pricesElsewhere?.map(({ chargeType }) => chargeType)).not.toContain('Spot');
    expect(at('Spot').pricesElsewhere?.map(({ chargeType }) => chargeType)).toContain('Spot');
    const other = best(ask({ workload: small, region: 'cn-lhasa' }), 'T4');
    expect(other.pricesElsewhere?.map(({ region }) => region)).toEqual(other.soldIn);
  });

  test('with changes: what it needed before them', () => {
    const workload = { batchSize: 10 };
    const [changed, asIs] = ['T4', 'A100 80GB'].map((gpu) => best(ask({ workload }), gpu));
    expect(changed?.changes).toEqual([{ id: 'amp' }]);
    expect(changed?.asIsGiB).toBeGreaterThan(changed?.usableGiB ?? Number.POSITIVE_INFINITY);
    // fp32 takes the convolution workspace on a T4.
    expect(changed?.asIsGiB).toBeGreaterThan(asIs?.neededGiB ?? Number.POSITIVE_INFINITY);
    expect(asIs).not.toHaveProperty('asIsGiB');
  });

  test('the numbers of GPUs that are sold, each once, the smallest first', () => {
    const proposable = (name: string, count?: number) => catalog.proposable(name, count).toReversed();
    const { bests } = ask({ workload: { ...small, gpus: 3 } }, { catalog: { ...catalog, proposable } });
    expect(bests.find(({ gpu }) => gpu === 'V100 16GB')?.soldCounts).toEqual([1, 2, 4, 8]);
    expect(bests.find(({ gpu }) => gpu === 'A10')?.soldCounts).toEqual([1, 2, 4, 8]);
  });

  test('zones with stock where a live source was asked', () => {
    const type = best(ask({ workload: small }), 'A10').instanceType ?? '';
    const stock = new Map([['cn-hangzhou', new Map([[type, ['cn-hangzhou-h']]])]]);
    const prices = createPriceBook(catalog.prices, { origin: 'api', stock });
    const answer = ask({ workload: small }, { prices });
    expect(best(answer, 'A10').zonesWithStock).toEqual(['cn-hangzhou-h']);
    expect(best(answer, 'T4').zonesWithStock).toEqual([]);
  });
});

describe('notes of prices', () => {
  test('a quotation is said to be one, a row is not', () => {
    expect(best(ask({ workload: twoL20, region: 'ap-southeast-1' }), 'L20').notes).toContain('observed-price');
    expect(best(ask({ workload: small }), 'A10').notes).not.toContain('observed-price');
  });

  test('a subscription that is asked for, where nobody saw what it costs', () => {
    const notesOf = (chargeType: 'PrePaid' | 'PostPaid') => best(ask({ workload: small, chargeType }), 'A10').notes;
    expect(notesOf('PrePaid')).toContain('subscription-unverified');
    expect(notesOf('PostPaid')).not.toContain('subscription-unverified');
  });

  test('a spot price counts only for who asks for spot', () => {
    const priceOf = (chargeType: 'Spot' | 'PostPaid' | 'PrePaid') =>
      best(ask({ workload: { ...small, gpus: 4 }, chargeType, region: 'us-east-1' }), 'L20').price;
    const [spot, postPaid, prePaid] = [priceOf('Spot'), priceOf('PostPaid'), priceOf('PrePaid')];
    expect(postPaid).toMatchObject({ chargeType: 'PostPaid' });
    expect(postPaid?.amount).toBeGreaterThan(spot?.amount ?? Number.POSITIVE_INFINITY);
    expect(prePaid).toEqual(postPaid);
  });
});

describe('a deadline', () => {
  const run = { iterations: 80_000 };
  const hours = best(ask({ workload: small, run }), 'A10').runHours ?? 0;
  const within = (deadlineHours: number) => best(ask({ workload: small, run, deadlineHours }), 'A10');

  test('is met up to its last hour', () => {
    expect(hours).toBeGreaterThan(0);
    expect(within(hours)).toMatchObject({ status: 'fits', runHours: hours });
    expect(within(hours).notes).not.toContain('misses-deadline');
  });

  test('that no machine of the card meets is said', () => {
    const late = within(hours / 1000);
    expect(late.status).toBe('over-budget');
    expect(late.notes).toContain('misses-deadline');
  });

  test('says nothing where the length of the run is unknown', () => {
    expect(best(ask({ workload: small, deadlineHours: 1e-6 }), 'A10').status).toBe('fits');
  });
});

describe('cards that are not rented', () => {
  const own = (card: OwnGpu, changed: Parameters<typeof ask>[0] = {}) =>
    ask({ workload: small, own: card, ...changed }).own;

  test('take changes, or do not fit', () => {
    expect(own({ name: 'T4' }, { workload: { batchSize: 10 } })).toMatchObject({
      status: 'fits-with-changes',
      changes: [{ id: 'amp' }],
    });
    const huge = { imageHeight: 8192, imageWidth: 8192, batchSize: 4 };
    expect(own({ name: 'T4' }, { workload: huge })).toMatchObject({
      status: 'does-not-fit',
      secondsPerIteration: null,
    });
  });

  test('the hours of a run that is known', () => {
    const fit = own({ name: '3090' }, { run: { iterations: 3600 } });
    const [low, high] = fit?.secondsPerIteration ?? [0, 0];
    expect(fit?.runHours).toBeCloseTo(Math.sqrt(low * high), 9);
    expect(own({ name: '3090' })).not.toHaveProperty('runHours');
    expect(own({ memoryGiB: 24 }, { run: { iterations: 3600 } })).not.toHaveProperty('runHours');
  });

  test('a card of which only the memory is known has no notes', () => {
    expect(own({ memoryGiB: 24 }, { workload: { ...small, precision: 'bf16', gpus: 2 } })?.notes).toEqual([]);
  });
});

describe('named machines', () => {
  const named = (gpus: readonly OwnGpu[], instances: readonly string[] = [], count = 1) =>
    ask({ workload: { ...small, gpus: count }, only: { gpus, instances } }).named;
  const types = (instance: string, count?: number) =>
    named([], [instance], count).map((fit) => [fit.instanceType, fit.gpus]);

  test('a card that is sold comes with its machine and price', () => {
    const [fit] = named([{ name: 'A10' }]);
    expect(fit).toEqual(best(ask({ workload: small }), 'A10'));
    expect(fit?.price).not.toBeNull();
  });

  test('a card that no table knows is judged by its memory, if that is said', () => {
    expect(named([{ name: 'nothing known' }])).toEqual([]);
    expect(named([{ name: 'nothing known', memoryGiB: 24 }])).toMatchObject([
      { gpu: 'nothing known', instanceType: null },
    ]);
    expect(named([{ memoryGiB: 24 }])).toMatchObject([{ gpu: '24 GB', status: 'fits', price: null }]);
    expect(named([])).toEqual([]);
  });

  test.each(['ecs.gn7i-c32g1.16xlarge', 'gn7i-c32g1.16xlarge', 'ECS.GN7I-c32g1.16xlarge'])('%s', (name) => {
    expect(types(name)).toEqual([['ecs.gn7i-c32g1.16xlarge', 2]]);
  });

  test('a family with the asked number of GPUs, else with the fewest it has', () => {
    expect(types('gn6v', 4)).toEqual([['ecs.gn6v-c8g1.8xlarge', 4]]);
    expect(types('gn6v', 3)).toEqual([['ecs.gn6v-c8g1.2xlarge', 1]]);
    expect(types('GN6V', 2)).toEqual([['ecs.gn6v-c8g1.4xlarge', 2]]);
    expect(types('ebmgn7i', 1)).toMatchObject([[expect.stringContaining('ebmgn7i'), 4]]);
  });
});

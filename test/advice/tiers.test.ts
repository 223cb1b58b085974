import { describe, expect, test } from 'vitest';
import type { Fit } from '../../src/advice/recommendation.ts';
import { compareFits, recommendedOf, sortFits } from '../../src/advice/tiers.ts';
import { ask, best } from './ask.ts';

const small = { batchSize: 2, imageHeight: 512, imageWidth: 512 };
const plain = best(ask({ workload: small }), 'A10');
const entry = (changed: Partial<Fit>): Fit => ({ ...plain, ...changed });
const costing = (amount: number, changed: Partial<Fit> = {}): Fit =>
  entry({ price: plain.price === null ? null : { ...plain.price, amount }, ...changed });
const over = { status: 'over-budget' } as const;
const late = { ...over, notes: ['misses-deadline'] } as const;

describe('the order of entries', () => {
  test.each<[string, Fit, Fit]>([
    ['fitting as it is', entry({}), entry({ status: 'fits-with-changes', changes: [{ id: 'amp' }] })],
    [
      'fewer changes, though dearer',
      costing(20, { status: 'fits-with-changes', changes: [{ id: 'amp' }] }),
      costing(10, { status: 'fits-with-changes', changes: [{ id: 'amp' }, { id: 'sdpa' }] }),
    ],
    ['cheaper per image', costing(10), costing(11)],
    ['quicker at one price', entry({ secondsPerIteration: [1, 1] }), entry({ secondsPerIteration: [1, 2] })],
    ['more images a step', entry({ imagesPerStep: 9 }), entry({ imagesPerStep: 8 })],
    [
      'cheaper by the hour, where no time is known',
      costing(10, { secondsPerIteration: null }),
      costing(11, { secondsPerIteration: null }),
    ],
    ['more memory left', entry({ neededGiB: 3 }), entry({ neededGiB: 4 })],
    ['the name of the type', entry({ instanceType: 'ecs.a' }), entry({ instanceType: 'ecs.b' })],
    ['the name of the card', entry({ instanceType: null, gpu: 'A10' }), entry({ instanceType: null, gpu: 'T4' })],
  ])('%s', (_, first, second) => {
    expect(compareFits(first, second, 7)).toBeLessThan(0);
    expect(compareFits(second, first, 7)).toBeGreaterThan(0);
    expect(sortFits([second, first], 7)).toEqual([first, second]);
  });

  test('of unpriced entries the one with more memory left', () => {
    const [roomy, tight] = [3, 4].map((neededGiB) =>
      entry({ status: 'price-on-request', price: null, secondsPerIteration: null, neededGiB }),
    );
    if (roomy === undefined || tight === undefined) throw new Error('no entries');
    expect(sortFits([tight, roomy], 7)).toEqual([roomy, tight]);
  });
});

describe('the recommended entry', () => {
  const recommended = (fits: readonly Fit[], hasBudget = true) => recommendedOf(fits, { usdCny: 7, hasBudget });

  test.each<[string, readonly Fit[], boolean]>([
    ['no-budget-given', [costing(10), costing(11)], false],
    ['no-budget-given', [costing(10)], false],
    ['only-one-within-budget', [costing(10), costing(11, over)], true],
    ['cheapest-per-image', [costing(10), costing(11), costing(12, over)], true],
  ])('%s', (reason, fits, hasBudget) => {
    expect(recommended(fits, hasBudget)).toEqual({ ...fits[0], reason });
  });

  test('over budget: the fewest changes, then the lowest price, in time before late', () => {
    const changed = costing(20, { ...over, changes: [{ id: 'amp' }] });
    const asIs = costing(30, over);
    const found = recommended([costing(5, late), changed, costing(31, over), asIs]);
    expect(found).toEqual({ ...asIs, reason: 'nothing-within-budget' });
  });

  test('late: the quickest', () => {
    const quick = costing(9, { ...late, runHours: 5 });
    const slow = costing(8, { ...late, runHours: 6 });
    expect(recommended([slow, quick, costing(7, late)])).toEqual({ ...quick, reason: 'nothing-within-deadline' });
  });

  test('nothing that has no price, whatever else is known of it', () => {
    expect(recommended([entry({ status: 'price-on-request', price: null })])).toBeNull();
    expect(recommended([entry({ ...late, price: null })])).toBeNull();
    expect(recommended([entry({ price: null }), costing(10)])).toMatchObject({ price: { amount: 10 } });
    expect(recommended([entry({ status: 'does-not-fit' })])).toBeNull();
  });
});

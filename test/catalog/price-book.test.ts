import { describe, expect, test } from 'vitest';
import { loadCatalog } from '../../catalog/index.ts';
import { createPriceBook } from '../../catalog/price-book.ts';

const { prices } = loadCatalog();
const book = createPriceBook(prices);

describe('prices of the snapshot', () => {
  test.each([
    ['ecs.gn6i-c4g1.xlarge', 'cn-hangzhou', 11.63],
    ['ecs.gn7i-c8g1.2xlarge', 'cn-hangzhou', 9.53],
    ['ecs.gn6v-c8g1.2xlarge', 'cn-zhangjiakou', 19.84],
    ['ecs.gn6e-c12g1.3xlarge', 'cn-hangzhou', 19.74],
    ['ecs.gn7-c12g1.3xlarge', 'cn-shanghai', 31.58],
    ['ecs.gn7e-c16g1.4xlarge', 'cn-hongkong', 40.9],
    ['ecs.gn7e-c16g1.32xlarge', 'cn-beijing', 277.93],
    ['ecs.gn6i-c4g1.xlarge', 'us-west-1', 8.03],
  ])('%s in %s costs %f', (type, region, amount) => {
    const quote = book.find(type, region);
    expect(quote?.amountPerHour).toBeCloseTo(amount, 2);
    expect(quote).toMatchObject({ currency: 'CNY', observed: false, checkedOn: '2024-12-30' });
  });

  test('a dated row beats a quotation; a quotation counts only where it says so', () => {
    expect(book.find('ecs.gn7i-c8g1.2xlarge', 'cn-shanghai')?.observed).toBe(false);
    expect(book.find('ecs.gn8is.2xlarge', 'cn-shanghai')).toMatchObject({ observed: true, amountPerHour: 14.42 });
    expect(book.find('ecs.gn8is.2xlarge', 'cn-hangzhou')).toBeUndefined();
    expect(book.find('ecs.gn8is-4x.16xlarge', 'us-east-1')).toMatchObject({ currency: 'USD', spotPerHour: 1.98 });
  });

  test('an undated quotation counts nowhere', () => {
    expect(book.regionsOf('ecs.gn8v-2x.8xlarge')).toEqual([]);
    expect(book.regionsOf('ecs.gn8is.4xlarge')).toEqual([]);
  });

  test('regions and subscription', () => {
    expect(book.regionsOf('ecs.gn7-c12g1.3xlarge')).toEqual(['cn-beijing', 'cn-shanghai', 'cn-wulanchabu']);
    expect(book.regions()).toContain('cn-hangzhou');
    expect(book.subscriptionHours).toBe(480);
    expect(book.subscriptionVerified('ecs.gn8is.2xlarge')).toBe(true);
    expect(book.subscriptionVerified('ecs.gn7e-c16g1.4xlarge')).toBe(false);
  });

  test('live rows beat both and carry their own day', () => {
    const row = {
      instanceType: 'ecs.gn8is.2xlarge',
      region: 'cn-shanghai',
      currency: 'CNY',
      amountPerHour: 15,
      source: 'x',
      checkedOn: '2026-11-30',
    } as const;
    const live = createPriceBook(prices, { origin: 'api', live: [row] });
    expect(live.find('ecs.gn8is.2xlarge', 'cn-shanghai')).toMatchObject({
      amountPerHour: 15,
      observed: false,
      checkedOn: '2026-11-30',
    });
    expect(live.origin).toBe('api');
    expect(live.find('ecs.gn6i-c4g1.xlarge', 'cn-hangzhou')?.checkedOn).toBe('2024-12-30');
  });
});

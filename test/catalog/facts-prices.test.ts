import { describe, expect, test } from 'vitest';
import { loadCatalog } from '../../catalog/index.ts';
import { catalogueHead, differences, type Row, sourceHead, sourceTable } from './source-tables.ts';

const FILE = 'alibaba-prices.json';
const { prices } = loadCatalog();
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const ofType = (row: Row): string => text(row['instanceType']);

/** A day, where the source states one. */
const day = (value: unknown): string | undefined => /^\d{4}-\d{2}-\d{2}$/.exec(text(value))?.[0];

describe('prices are those of the sources', () => {
  test('pay as you go: type, region, amount, currency, day', () => {
    const source = sourceTable(FILE, 'onDemand').map((row) => ({
      instanceType: row['instanceType'],
      region: row['region'],
      currency: 'CNY',
      amountPerHour: row['onDemandHourly'],
      source: row['asOf'] === '2024-12-30' ? 'karpenter' : 'priceserver',
      checkedOn: row['asOf'],
    }));
    expect(differences(prices.rows, source, (row) => `${row['instanceType']} ${row['region']}`)).toEqual([]);
    expect(source).toHaveLength(693);
  });

  test('lowest price of the international site', () => {
    const source = sourceTable(FILE, 'usdMinimum').map((row) => ({
      instanceType: row['instanceType'],
      amountPerHour: row['minOnDemandHourlyUSD'],
      source: 'navigator',
      checkedOn: row['recordedOn'],
    }));
    expect(differences(prices.usdMinimum, source, ofType)).toEqual([]);
    expect(source).toHaveLength(48);
  });

  test('quotations: the instance alone, its disk taken off; a promotion is no monthly price', () => {
    const source = sourceTable(FILE, 'observations').map((row) => ({
      instanceType: row['instanceType'],
      regions: row['regions'],
      currency: row['currency'],
      amountPerHour: row['derivedInstanceHourly'] ?? row['onDemandHourly'],
      spotPerHour: row['spotHourly'],
      amountPerMonth: row['derivedInstanceMonthly'],
      note: [row['site'], row['config'], row['note'], row['how']].filter((part) => part !== undefined).join('; '),
      source: 'observations',
      checkedOn: day(row['date']),
    }));
    expect(differences(prices.observations, source, ofType)).toEqual([]);
    expect(source).toHaveLength(7);
  });

  test('a quotation less its disk is the price of the instance', () => {
    const disk = prices.disks.find((row) => row.level === 'PL1');
    const quoted = sourceTable(FILE, 'observations').filter((row) => row['totalHourly'] !== undefined);
    for (const row of quoted) {
      const hourly = Number(row['totalHourly']) - 100 * (disk?.cnyPerGiBHour ?? 0);
      expect(Number(row['derivedInstanceHourly']), ofType(row)).toBeCloseTo(hourly, 6);
      const monthly = Number(row['totalMonthly']) - 100 * (disk?.cnyPerGiBMonth ?? 0);
      if (row['derivedInstanceMonthly'] === undefined) continue;
      expect(Number(row['derivedInstanceMonthly']), ofType(row)).toBeCloseTo(monthly, 6);
    }
    expect(quoted).toHaveLength(3);
  });
});

describe('disks, storage and subscription', () => {
  const asDisk = (row: Row): Row => {
    const [category, level] = text(row['disk']).split(' ');
    return { category, level };
  };

  test('levels, limits and prices of the disks', () => {
    const priced = new Map(sourceTable(FILE, 'disk').map((row) => [row['disk'], row]));
    const source = sourceTable(FILE, 'diskLimits').map((row) => ({
      ...asDisk(row),
      cnyPerGiBMonth: priced.get(row['disk'])?.['perGiBMonthSubscription'],
      cnyPerGiBHour: priced.get(row['disk'])?.['perGiBHour'],
      minimumGiB: row['minimumGiB'],
      maximumIops: row['maximumIops'],
      maximumMBps: row['maximumMBps'],
      source: 'disk',
      checkedOn: '2021-07-19',
    }));
    expect(differences(prices.disks, source, (row) => `${row['category']} ${row['level']}`)).toEqual([]);
    expect(priced.size).toBe(2);
  });

  test('snapshots, object storage and traffic', () => {
    const [row] = sourceTable(FILE, 'storage');
    expect(prices.head.storage).toEqual({
      snapshotCnyPerGiBMonth: row?.['snapshotPerGiBMonth'],
      objectStorageCnyPerGiBMonth: row?.['ossStandardPerGiBMonth'],
      publicTrafficCnyPerGB: row?.['publicTrafficPerGB'],
      source: 'disk',
      checkedOn: '2021-07-19',
    });
  });

  test('a month costs so many hours on the types that were checked', () => {
    const { subscription } = prices.head;
    const checked = sourceTable(FILE, 'subscription');
    expect(subscription).toMatchObject({ source: 'subscription', checkedOn: '2026-09-24' });
    expect(subscription.verifiedFor).toEqual(checked.map(ofType));
    for (const row of checked) {
      expect(Number(row['monthly']) / Number(row['hourly']), ofType(row)).toBeCloseTo(subscription.hoursPerMonth, 1);
    }
  });
});

test('the file names its sources with commit and date', () => {
  const head = catalogueHead('prices/alibaba.json');
  const sources = sourceHead(FILE)['sources'];
  expect(head).toMatchObject({ vendor: 'alibaba', currency: 'CNY', checkedOn: '2024-12-30' });
  expect(sources).toMatchObject({
    usdMinimum: prices.head.sources['navigator'],
    observations: prices.head.sources['observations'],
    disk: prices.head.sources['disk'],
    subscription: prices.head.sources['subscription'],
  });
  const both = JSON.stringify(sources);
  for (const [key, part] of [
    ['karpenter', 'cloudpilot-ai/karpenter-provider-alibabacloud pkg/providers/pricing/initial-on-demand-prices.json'],
    ['karpenter', '5d2e077 (2024-12-30; Apache-2.0)'],
    ['priceserver', 'cloudpilot-ai/priceserver pkg/client/builtin-data/alibabacloud_price.json'],
    ['priceserver', '93dab41 (2024-10-09; Apache-2.0)'],
  ] as const) {
    expect(prices.head.sources[key]).toContain(part);
    expect(both).toContain(part);
  }
  expect(Object.keys(prices.head.sources)).toHaveLength(6);
});

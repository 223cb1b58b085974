import { describe, expect, test } from 'vitest';
import { beliefs } from '../../src/advice/beliefs.ts';
import { recommendationJson } from '../../src/advice/json.ts';
import { ask, catalog } from './ask.ts';

const small = { batchSize: 2, imageHeight: 512, imageWidth: 512 };

describe('one line of recommend --jsonl', () => {
  function writtenLine() {
    const budget = { amount: 5000, currency: 'CNY', period: 'month' } as const;
    return recommendationJson('r1', ask({ workload: small, budget, own: { name: '3090' } }), { model: 'm' });
  }

  test('has the members of the format, in its order', () => {
    const line = writtenLine();
    expect(Object.keys(line)).toEqual(['id', 'estimate', 'tiers', 'recommended', 'own', 'tips']);
    const members = [
      'tier',
      'status',
      'instanceType',
      'gpu',
      'gpus',
      'usableGiB',
      'neededGiB',
      'changes',
      'price',
      'budgetCost',
      'secondsPerIteration',
      'costPerThousandIterations',
      'notes',
    ];
    for (const fit of [...line.tiers, line.own]) expect(Object.keys(fit ?? {})).toEqual(members);
    expect(Object.keys(line.recommended ?? {})).toEqual([...members, 'reason']);
    for (const tip of line.tips) expect(Object.keys(tip)).toEqual(['id', 'savesGiB', 'timeFactor', 'note']);
  });

  test('carries the figures', () => {
    const line = writtenLine();
    expect(line.tiers.map((fit) => fit.tier)).toEqual(['A', 'B', 'C']);
    expect(line.recommended).toMatchObject({
      gpu: 'A10',
      usableGiB: 22.06,
      budgetCost: { chargeType: 'PrePaid', currency: 'CNY' },
    });
    expect(line.own).toMatchObject({ gpu: 'RTX 3090', price: null, tier: null });
    expect(JSON.parse(JSON.stringify(line))).toEqual(line);
  });

  test('times, costs and the figures of tips are rounded, not dropped', () => {
    const answer = ask({ workload: small });
    const line = recommendationJson('r3', answer, null);
    const { secondsPerIteration, costPerThousandIterations } = answer.recommended ?? {};
    const seconds = secondsPerIteration?.map((value) => Number(value.toFixed(4)));
    expect(line.recommended).toMatchObject({ secondsPerIteration: seconds, reason: 'no-budget-given' });
    expect(line.recommended?.costPerThousandIterations).toBeCloseTo(costPerThousandIterations ?? 0, 4);
    const note = (id: string) => line.tips.find((tip) => tip.id === id)?.note;
    expect(note('amp')).toMatch(/^precision: bf16, percent: \d+$/);
    expect(note('workers')).toBe('workers: 15, vcpuPerGpu: 16, advisedVcpuPerGpu: 8');
    expect(note('checkpointing')).toBe('');
  });

  test('nothing to recommend and no own card are null', () => {
    const nowhere = recommendationJson('r2', ask({ workload: small, region: 'cn-lhasa' }), null);
    expect(nowhere).toMatchObject({ recommended: null, own: null });
  });
});

describe('beliefs', () => {
  test('ids are unique and every fact has a source and a day', () => {
    expect(new Set(beliefs.map((one) => one.id)).size).toBe(beliefs.length);
    for (const one of beliefs) {
      expect(one.source.length, one.id).toBeGreaterThan(5);
      expect(one.checkedOn, one.id).toMatch(/^20\d\d-\d\d/);
    }
  });

  test('figures agree with the catalogue', () => {
    const value = (id: string, name: string) => beliefs.find((one) => one.id === id)?.values[name];
    const price = (type: string) =>
      catalog.prices.rows.find((row) => row.instanceType === type && row.region === 'cn-hangzhou')?.amountPerHour ?? 0;
    expect(value('t4-is-not-cheapest', 't4CnyPerHour')).toBeCloseTo(price('ecs.gn6i-c4g1.xlarge'), 2);
    expect(value('t4-is-not-cheapest', 'a10CnyPerHour')).toBeCloseTo(price('ecs.gn7i-c8g1.2xlarge'), 2);
    expect(value('subscription-needs-480-hours', 'thresholdHours')).toBe(
      catalog.prices.head.subscription.hoursPerMonth,
    );
    expect(catalog.instance(String(value('gn7i-c8g1-4xlarge-is-no-type', 'larger')))).toBeDefined();
    expect(value('pl3-is-rarely-needed', 'minimumGiB')).toBe(
      catalog.prices.disks.find((row) => row.level === 'PL3')?.minimumGiB,
    );
  });
});

import { describe, expect, test } from 'vitest';
import { cnyPerImage, judgeBudget } from '../../src/advice/cost.ts';
import type { BudgetLimit, Price } from '../../src/advice/recommendation.ts';
import { ask, best, plainRequest, ports } from './ask.ts';

const price: Price = {
  amount: 10,
  currency: 'CNY',
  period: 'hour',
  region: 'cn-hangzhou',
  chargeType: 'PostPaid',
  checkedOn: '2026-11-30',
  observed: false,
};

function judge(budget: BudgetLimit | null, runHours: number | null = null, hoursPerMonth = 720) {
  const request = { ...plainRequest, budget, hoursPerMonth };
  return judgeBudget({ request, ports }, { price, onDemandPerHour: 10, runHours });
}

describe('a budget', () => {
  const cny = (amount: number, period?: BudgetLimit['period']): BudgetLimit => ({
    amount,
    currency: 'CNY',
    ...(period === undefined ? {} : { period }),
  });

  test.each<[BudgetLimit, boolean]>([
    [cny(10), true],
    [cny(9.996), true],
    [cny(9.99), false],
    [cny(10, 'hour'), true],
    [cny(9.99, 'hour'), false],
    [cny(240, 'day'), true],
    [cny(239.9, 'day'), false],
    [cny(30, 'total'), true],
    [cny(29.9, 'total'), false],
    [{ amount: 1.41, currency: 'USD', period: 'hour' }, true],
    [{ amount: 1.4, currency: 'USD', period: 'hour' }, false],
  ])('of %j holds 10 CNY an hour for three hours: %s', (budget, within) => {
    expect(judge(budget, 3).within).toBe(within);
  });

  test('a cost of exactly the shown amount and half a cent is held', () => {
    const budget = { amount: 0, currency: 'CNY' } as const;
    const terms = { request: { ...plainRequest, budget }, ports };
    const at = (amount: number) =>
      judgeBudget(terms, { price: { ...price, amount }, onDemandPerHour: amount, runHours: null }).within;
    expect([at(0.005), at(0.0051)]).toEqual([true, false]);
  });

  test('an hourly price is its own cost; other periods say what they come to', () => {
    expect(judge(cny(10))).toEqual({ within: true, cost: null });
    expect(judge(cny(10, 'hour'))).toEqual({ within: true, cost: null });
    expect(judge(cny(300, 'day')).cost).toEqual({ amount: 240, currency: 'CNY', chargeType: 'PostPaid' });
    expect(judge(cny(300, 'total'), 3).cost).toEqual({ amount: 30, currency: 'CNY', chargeType: 'PostPaid' });
  });

  test('there is nothing to hold against it: no budget, or a run of unknown length', () => {
    expect(judge(null)).toEqual({ within: true, cost: null });
    expect(judge(cny(1, 'total'))).toEqual({ within: true, cost: null });
  });

  test('a month is a subscription from its 480 hours on', () => {
    const month = (hours: number) => judge(cny(9000, 'month'), null, hours).cost;
    expect(month(479)).toEqual({ amount: 4790, currency: 'CNY', chargeType: 'PostPaid' });
    expect(month(480)).toEqual({ amount: 4800, currency: 'CNY', chargeType: 'PrePaid' });
    expect(month(720)).toEqual({ amount: 4800, currency: 'CNY', chargeType: 'PrePaid' });
  });
});

test('what one image costs', () => {
  const fit = { ...best(ask(), 'A10'), price, secondsPerIteration: [1, 4] as const, imagesPerStep: 8 };
  expect(cnyPerImage(fit, 7)).toBeCloseTo((10 * 2) / 3600 / 8, 12);
  expect(cnyPerImage({ ...fit, price: { ...price, currency: 'USD' } }, 7)).toBeCloseTo((70 * 2) / 3600 / 8, 12);
  expect(cnyPerImage({ ...fit, secondsPerIteration: null }, 7)).toBe(Number.POSITIVE_INFINITY);
  expect(cnyPerImage({ ...fit, price: null }, 7)).toBe(Number.POSITIVE_INFINITY);
});

import { describe, expect, test } from 'vitest';
import { bestOffer, hostRule, type Offer } from '../../src/advice/choice/candidates.ts';
import type { Price } from '../../src/advice/recommendation.ts';
import { catalog } from './ask.ts';

/** Name, vCPUs, memory and number of GPUs of a type whose cards have 24 GB each. */
type Type = readonly [name: string, vcpu: number, memoryGiB: number, gpuCount?: number];

function instanceOf([instanceType, vcpu, memoryGiB, gpuCount = 1]: Type) {
  const row = catalog.instance('ecs.gn7i-c16g1.4xlarge');
  if (row === undefined) throw new Error('no A10');
  return { ...row, instanceType, vcpu, memoryGiB, gpuCount };
}

function offer(
  type: Type,
  perHour: number | null,
  more: Partial<Offer> & Partial<Pick<Price, 'currency'>> = {},
): Offer {
  const { currency = 'CNY', ...rest } = more;
  const price: Price | null =
    perHour === null
      ? null
      : {
          amount: perHour,
          currency,
          period: 'hour',
          region: 'cn-hangzhou',
          chargeType: 'PostPaid',
          checkedOn: '2026-11-30',
          observed: false,
        };
  return { instance: instanceOf(type), price, soldIn: [], within: true, ...rest };
}

const best = (...offers: readonly Offer[]) => bestOffer(offers, 7)?.instance.instanceType;

test.each<[Type, boolean, boolean]>([
  [['exactly', 8, 36], true, true],
  [['less memory', 8, 35], false, true],
  [['fewer processors', 7, 36], true, false],
  [['two cards', 16, 72, 2], true, true],
  [['two cards, the host of one', 15, 71, 2], false, false],
])('the host rule on %j: memory %s, processors %s', (type, memory, cpu) => {
  expect(hostRule(instanceOf(type))).toEqual({ memory, cpu });
});

test('a type that states no GPU memory keeps the rule of memory', () => {
  expect(hostRule({ ...instanceOf(['unstated', 8, 1]), gpuMemoryGB: null }).memory).toBe(true);
});

describe('priced types', () => {
  const lean: Type = ['lean', 4, 15];
  const keeper: Type = ['keeper', 16, 60];

  test('the cheapest, in one currency', () => {
    expect(best(offer(lean, 9), offer(lean, 8), offer(['cheap', 4, 15], 5))).toBe('cheap');
    expect(best(offer(lean, 1, { currency: 'USD' }), offer(['cheap', 4, 15], 6.5))).toBe('cheap');
    expect(best(offer(lean, 1, { currency: 'USD' }), offer(['dear', 4, 15], 7.5))).toBe('lean');
  });

  test('one that keeps the host rule for up to 15 % more', () => {
    expect(best(offer(lean, 1), offer(keeper, 1.15))).toBe('keeper');
    expect(best(offer(lean, 1), offer(keeper, 1.16))).toBe('lean');
    expect(best(offer(lean, 1), offer(['dearer keeper', 16, 60], 1.1), offer(keeper, 1.05))).toBe('keeper');
  });

  test('at one price the one that keeps the rule, then the smaller', () => {
    expect(best(offer(lean, 1), offer(keeper, 1), offer(['huge', 64, 240], 1))).toBe('keeper');
    expect(best(offer(['huge', 64, 240], 1), offer(keeper, 1))).toBe('keeper');
    expect(best(offer(['larger', 6, 20], 1), offer(lean, 1))).toBe('lean');
  });

  test('what is within budget before what is not', () => {
    expect(best(offer(lean, 1, { within: false }), offer(['within', 4, 15], 3))).toBe('within');
    expect(best(offer(lean, 2, { within: false }), offer(['nearest', 4, 15], 1, { within: false }))).toBe('nearest');
  });

  test('what has a price before what has it on request', () => {
    expect(best(offer(['on request', 2, 8], null), offer(lean, 50))).toBe('lean');
  });

  test('other regions that sell it take nothing away', () => {
    const soldIn = ['cn-beijing'];
    expect(best(offer(lean, 9, { soldIn }), offer(['dear', 4, 15], 12))).toBe('lean');
  });
});

describe('types without a price', () => {
  test('the smallest that keeps the host rule, else the smallest', () => {
    expect(best(offer(['small', 4, 15], null), offer(['huge', 64, 240], null), offer(['keeper', 16, 60], null))).toBe(
      'keeper',
    );
    expect(best(offer(['larger', 6, 20], null), offer(['small', 4, 15], null))).toBe('small');
  });

  test.each<[string, Type, Type]>([
    ['processors', ['b', 16, 99], ['a', 24, 60]],
    ['memory', ['b', 16, 60], ['a', 16, 61]],
    ['a plain name', ['zz', 16, 60], ['a-tee', 16, 60]],
    ['the name', ['a', 16, 60], ['b', 16, 60]],
  ])('the smaller by %s, in either order', (_, smaller, larger) => {
    const [one, other] = [offer(smaller, null), offer(larger, null)];
    expect([best(one, other), best(other, one)]).toEqual([smaller[0], smaller[0]]);
  });

  test('on request here before a region elsewhere', () => {
    const away = offer(['away', 16, 60], null, { soldIn: ['cn-beijing'] });
    expect(best(away, offer(['on request', 32, 120], null))).toBe('on request');
    expect(best(away, offer(['farther', 32, 120], null, { soldIn: ['cn-beijing'] }))).toBe('away');
  });
});

test('one type, and none', () => {
  expect(best(offer(['only', 2, 8], null))).toBe('only');
  expect(best()).toBeUndefined();
});

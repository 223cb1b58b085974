import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import {
  duration,
  gib,
  gibNumber,
  grouped,
  hoursRange,
  joined,
  money,
  percent,
  range,
  readable,
  significant,
} from '../../src/reply/format.ts';

const GIB = 1024 ** 3;

test('a length of time is in minutes below an hour', () => {
  expect([0.5, 10 / 60, 0.001, 1, 4.52, 72].map((hours) => duration(hours, 'zh'))).toEqual([
    '30 分钟',
    '10 分钟',
    '1 分钟',
    '1 小时',
    '4.5 小时',
    '72 小时',
  ]);
  expect(duration(0.75, 'en')).toBe('45 min');
});

describe('sizes', () => {
  test('as many digits as anybody acts on', () => {
    expect([0.16, 0.94, 7.03, 14.56, 99.9, 128.4].map((size) => gib(size * GIB))).toEqual([
      '0.16 GiB',
      '0.94 GiB',
      '7.0 GiB',
      '14.6 GiB',
      '99.9 GiB',
      '128 GiB',
    ]);
    expect(gibNumber(0)).toBe('0.0');
  });
});

describe('money', () => {
  test('in both currencies', () => {
    expect(money(10.09, 'CNY')).toBe('¥10.09');
    expect(money(15, 'CNY')).toBe('¥15');
    expect(money(5000, 'CNY')).toBe('¥5,000');
    expect(money(1.4, 'USD')).toBe('$1.40');
    expect(money(7264.8, 'CNY')).toBe('¥7,265');
  });
});

describe('numbers', () => {
  test('two significant digits without an exponent', () => {
    expect([0.0719, 0.22, 1.94, 34.4, 1234].map(significant)).toEqual(['0.072', '0.22', '1.9', '34', '1234']);
    expect(significant(2)).toBe('2');
    expect(significant(0)).toBe('0');
  });

  test('a range with two equal ends is one figure', () => {
    expect(range(0.714, 1.14)).toBe('0.71–1.1');
    expect(range(0.711, 0.712)).toBe('0.71');
  });

  test('never an exponent, always a number', () => {
    fc.assert(
      fc.property(fc.double({ min: 1e-9, max: 1e9, noNaN: true }), (value) => {
        expect(significant(value)).toMatch(/^\d+(\.\d+)?$/);
      }),
    );
  });

  test('percent and groups', () => {
    expect(percent(0.03)).toBe('3 %');
    expect(percent(0.035)).toBe('3.5 %');
    expect(percent(0.46)).toBe('46 %');
    expect(grouped(43_589_878)).toBe('43,589,878');
  });

  test('hours as people say them', () => {
    expect(hoursRange([0.2, 0.5], 'en')).toBe('12–30 min');
    expect(hoursRange([3, 6], 'zh')).toBe('3–6 小时');
    expect(hoursRange([60, 96], 'zh')).toBe('2.5–4 天');
  });

  test('lists and figures of a sentence', () => {
    expect(joined(['a', 'b', 'c'], 'en')).toBe('a, b and c');
    expect(joined(['甲', '乙'], 'zh')).toBe('甲和乙');
    expect(readable({ a: 3.1456, b: 12.3456, c: 7, d: 'x' })).toEqual({ a: '3.15', b: '12.3', c: '7', d: 'x' });
  });
});

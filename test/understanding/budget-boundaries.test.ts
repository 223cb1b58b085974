import { describe, expect, test } from 'vitest';
import { normalize } from '../../src/understanding/normalize.ts';
import { startReading } from '../../src/understanding/reading.ts';
import { readBudget, readBudgetChanges } from '../../src/understanding/slots/budget.ts';
import type { BudgetContext } from '../../src/understanding/slots/budget-words.ts';
import type { Budget } from '../../src/understanding/understanding.ts';

const FRESH: BudgetContext = { held: undefined, asked: false };
const read = (text: string, context: BudgetContext = FRESH) => readBudget(startReading(normalize(text)), context);
const cny = (amount: number, period?: Budget['period']) => ({ amount, currency: 'CNY', ...(period && { period }) });
const usd = (amount: number, period?: Budget['period']) => ({ amount, currency: 'USD', ...(period && { period }) });

describe('the amount', () => {
  test.each([
    ['预算 10', 10],
    ['预算 1.5k', 1500],
    ['预算 2w', 20_000],
    ['预算 1,500', 1500],
    ['预算 1,500.25', 1500.25],
    ['预算 1.2345', 1.23],
    ['预算 1.239', 1.24],
    ['999999999 元', 999_999_999],
  ])('%s, to the cent', (text, amount) => expect(read(text)).toEqual(cny(amount)));

  test.each([
    '1234567890 元',
    '预算 512x512',
    '预算 10%',
    '预算 10 张',
    '预算 10 g',
    '20 块卡',
    'budget 5 hours',
    'budget 3 days',
    'budget 10 months',
  ])('is not in %s', (text) => expect(read(text)).toBeNull());

  test.each([
    ['6000 元/年', cny(500, 'month')],
    ['120 元每年', cny(10, 'month')],
    ['预算 6 万一年', cny(5000, 'month')],
    ['100 元/年', cny(8.33, 'month')],
  ])('a twelfth of a year’s: %s', (text, want) => expect(read(text)).toEqual(want));

  test.each([
    ['30-40 元/小时', cny(40, 'hour')],
    ['3000 到 5000 元一个月', cny(5000, 'month')],
    ['预算 3000 到 5000', cny(5000)],
  ])('the upper end of a range: %s', (text, want) => expect(read(text)).toEqual(want));
});

describe('currency and period', () => {
  test.each([
    ['¥30', cny(30)],
    ['30 元', cny(30)],
    ['花 20 块', cny(20)],
    ['$30', usd(30)],
    ['30 usd', usd(30)],
    ['30 元/小时', cny(30, 'hour')],
    ['10/h', cny(10, 'hour')],
    ['10 per hour', cny(10, 'hour')],
    ['10 an hour', cny(10, 'hour')],
    ['按小时 10 元', cny(10, 'hour')],
    ['每小时 15 以内', cny(15, 'hour')],
    ['30 美元每天', usd(30, 'day')],
    ['10 a day', cny(10, 'day')],
    ['10 a month', cny(10, 'month')],
    ['monthly 500', cny(500, 'month')],
    ['500 monthly', cny(500, 'month')],
    ['budget 20 hourly', cny(20, 'hour')],
    ['200 daily', cny(200, 'day')],
    ['月 500', cny(500, 'month')],
    ['每月 5000 元', cny(5000, 'month')],
    ['$300 一个月', usd(300, 'month')],
    ['总共 2000 元', cny(2000, 'total')],
    ['整个训练 500 元', cny(500, 'total')],
    ['老板批了 20000，训完为止', cny(20_000, 'total')],
    // The total of a batch is no total of money.
    ['总 batch 16 500 元', cny(500)],
  ])('%s', (text, want) => expect(read(text)).toEqual(want));
});

test.each([
  ['只租10小时，预算 300 块', cny(30, 'hour')],
  ['租 2 天，总共 480 元', cny(10, 'hour')],
  ['rent for 10 hours, budget $25 total', usd(2.5, 'hour')],
  ['只租10小时，预算 20 元/小时', cny(20, 'hour')],
  ['预算 700 跑一周', cny(4.17, 'hour')],
  ['训一周 预算 700', cny(4.17, 'hour')],
  ['跑 10 小时，预算 300 块', cny(300)],
])('a sum for rented hours is held as an hour’s: %s', (text, want) => expect(read(text)).toEqual(want));

test.each([
  ['租 3 个月，总共 18000', cny(6000, 'month')],
  ['要用 2 个月，预算 9000', cny(4500, 'month')],
  ["we'd have it for 10 weeks, total 20000", cny(8571.43, 'month')],
  ['need it for 6 months, budget $3000', usd(500, 'month')],
  ['每天用 8 小时，预算 3000', cny(3000)],
])('a sum for rented months is held as a month’s: %s', (text, want) => expect(read(text)).toEqual(want));

test.each([
  ['三万块能用多久', cny(30_000, 'total')],
  ['3 万够用几天', cny(30_000, 'total')],
  ['how long would $300 last', usd(300, 'total')],
  ['今年经费还剩 2 万', cny(20_000, 'total')],
  ['经费只剩 500 块', cny(500, 'total')],
  ['i have $500 left', usd(500, 'total')],
  ['unet 512 能用多久', null],
  ['今年想训 unet 512', null],
])('a sum that is to last is a total: %s', (text, want) => expect(read(text)).toEqual(want));

describe('a sum for a week', () => {
  test.each([
    ['700 元/周', cny(3000, 'month')],
    ['每周预算 700', cny(3000, 'month')],
    ['预算 700 一周', cny(3000, 'month')],
    ['500 到 700 元一周', cny(3000, 'month')],
    ['$70 per week', usd(300, 'month')],
    ['weekly budget 70 usd', usd(300, 'month')],
    ['unet 512 batch 8, 700 per week', cny(3000, 'month')],
    ['700 a week', cny(3000, 'month')],
    ['预算 700，一周跑完', cny(700)],
  ])('is held as a month’s: %s', (text, want) => expect(read(text)).toEqual(want));
});

describe('what makes a number money', () => {
  test.each([
    ['最多 10', cny(10)],
    ['10 的预算', cny(10)],
    ['512 预算 10', cny(10)],
    ['预算 10 512x512', cny(10)],
    ['预算不能超过 4', cny(4)],
  ])('%s', (text, want) => expect(read(text)).toEqual(want));

  test.each(['10', '价格 30 元', '单价 30 元', 'costs $30', 'bs 不能超过 4'])('nothing in %s', (text) =>
    expect(read(text)).toBeNull(),
  );

  test('a limit alone counts as the answer to the question about money', () => {
    expect(read('10 以内')).toBeNull();
    expect(read('10 以内', { held: undefined, asked: true })).toEqual(cny(10));
  });

  test('the whole sum is taken away: sign, limit and period', () => {
    const reading = startReading(normalize('unet 30 元以内/小时 batch 8'));
    readBudget(reading, FRESH);
    expect(reading.rest).not.toMatch(/30|元|小时/);
    expect(reading.rest).toContain('batch 8');
  });
});

describe('what is held', () => {
  const held = { amount: 25, currency: 'USD' } as const;

  test.each([
    ['每小时', 'hour'],
    ['每天', 'day'],
    ['按月', 'month'],
    ['跑完', 'total'],
    ['一共', 'total'],
  ] as const)('gets its period from %s alone', (text, period) => {
    expect(read(text, { held, asked: false })).toEqual({ ...held, period });
    expect(read(text)).toBeNull();
  });

  test('keeps a period that it has, unless it was asked for', () => {
    const daily = { ...held, period: 'day' } as const;
    expect(read('每小时', { held: daily, asked: false })).toBeNull();
    expect(read('每小时', { held: daily, asked: true })).toEqual({ ...held, period: 'hour' });
    expect(read('预算 30', { held: daily, asked: false })).toEqual({ amount: 30, currency: 'USD', period: 'day' });
  });

  test('gets none from a sentence about something else', () => {
    expect(read('这是很长的一句话，和每小时没有关系', { held, asked: false })).toBeNull();
    expect(read('每小时训几轮合适呢我想再想想看', { held, asked: false })).toBeNull();
  });

  test.each([
    ['预算翻倍', 2],
    ['double my budget', 2],
    ['twice as much', 2],
    ['贵 1倍', 2],
    ['预算减半', 0.5],
    ['便宜一半', 0.5],
    ['budget half', 0.5],
  ])('is changed by %s', (text, multiply) => {
    expect(readBudgetChanges(normalize(text).text)).toEqual([{ slot: 'budget', multiply }]);
  });

  test('is dropped or left alone', () => {
    expect(readBudgetChanges(normalize('预算不限').text)).toEqual([{ slot: 'budget', clear: true }]);
    expect(readBudgetChanges(normalize('预算 20').text)).toEqual([]);
  });
});

import { describe, expect, test } from 'vitest';
import { normalize } from '../../src/understanding/normalize.ts';
import { startReading } from '../../src/understanding/reading.ts';
import { readBudget, sumBelowNothing } from '../../src/understanding/slots/budget.ts';
import type { BudgetContext } from '../../src/understanding/slots/budget-words.ts';

const FRESH: BudgetContext = { held: undefined, asked: false };
const read = (text: string, context: BudgetContext = FRESH) => readBudget(startReading(normalize(text)), context);

describe('a sum with a minus sign', () => {
  test.each([
    ['预算 -5', '5'],
    ['预算: -5000/月', '5000/月'],
    ['budget=-20', '20'],
    ['经费是 -¥30', '30'],
    ['budget -$20/h', '20/h'],
    ['unet -100 元', '100 元'],
    ['-12.5 usd/h', '12.5 usd/h'],
    ['-1234567 yuan', '1234567 yuan'],
    ['unet,-¥100 yuan', '100 yuan'],
    ['-1 dollar', '1 dollar'],
  ])('%s', (text, sum) => {
    expect(sumBelowNothing(normalize(text).text, false)).toBe(sum);
    expect(read(text)).toBeNull();
  });

  test.each(['预算-5000/月', '预算 10-20', '10 -20 元', '-100 gpus', '-12', 'unet-100 元', '预算 5'])(
    'none in %s',
    (text) => expect(sumBelowNothing(normalize(text).text, false)).toBeNull(),
  );

  test.each([
    ['-5', '5'],
    [' -¥30', '30'],
    ['-12.25 每小时', '12.25 每小时'],
    ['-$1234567', '1234567'],
  ])('alone, where a sum was asked for: %s', (text, sum) => {
    expect(sumBelowNothing(text, true)).toBe(sum);
    expect(sumBelowNothing(text, false)).toBeNull();
  });

  test.each(['5', 'unet -5', '-5 batch 4', '-5 and many more words', '-x'])('not even then: %s', (text) =>
    expect(sumBelowNothing(text, true)).toBeNull(),
  );
});

describe('the held sum set right', () => {
  const held = { amount: 500, currency: 'CNY', period: 'month' } as const;
  const correct = (text: string) => read(text, { held, asked: false });

  test.each([
    ['是美元', { currency: 'USD' }],
    ['我说的是美金', { currency: 'USD' }],
    ['the budget was dollars', { currency: 'USD' }],
    ['sorry, i mean usd', { currency: 'USD' }],
    ['不是人民币，是美元', { currency: 'USD' }],
    ['not yuan but dollars', { currency: 'USD' }],
    ['dollars instead of yuan', { currency: 'USD' }],
    ['美元', { currency: 'USD' }],
    ['不是每月，是整个项目', { period: 'total' }],
    ['预算应该是每天', { period: 'day' }],
    ['不对，是每小时的', { period: 'hour' }],
    ['actually per day', { period: 'day' }],
    ['500 说的是每天', { period: 'day' }],
    ['预算应该是美元每天', { currency: 'USD', period: 'day' }],
  ])('%s', (text, change) => expect(correct(text)).toEqual({ ...held, ...change }));

  test.each([
    '美元多少',
    'how many dollars?',
    '换成 400 美元卡',
    '我们公司的账户里只有美元',
    'unet every day',
    '其实元和美元都行',
    '不是美元',
    '这是一个很长的句子，说的是美元，可是它说了太多别的事情，所以不是更正，也不该当成更正来读',
  ])('nothing is set right by %s', (text) => {
    const got = correct(text);
    expect(got === null || got.amount !== held.amount).toBe(true);
  });

  test('nothing is held, nothing is set right', () => expect(read('我说的是美金')).toBeNull());
});

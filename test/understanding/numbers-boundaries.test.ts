import { describe, expect, test } from 'vitest';
import { normalize } from '../../src/understanding/normalize.ts';
import { englishToDigits, parseChineseNumber, toArabicNumerals } from '../../src/understanding/numbers.ts';
import { startReading } from '../../src/understanding/reading.ts';
import { readBudget } from '../../src/understanding/slots/budget.ts';

describe('Chinese numerals', () => {
  test.each([
    ['零', 0],
    ['〇', 0],
    ['两', 2],
    ['仨', 3],
    ['廿', 20],
    ['卅五', 35],
    ['三五', 35],
    ['一零', 10],
    ['零一', 1],
    ['十五', 15],
    ['一十', 10],
    ['一百十', 110],
    ['二百十五', 215],
    ['一百五', 150],
    ['一千五', 1500],
    ['一万五', 15_000],
    ['二十万五', 205_000],
    ['一百万五', 1_005_000],
    ['一万两千五', 12_500],
    // A zero says that what follows is small.
    ['一百零五', 105],
    ['一千零五十', 1050],
    ['一万零五', 10_005],
    ['一亿零五', 100_000_005],
    ['一亿二万', 100_020_000],
    ['一亿一千万', 110_000_000],
    ['九千九百九十九', 9999],
    ['三点一四', 3.14],
    ['一点零五', 1.05],
    ['一百点五', 100.5],
  ])('%s is %d', (text, value) => expect(parseChineseNumber(text)).toBe(value));

  test.each([
    '四三',
    '三三',
    '一百二百',
    '一千一千',
    '一百二三',
    '一千百',
    '十一十',
    '一亿一亿',
    '一万亿',
    '百万',
    '千',
    '亿',
    '三点十',
    '三点一十',
    '一点二点三',
    '一万一亿',
    '五张',
  ])('%s is none', (text) => expect(parseChineseNumber(text)).toBeNull());
});

describe('numerals in a sentence', () => {
  test.each([
    ['一张', '1张'],
    ['三点五元', '3.5元'],
    ['二零二六年', '2026年'],
    ['512乘五百一十二', '512乘512'],
    ['batch size 八', 'batch size 8'],
    ['=八', '=8'],
    ['总八', '总8'],
    ['用四了', '用4了'],
    ['四吧', '4吧'],
    ['八gb', '8gb'],
    ['八4090', '8 4090'],
    ['3两张', '3 2张'],
    ['十分钟', '10分钟'],
    ['十张', '10张'],
    ['三千一张', '3100张'],
    ['二十四小时', '24小时'],
    ['一百二三张', '120 3张'],
    ['三万一年', '30000 1年'],
    ['三千两天', '3000 2天'],
    ['两百一天', '200 1天'],
    ['六十一天', '61天'],
    ['预算六十一天', '预算60 1天'],
    ['每二十一小时', '每20 1小时'],
    ['一百一十小时', '110小时'],
    ['五千三个月', '5300个月'],
  ])('%s → %s', (text, want) => expect(toArabicNumerals(text)).toBe(want));

  test.each([
    '一一对应',
    '另一张卡',
    '某一张卡',
    '这一张卡',
    '那两张卡',
    '任一张卡',
    '第二张卡',
    '第三十五张',
    '整三天',
    '零张',
    '〇张',
    '四五张',
    '两三天',
    '四块跑',
    '五A',
    '八，',
  ])('%s stays', (text) => expect(toArabicNumerals(text)).toBe(text));
});

describe('digits with a Chinese unit', () => {
  test.each([
    ['1.5万', '15000'],
    ['0.5亿', '50000000'],
    ['3百', '300'],
    ['12 千', '12000'],
    ['1万5', '15000'],
    ['1万三', '13000'],
    ['1 万五', '15000'],
    ['1万5千', '15000'],
    ['1万五千', '15000'],
    ['2千5百', '2500'],
    ['1万5百', '10500'],
    ['1万5个月', '10000 5个月'],
    ['1万五个月', '10000 5个月'],
    ['1万5天', '10000 5天'],
  ])('%s → %s', (text, want) => expect(toArabicNumerals(text)).toBe(want));

  test.each([
    ['1万500', '10000 500'],
    ['1万3090', '10000 3090'],
    ['5千512x512', '5000 512x512'],
    ['1万5.5', '10000 5.5'],
  ])('more digits behind it are a number of their own: %s', (text, want) => expect(toArabicNumerals(text)).toBe(want));
});

describe('tenths of a yuan', () => {
  test.each([
    ['8块5', '8.5块'],
    ['八块五', '8.5块'],
    ['八块半', '8.5块'],
    ['三块钱五', '3.5块'],
    ['3块5毛', '3.5块'],
    ['三块五的卡', '3.5块的卡'],
    ['8块50', '8块50'],
    ['两块3090', '2块3090'],
  ])('%s → %s', (text, want) => expect(toArabicNumerals(text)).toBe(want));

  test.each([
    '预算8块5一小时',
    '预算八块五一小时',
    '8块5每小时',
    '八块五一小时',
    '8块5毛一小时',
    '八块五毛一小时',
    '八块钱五一小时',
  ])('%s is 8.5 an hour', (text) => {
    const budget = readBudget(startReading(normalize(text)), { held: undefined, asked: false });
    expect(budget).toEqual({ amount: 8.5, currency: 'CNY', period: 'hour' });
  });

  test('whole yuan an hour stay whole', () => {
    const budget = readBudget(startReading(normalize('预算八块一小时')), { held: undefined, asked: false });
    expect(budget).toEqual({ amount: 8, currency: 'CNY', period: 'hour' });
  });
});

describe('English number words', () => {
  const WORDS = {
    one: 1,
    two: 2,
    three: 3,
    four: 4,
    five: 5,
    six: 6,
    seven: 7,
    eight: 8,
    ten: 10,
    twelve: 12,
    fifteen: 15,
    sixteen: 16,
    twenty: 20,
    'twenty-four': 24,
    thirty: 30,
    'thirty-two': 32,
    forty: 40,
    fifty: 50,
  };

  test.each(Object.entries(WORDS))(
    '%s is %d before a counted noun and behind a quantity, and a word elsewhere',
    (word, value) => {
      expect(englishToDigits(`${word} gpus`)).toBe(`${value} gpus`);
      expect(englishToDigits(`batch ${word}`)).toBe(`batch ${value}`);
      expect(englishToDigits(`budget of ${word}`)).toBe(`budget of ${value}`);
      expect(englishToDigits(`${word} things`)).toBe(`${word} things`);
    },
  );

  test.each([
    ['Two cards', '2 cards'],
    ['two-gpu box', '2-gpu box'],
    ['bs eight', 'bs 8'],
    ['batch size of four', 'batch size of 4'],
    ['budget is ten', 'budget is 10'],
    ['one dollar', '1 dollar'],
    ['ten bucks', '10 bucks'],
    ['three channels', '3 channels'],
    ['fifty epochs', '50 epochs'],
  ])('%s → %s', (text, want) => expect(englishToDigits(text)).toBe(want));

  test.each(['batch one-off', 'batch fourth', 'network two', 'someone gpus'])('%s stays', (text) =>
    expect(englishToDigits(text)).toBe(text),
  );
});

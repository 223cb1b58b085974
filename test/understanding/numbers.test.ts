import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { englishToDigits, parseChineseNumber, toArabicNumerals } from '../../src/understanding/numbers.ts';

const DIGIT = ['零', '一', '二', '三', '四', '五', '六', '七', '八', '九'];

/** Standard spelling of 0 … 9999 below a larger unit. */
function spellSection(value: number): string {
  let text = '';
  let zero = false;
  for (const [unit, name] of [
    [1000, '千'],
    [100, '百'],
    [10, '十'],
    [1, ''],
  ] as const) {
    const digit = Math.floor(value / unit) % 10;
    if (digit === 0) {
      zero = text !== '';
      continue;
    }
    text += `${zero ? '零' : ''}${DIGIT[digit]}${name}`;
    zero = false;
  }
  return text;
}

function spell(value: number): string {
  if (value === 0) return '零';
  const large = Math.floor(value / 10_000);
  const rest = value % 10_000;
  if (large === 0) return spellSection(rest);
  const gap = rest > 0 && rest < 1000 ? '零' : '';
  return `${spellSection(large)}万${gap}${rest > 0 ? spellSection(rest) : ''}`;
}

describe('parseChineseNumber', () => {
  it.each([
    ['一万两千', 12_000],
    ['两百五', 250],
    ['三千二', 3200],
    ['一万五', 15_000],
    ['廿四', 24],
    ['卅', 30],
    ['十', 10],
    ['十六', 16],
    ['一百零五', 105],
    ['一千零二十四', 1024],
    ['二零四八', 2048],
    ['五一二', 512],
    ['一点五', 1.5],
    ['一百二十万', 1_200_000],
    ['一亿两千万', 120_000_000],
    ['三四千', 4000],
    ['一两万', 20_000],
    ['七八十', 80],
    ['俩', 2],
    ['八', 8],
  ])('%s', (text, value) => expect(parseChineseNumber(text)).toBe(value));

  it.each(['', '万一', '千万', '百', '三四', '两三', '十十', '一万万', '点五', '一点', '一点点五', '百八千'])(
    'refuses %s',
    (text) => expect(parseChineseNumber(text)).toBeNull(),
  );

  it('reads every standard spelling back', () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 99_999_999 }), (value) => parseChineseNumber(spell(value)) === value),
      {
        numRuns: 5000,
      },
    );
  });

  it('reads any digit string of three or more digits as written', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 0, max: 9 }), { minLength: 3, maxLength: 9 }), (digits) => {
        const text = digits.map((digit) => DIGIT[digit]).join('');
        return parseChineseNumber(text) === Number(digits.join(''));
      }),
    );
  });

  it('never throws and gives a finite number or null', () => {
    const chars = fc.constantFrom(...'零〇一二两俩三四五六七八九十百千万亿廿卅点');
    fc.assert(
      fc.property(fc.array(chars, { maxLength: 12 }), (text) => {
        const value = parseChineseNumber(text.join(''));
        return value === null || (Number.isFinite(value) && value >= 0);
      }),
      { numRuns: 5000 },
    );
  });
});

describe('toArabicNumerals', () => {
  it.each([
    ['八卡', '8卡'],
    ['四张卡', '4张卡'],
    ['每张卡两张图', '每张卡2张图'],
    ['bs三十二', 'bs32'],
    ['batch八', 'batch8'],
    ['预算一万五每月', '预算15000每月'],
    ['预算五千一个月', '预算5000 1个月'],
    ['预算三十一小时', '预算30 1小时'],
    ['跑三十一小时', '跑31小时'],
    ['1.2万/月', '12000/月'],
    ['1万5', '15000'],
    ['5千一个月', '5000 1个月'],
    ['两3090', '2 3090'],
    ['改成四', '改成4'],
    ['四', '4'],
  ])('%s → %s', (text, want) => expect(toArabicNumerals(text)).toBe(want));

  it.each([
    '万一不够',
    '千万别',
    '一样的卡',
    '一起跑',
    '一下',
    '一般',
    '统一',
    '第一步',
    '三四张',
    '十分感谢',
    '同一张卡',
    '唯一',
  ])('leaves %s alone', (text) => expect(toArabicNumerals(text)).toBe(text));

  it('never changes Arabic digits that stand by themselves', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 999_999 }),
        fc.constantFrom('张', '卡', '元', ' batch', '，', ''),
        (value, unit) => {
          const text = `用 ${value}${unit} 训`;
          return toArabicNumerals(text) === text;
        },
      ),
    );
  });
});

describe('englishToDigits', () => {
  it.each([
    ['two 2080Tis', '2 2080Tis'],
    ['eight gpus', '8 gpus'],
    ['the d8 one', 'the d8 one'],
    ['one more thing', 'one more thing'],
    ['four V100s', '4 V100s'],
  ])('%s → %s', (text, want) => expect(englishToDigits(text)).toBe(want));
});

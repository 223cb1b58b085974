import { describe, expect, test } from 'vitest';
import { normalize } from '../../src/understanding/normalize.ts';
import { startReading } from '../../src/understanding/reading.ts';
import { readBudget } from '../../src/understanding/slots/budget.ts';
import type { BudgetContext } from '../../src/understanding/slots/budget-words.ts';
import type { Budget } from '../../src/understanding/understanding.ts';

const FRESH: BudgetContext = { held: undefined, asked: false };
const read = (text: string, context: BudgetContext = FRESH) => readBudget(startReading(normalize(text)), context);
const cny = (amount: number, period?: Budget['period']) => ({ amount, currency: 'CNY', ...(period && { period }) });
const usd = (amount: number, period?: Budget['period']) => ({ amount, currency: 'USD', ...(period && { period }) });

describe('a number that counts something else', () => {
  test.each([
    ...[
      '10g',
      '10 gb',
      '10gib',
      '10 mb',
      '10 mib',
      '10 张',
      '10卡',
      '10 个',
      '10类',
      '10 x 5',
      '10x5',
      '10 px',
      '10像素',
    ],
    ...[
      '10 %',
      '10 步',
      '10轮',
      '10 次',
      '10 epoch',
      '10 epochs',
      '10 iter',
      '10 iters',
      '10 iteration',
      '10 iterations',
    ],
    ...[
      '10 gpu',
      '10 gpus',
      '10 card',
      '10 cards',
      '10 image',
      '10 images',
      '10 img',
      '10 imgs',
      '10 classes',
      '10k iter',
    ],
    ...[
      '10 k步',
      '10 p',
      '10 倍',
      '10 小时',
      '10小时',
      '10 天',
      '10天',
      '10 块卡',
      '10块显卡',
      '10 块gpu',
      '10 块a10',
      '10 分钟',
    ],
    ...[
      '10秒',
      '10 周',
      '10个星期',
      '10 星期',
      '10 step',
      '10 steps',
      '10 核',
      '10 vcpu',
      '10 hour',
      '10 hours',
      '10 day',
    ],
    ...[
      '10 days',
      '10 week',
      '10 weeks',
      '10 month',
      '10 months',
      '10 min',
      '10 mins',
      '10 minute',
      '10 minutes',
      '10 sec',
    ],
    ...['10 secs', '10 second', '10 seconds', '10 h', '10h'],
  ])('预算 %s', (text) => expect(read(`预算 ${text}`)).toBeNull());

  test.each([
    ['预算 10 guys', 10],
    ['预算 10个月', 10],
    ['预算 10 小时 5', 10],
    ['预算 10 monthly', 10],
    ['budget 10 please', 10],
    ['budget 10 ha', 10],
  ])('but money in %s', (text, amount) => expect(read(text)?.amount).toBe(amount));

  test.each([
    'batch 8 每小时',
    'batch 4-8 每小时',
    'bs8 每小时',
    'size 8/h',
    'crop 8/h',
    'rate = 8/h',
    'rate=8/h',
    '3x8/h',
    '尺寸 8/h',
  ])('after a name: %s', (text) => expect(read(text)).toBeNull());
  test.each(['每卡 8/h', '每卡8/h', 'epoch 8/h', 'epochs 8/h', 'top 8/h', '类 8/h', 'a-8/h'])(
    'after a name: %s',
    (text) => expect(read(text)).toBeNull(),
  );

  test.each([
    ['x = 8/h', cny(8, 'hour')],
    ['batch 4 10/h', cny(10, 'hour')],
    ['预算-5000/月', cny(5000, 'month')],
    ['预算 - 5000/月', cny(5000, 'month')],
  ])('money all the same: %s', (text, want) => expect(read(text)).toEqual(want));

  test.each([
    '8g batch 不能超过 4',
    '显存不能超过 20',
    'memory at most 20',
    'gpus at most 4',
    'gpu 最多 4',
    'card 最多 2',
  ])('a limit of something else: %s', (text) => expect(read(text)).toBeNull());
  test.each([
    'cards 最多 2',
    'image 最多 4',
    'images at most 4',
    'epoch 最多 4',
    'epochs 最多 40',
    '批次最多 4',
    '图最多 4',
  ])('a limit of something else: %s', (text) => expect(read(text)).toBeNull());
  test('a limit of something else in the clause before is none of the sum', () => {
    expect(read('batch 4, 最多 10')).toEqual(cny(10));
    expect(read('一张卡，预算最多 10')).toEqual(cny(10));
  });
});

describe('currencies', () => {
  test.each([
    ['rmb 30/h', cny(30, 'hour')],
    ['cny30/h', cny(30, 'hour')],
    ['USD2.5/hr', usd(2.5, 'hour')],
    ['rmb 5k/月', cny(5000, 'month')],
    ['rmb5k/月', cny(5000, 'month')],
    ['10 kuai/h', cny(10, 'hour')],
    ['5kusd per month', usd(5000, 'month')],
    ['预算 5 k', cny(5000)],
    ['预算 5w', cny(50_000)],
    ['人民币 30/h', cny(30, 'hour')],
    ['usd 30/h', usd(30, 'hour')],
    ['us$30/h', usd(30, 'hour')],
    ['美元 30/h', usd(30, 'hour')],
    ['rmb, 30 美元每天', usd(30, 'day')],
    ['usd or 30 元每天', cny(30, 'day')],
    ['30块/h', cny(30, 'hour')],
    ['30块钱每月', cny(30, 'month')],
  ])('%s', (text, want) => expect(read(text)).toEqual(want));

  test.each([
    '€30/h',
    '€ 30/h',
    'eur 30/h',
    '£30/h',
    '港币 30/h',
    '30 欧元/h',
    '30k 欧元/月',
    '30 euros an hour',
    '3w 日元',
  ])('one that nobody here converts: %s', (text) => expect(read(text)).toBeNull());

  test('a foreign sign further ahead is not that of the sum', () => {
    expect(read('not €, 预算 30/h')).toEqual(cny(30, 'hour'));
  });

  test.each(['价格是 30 元', '单价30元', '售价: 30 元', 'the price is $30', 'cost $30', 'costs: $30'])(
    'a quoted price is no budget: %s',
    (text) => expect(read(text)).toBeNull(),
  );
  test('a price elsewhere does not take the sum', () => {
    expect(read('价格 30 元, 我有 500 元')).toEqual(cny(500));
    expect(read('每小时价格 30 元')).toEqual(cny(30, 'hour'));
  });
});

describe('how amounts are written', () => {
  test.each([
    ['¥2,5/h', cny(2.5, 'hour')],
    ['$ 12,75 an hour', usd(12.75, 'hour')],
    ['¥2,500/月', cny(2500, 'month')],
  ])('a comma for a point only behind a currency sign: %s', (text, want) => expect(read(text)).toEqual(want));

  test('a total without a currency answers the question about money', () => {
    expect(read('总共 2000', { held: undefined, asked: true })).toEqual(cny(2000, 'total'));
    expect(read('总共 2000')).toBeNull();
  });

  test.each([
    ['预算 12,500,000', 12_500_000],
    ['预算 123,456', 123_456],
    ['预算 10 kg2', 10],
    ['预算 10 元', 10],
    ['10元预算', 10],
    ['10 块钱预算', 10],
    ['10块 的 经费', 10],
    ['10 budget', 10],
  ])('%s', (text, amount) => expect(read(text)?.amount).toBe(amount));

  test.each(['预算 ecs.10c4', '预算 10a4', '预算 v10'])('no amount in %s', (text) => expect(read(text)).toBeNull());

  test('a word between two numbers belongs to the second', () => {
    expect(read('10 预算 20')).toEqual(cny(20));
    expect(read('10 元 预算: 20')).toEqual(cny(20));
    expect(read('unet 10 预算, 20 classes')).toEqual(cny(10));
  });

  test.each([
    ['每月 3000 到 5000', cny(5000, 'month')],
    ['每月 3k - 5k', cny(5000, 'month')],
    ['每月 3k-5k', cny(5000, 'month')],
    ['预算3000-5000', cny(5000)],
    ['预算 3000-5000/月', cny(5000, 'month')],
    ['每月 3000元~5000元', cny(5000, 'month')],
    ['每月 3000 块 至 5000', cny(5000, 'month')],
    ['每月 3000块钱到5000', cny(5000, 'month')],
    ['monthly 3000 to 5000', cny(5000, 'month')],
    ['monthly 3,000 and 5,000', cny(5000, 'month')],
    ['3000 to 5000 per month', cny(5000, 'month')],
  ])('the upper end of %s', (text, want) => expect(read(text)).toEqual(want));

  test('the lower end of a range is taken away too', () => {
    const reading = startReading(normalize('unet 每月 2000 到 3000 元 batch 8'));
    readBudget(reading, FRESH);
    expect(reading.rest).not.toMatch(/2000|3000/);
    expect(reading.rest).toContain('batch 8');
  });

  test('months behind a sum are its period, not another sum', () => {
    expect(read('300 美元 1个月')).toEqual(usd(300, 'month'));
    const reading = startReading(normalize('300 美元以内/月 unet'));
    readBudget(reading, FRESH);
    expect(reading.rest).not.toMatch(/300|美元|以内|月/);
    expect(reading.rest).toContain('unet');
  });
});

describe('one of two neighbours', () => {
  test.each([
    ['预算每月三四千', cny(4000, 'month')],
    ['预算每月 3、4 千', cny(4000, 'month')],
    ['预算一两万', cny(20_000)],
    ['预算每小时二三十', cny(30, 'hour')],
  ])('%s', (text, want) => expect(read(text)).toEqual(want));
});

describe('a sum that somebody gave', () => {
  test.each([
    ['一万块能租 A100 多久', cny(10_000, 'total')],
    ['甲方给了 3 万块', cny(30_000, 'total')],
    ['导师批了两万块', cny(20_000, 'total')],
    ['my boss gave me 5000 yuan', cny(5000, 'total')],
    ['we have a grant of $2000', usd(2000, 'total')],
    ['老板给了每月 5000 元', cny(5000, 'month')],
    // too little for more than an hour
    ['老板给了 20 块的预算', cny(20)],
  ])('%s', (text, want) => expect(read(text)).toEqual(want));

  test('beside the weeks of use a total is money, and no batch', () => {
    expect(read('we rent it for 6 weeks and have 9000 in total')).toEqual(cny(6428.57, 'month'));
    expect(read('训练 10 周，一共 2 万')).toEqual(cny(8571.43, 'month'));
    expect(read('training for 10 weeks, total 20000')).toEqual(cny(8571.43, 'month'));
    expect(read('训练 10 周，一共 2 万张图')).toBeNull();
  });
});

describe('for which time', () => {
  test.each([
    ['预算 500，训完为止', cny(500, 'total')],
    ['预算 500 块，训完', cny(500, 'total')],
    ['预算 500，batch 4，训完', cny(500)],
    ['预算 500, 显存 训完', cny(500, 'total')],
    ['总的 batch 16 预算 500', cny(500)],
    ['总batch 16 预算 500', cny(500)],
    ['total bs 16 budget 500', cny(500)],
    ['总共 4 张 预算 500', cny(500)],
    ['总 20 张卡 500 元', cny(500)],
    ['总显存 48 预算 500', cny(500)],
    ['总预算 500', cny(500, 'total')],
    ['花 500 元，每月', cny(500, 'month')],
  ])('%s', (text, want) => expect(read(text)).toEqual(want));

  test.each([
    ['一年预算 3 万', 2500],
    ['每年的经费 12000', 1000],
    ['2027 年经费 120000', 10_000],
    ['2027年的预算 120000', 10_000],
    ['年度预算 12000 元', 1000],
    ['annual budget of 12000', 1000],
    ['budget 12000 per year', 1000],
  ])('a twelfth of a year’s: %s', (text, amount) => expect(read(text)).toEqual(cny(amount, 'month')));
});

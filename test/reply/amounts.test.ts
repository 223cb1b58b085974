import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { TierLine } from '../../src/reply/reply.ts';
import { catalog, prices, reply } from './replies.ts';

const REGIONS = ['cn-hangzhou', 'cn-wulanchabu', 'cn-hongkong', 'ap-southeast-1', 'us-east-1'] as const;
const MODELS = ['unet', 'segformer b0', 'pspnet resnet50', 'deeplabv3+ resnet50', "smp.Unet('resnet34')"] as const;

const question = fc.record({
  model: fc.constantFrom(...MODELS),
  side: fc.constantFrom(256, 512, 768),
  batch: fc.integer({ min: 2, max: 12 }),
  budget: fc.integer({ min: 2, max: 60 }),
  region: fc.constantFrom(...REGIONS),
  locale: fc.constantFrom('zh', 'en'),
});

type Question = typeof question extends fc.Arbitrary<infer Q> ? Q : never;

function textOf({ model, side, batch, budget, region, locale }: Question): string {
  return locale === 'zh'
    ? `${model}，${side}x${side}，每卡${batch}张，19类，预算 ${budget} 元/小时，地域 ${region}`
    : `${model}, ${side}x${side}, batch ${batch} per GPU, 19 classes, budget ${budget} CNY/h, region ${region}`;
}

const numberIn = (text: string): number => Number(/[\d,]+(?:\.\d+)?/.exec(text)?.[0].replace(/,/g, ''));

function hourly({ instance }: TierLine, region: string): number {
  const quote = prices.find(instance, region);
  if (quote === undefined) throw new Error(`${instance} has no price in ${region}`);
  return quote.amountPerHour;
}

/** A printed figure and half a unit of its last digit. */
function printed(text: string): { readonly value: number; readonly half: number } {
  const digits = /\.(\d+)/.exec(text)?.[1]?.length ?? 0;
  return { value: numberIn(text), half: 0.5 * 10 ** -digits };
}

/** The row's own price × the geometric middle of its own seconds, as far as the printed digits carry. */
function checkThousand(line: TierLine, price: number): void {
  const [low, high] = line.secondsPerStep.split('–').map(printed);
  if (low === undefined || high === undefined) throw new Error(`no range in ${line.secondsPerStep}`);
  const amount = (of: number, to: number): number => (price * Math.sqrt(of * to) * 1000) / 3600;
  const shown = printed(line.costPerThousand);
  expect(shown.value + shown.half).toBeGreaterThan(amount(low.value - low.half, high.value - high.half));
  expect(shown.value - shown.half).toBeLessThan(amount(low.value + low.half, high.value + high.half));
}

describe('every amount can be recomputed from the row it stands in', () => {
  test('tiers, verdict and costs, in both languages', () => {
    fc.assert(
      fc.property(question, (asked) => {
        const { blocks, fallback } = reply(textOf(asked));
        const lines = blocks.flatMap((block) => (block.kind === 'tiers' ? block.rows : []));
        expect(lines).toHaveLength(3);
        for (const line of lines) {
          const row = catalog.instance(line.instance);
          if (row !== undefined) {
            expect(row.mode).toBe('passthrough');
            expect(row.docStatus).toMatch(/^listed(?!; invitational)/);
          }
          if (!/\d/.test(line.price)) continue;
          const price = hourly(line, asked.region);
          expect(numberIn(line.price)).toBeCloseTo(price, 2);
          if (/\d/.test(line.costPerThousand)) checkThousand(line, price);
        }
        const costs = blocks.flatMap((block) => (block.kind === 'facts' ? block.items : []));
        const [hour, month] = costs;
        const taken = /ecs\.[\w.-]+/.exec(fallback)?.[0] ?? '';
        if (hour === undefined || month === undefined) return;
        const price = prices.find(taken, asked.region)?.amountPerHour ?? Number.NaN;
        expect(numberIn(hour.value)).toBeCloseTo(price, 2);
        for (const hours of [720, 480])
          expect(month.value).toContain(Math.round(price * hours).toLocaleString('en-US'));
      }),
      { numRuns: 60 },
    );
  }, 120_000);
});

describe('no answer is a dead end', () => {
  const run = 'cityscapes';
  test.each([
    ['unet 512x512 每卡4张 预算 1 元/小时', /预算 ¥1\/时 不够，最划算的是 ecs\./],
    ['unet 512x512 batch 4, budget 1 CNY/h', /nothing fits into ¥1\/h; the best value is ecs\./],
    [
      'unet 512x512 每卡4张 预算 20 元/小时 地域 cn-zhengzhou',
      /cn-zhengzhou 没有放得下又有价格的规格；ecs\..*在 cn-.* 有/,
    ],
    [
      'unet 512x512 batch 4, budget 20 CNY/h, region cn-zhengzhou',
      /no type .* in cn-zhengzhou; ecs\..* is sold in cn-/,
    ],
    ['1 张 A100 40G 多少钱', /cn-wulanchabu ¥28\.43\/时 起.*cn-hangzhou 没有/],
    ['what does one A100 40G cost', /¥28\.43\/h in cn-wulanchabu.*none in cn-hangzhou/],
    ['unet 512x512 每卡4张，A100 40G 够吗', /cn-wulanchabu（¥28\.43\/时）/],
    ['unet 512x512 batch 4, is an A100 40G enough', /cn-wulanchabu \(¥28\.43\/h\)/],
    ['在郑州 deeplabv3+ r101 769 batch 4 预算 20 元/小时', /ecs\.gn6e-c12g1\.3xlarge.*cn-wulanchabu（¥17\.77\/时）/],
    ['unet 512x512 每卡4张 用 H20 预算 20 元/小时', /放得下，需询价/],
    ['unet 512x512 batch 4 on H20, budget 20 CNY/h', /fits, price on request/],
    ['unet 512x512 每卡4张 3 张卡 预算 60 元/小时', /没有.*3.*4×A10/],
    ['unet 512x512, batch 4 per GPU, 3 GPUs, budget 60 CNY/h', /no type has 3 GPUs; the next size: take ecs\..*4×A10/],
    [
      `deeplabv3+ resnet50 512x1024 每卡2张 ${run} 80000 次迭代 预算 40 元/小时 1 小时内跑完`,
      /1 小时内都训不完[\s\S]*来不及，要约/,
    ],
    [
      `deeplabv3+ resnet50 512x1024 batch 2 ${run} 80000 iterations budget 40 CNY/h deadline 1 hour`,
      /within 1 h[\s\S]*too slow: the run takes about/,
    ],
  ])('%s', (text, next) => {
    expect(reply(text).fallback).toMatch(next);
  });

  test('tips of a number of GPUs that nobody sells are about the next number', () => {
    const { blocks } = reply('unet 512x512, batch 4 per GPU, 3 GPUs, budget 60 CNY/h');
    const items = blocks.flatMap((block) => (block.kind === 'list' ? block.items : []));
    expect(items.join('\n')).toMatch(/batch up to \d+ per GPU on A10/);
  });
});

test.each([
  ['nnunet 2d 512x512 batch 12, budget 20 CNY/h', false],
  ['unet 512x512 batch 12, budget 20 CNY/h', true],
])('accumulation warns of BatchNorm only where there is one: %s', (text, warns) => {
  const said = JSON.stringify(reply(text).blocks);
  expect(said).toMatch(/accumulation steps/);
  expect(/BatchNorm then sees only/.test(said)).toBe(warns);
});

test.each([
  ['unet 512x512 batch 8，包月多少钱', '包月 ¥4,845/月（按量 ¥10.09/时）', '/月'],
  [
    'unet 512x512 batch 8, how much as a monthly subscription?',
    '¥4,845/month as a subscription (¥10.09/h pay',
    '/month',
  ],
])('who asks for a subscription reads the month: %s', (asked, verdict, unit) => {
  const { blocks, fallback } = reply(asked);
  expect(fallback).toContain(verdict);
  const lines = blocks.flatMap((block) => (block.kind === 'tiers' ? block.rows : []));
  for (const { price, instance } of lines.filter((line) => /\d/.test(line.price))) {
    expect(price).toContain(unit);
    expect(numberIn(price)).toBe(Math.round((prices.find(instance, 'cn-hangzhou')?.amountPerHour ?? 0) * 480));
  }
});

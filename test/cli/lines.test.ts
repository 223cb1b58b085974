import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { z } from 'zod';

import { loadCatalog } from '../../catalog/index.ts';
import { createPriceBook } from '../../catalog/price-book.ts';
import { createConverseAnswer } from '../../src/cli/converse-command.ts';
import { createEstimateAnswer } from '../../src/cli/estimate-command.ts';
import { createRecommendAnswer } from '../../src/cli/recommend-command.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

const catalog = loadCatalog();
const ports = { ...answerPorts, prices: createPriceBook(catalog.prices) };
const config = { region: 'cn-hangzhou', locale: 'zh' } as const;

const bytesSchema = z.object({
  parameters: z.number(),
  base: z.number(),
  allocatedPeak: z.number(),
  reserved: z.number(),
  device: z.number(),
  input: z.number(),
});
const estimateSchema = z.object({
  id: z.union([z.string(), z.number()]),
  model: z.object({
    id: z.string(),
    implementation: z.string(),
    architecture: z.string(),
    backbone: z.string().nullable(),
  }),
  assumed: z.array(z.string()),
  parameters: z.number().int(),
  forwardMacs: z.number(),
  bytes: bytesSchema,
  peak: z.object({ phase: z.enum(['forward', 'backward', 'step']), operation: z.string(), module: z.string() }),
  secondsPerIteration: z.record(z.string(), z.tuple([z.number(), z.number()])).optional(),
  uncertainty: z.object({ relative: z.number(), reason: z.string() }),
});
const fitSchema = z.object({
  status: z.string(),
  instanceType: z.string().nullable(),
  gpu: z.string(),
  neededGiB: z.number(),
});
const recommendSchema = z.object({
  id: z.string(),
  tiers: z.array(fitSchema),
  recommended: fitSchema.extend({ reason: z.string() }).nullable(),
  own: fitSchema.nullable(),
  tips: z.array(z.object({ id: z.string(), savesGiB: z.number(), timeFactor: z.number(), note: z.string() })),
});

const estimateOf = (line: object) => estimateSchema.parse(createEstimateAnswer(ports)({ id: 1, ...line }));
const recommendOf = (line: object) => recommendSchema.parse(createRecommendAnswer(ports, config)({ id: 'r', ...line }));
const R50 = { model: 'deeplabv3+ resnet50' };

describe('estimate lines', () => {
  test('golden row of the traces: DeepLabV3+ R50 at 2×512×1024 needs 7.03 GiB', () => {
    const { parameters, bytes } = estimateOf({
      ...R50,
      imageHeight: 512,
      imageWidth: 1024,
      batchSize: 2,
      numClasses: 19,
    });
    expect(parameters).toBe(43_589_878);
    expect(Math.abs(bytes.allocatedPeak / 1024 ** 3 - 7.03)).toBeLessThan(0.07);
    expect(bytes.device).toBeGreaterThan(bytes.reserved);
    expect(bytes.reserved).toBeGreaterThanOrEqual(bytes.allocatedPeak);
  });

  test('defaults are documented and listed: 512×512, batch 4, 19 classes, fp32', () => {
    const { assumed, bytes } = estimateOf(R50);
    expect(assumed).toEqual(
      expect.arrayContaining([
        'implementation',
        'imageHeight',
        'imageWidth',
        'batchSize',
        'numClasses',
        'precision',
        'optimizer',
      ]),
    );
    expect(bytes.input).toBe(4 * 3 * 512 * 512 * 4);
  });

  test('what the name says is no assumption, and what the line says wins over the name', () => {
    const config = 'deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024';
    const named = estimateOf({ model: config });
    for (const field of ['imageHeight', 'imageWidth', 'batchSize', 'numClasses'])
      expect(named.assumed).not.toContain(field);
    expect(named.bytes.input).toBe(2 * 3 * 512 * 1024 * 4);
    expect(estimateOf({ model: config, batchSize: 1 }).bytes.input).toBe(3 * 512 * 1024 * 4);
  });

  test('one side given means a square', () => {
    expect(estimateOf({ ...R50, imageHeight: 256 }).bytes.input).toBe(4 * 3 * 256 * 256 * 4);
  });

  test('the library decides the network: implementation wins over the documented default', () => {
    expect(estimateOf(R50).model.implementation).toBe('mmseg');
    const smp = estimateOf({ ...R50, implementation: 'smp' });
    expect(smp.model.implementation).toBe('smp');
    expect(smp.bytes.allocatedPeak).toBeLessThan(estimateOf(R50).bytes.allocatedPeak);
    expect(estimateOf({ model: 'deeplabv3+', backbone: 'resnet101' }).model.backbone).toBe('resnet101');
  });

  test('amp is fp16; null is the same as absent', () => {
    const half = estimateOf({ ...R50, precision: 'amp' });
    expect(half.bytes).toEqual(estimateOf({ ...R50, precision: 'fp16' }).bytes);
    expect(estimateOf({ ...R50, precision: null, gpus: null }).bytes).toEqual(estimateOf(R50).bytes);
  });

  test('times only for the GPU that was named, or for all', () => {
    expect(estimateOf(R50).secondsPerIteration).toBeUndefined();
    const times = estimateOf({ ...R50, gpu: 'A10' }).secondsPerIteration ?? {};
    expect(Object.keys(times)).toEqual(['A10']);
    const [low = 0, high = 0] = times['A10'] ?? [];
    expect(low).toBeGreaterThan(0);
    expect(high).toBeGreaterThan(low);
    expect(Object.keys(estimateOf({ ...R50, gpu: 'all' }).secondsPerIteration ?? {}).length).toBeGreaterThan(50);
  });

  test.each([
    [{ model: 'foobarnet' }, 'unknown-model'],
    [{ ...R50, implementation: 'keras' }, 'unknown-model'],
    [{ ...R50, batchSize: 0 }, 'out-of-range'],
    [{ ...R50, batchSize: -1 }, 'out-of-range'],
    [{ ...R50, imageHeight: 40_000 }, 'out-of-range'],
    [{ ...R50, imageHeight: 0 }, 'out-of-range'],
    [{ ...R50, imageHeight: 1.5 }, 'invalid-input'],
    [{ ...R50, precision: 'int8' }, 'invalid-input'],
    [{ ...R50, gpu: 'RTX 9999' }, 'unknown-gpu'],
    [{ ...R50, torch: 'new' }, 'invalid-input'],
    [{ model: '' }, 'out-of-range'],
    [{}, 'invalid-input'],
  ])('%j gives %s', (line, code) => {
    expect(() => estimateOf(line)).toThrow(expect.objectContaining({ code }));
  });

  test('any line of the right shape gives an estimate or a coded error', () => {
    const field = fc.record(
      {
        model: fc.constantFrom('unet', 'segformer b0', 'smp.Unet("resnet34")', 'fcn_resnet50', 'pspnet r50'),
        imageHeight: fc.integer({ min: 1, max: 700 }),
        imageWidth: fc.integer({ min: 1, max: 700 }),
        batchSize: fc.integer({ min: 1, max: 9 }),
        numClasses: fc.integer({ min: 1, max: 160 }),
        precision: fc.constantFrom('fp32', 'fp16', 'bf16', 'amp'),
        optimizer: fc.constantFrom('sgd', 'adam', 'adamw'),
        gpus: fc.integer({ min: 1, max: 9 }),
        gradientCheckpointing: fc.boolean(),
      },
      { requiredKeys: ['model'] },
    );
    fc.assert(
      fc.property(field, (line) => {
        try {
          expect(estimateOf(line).bytes.allocatedPeak).toBeGreaterThan(0);
        } catch (error) {
          expect(error).toMatchObject({ code: expect.stringMatching(/^(unsupported-combination|out-of-range)$/) });
        }
      }),
      { numRuns: 150 },
    );
  });
});

describe('recommend lines', () => {
  const run = { ...R50, imageHeight: 512, imageWidth: 1024, batchSize: 2 };
  const within = { amount: 15, currency: 'CNY', period: 'hour' };

  test('three tiers and a recommendation within the budget', () => {
    const { tiers, recommended, own } = recommendOf({ ...run, budget: within });
    expect(tiers).toHaveLength(3);
    expect(recommended?.instanceType).toBe('ecs.gn7i-c16g1.4xlarge');
    expect(recommended?.status).toBe('fits');
    expect(own).toBeNull();
  });

  test('a named GPU restricts the tiers, the recommendation stays free', () => {
    const { tiers, recommended } = recommendOf({ ...run, gpu: 'T4', budget: within });
    expect(tiers.map(({ gpu }) => gpu)).toEqual(['T4']);
    expect(recommended?.gpu).toBe('A10');
    expect(recommendOf({ ...run, gpu: 'ecs.gn7i-c8g1.2xlarge' }).tiers.map(({ instanceType }) => instanceType)).toEqual(
      ['ecs.gn7i-c8g1.2xlarge'],
    );
  });

  test.each(['FOO 9000', 'gn99', 'ecs.gn7i-c8g1.4xlarge'])('%s is in no table: said, not ignored', (gpu) => {
    expect(() => recommendOf({ ...run, gpu })).toThrow(expect.objectContaining({ code: 'unknown-gpu' }));
  });

  test('a region that the vendor does not have is said, with those that have prices', () => {
    expect(() => recommendOf({ ...run, region: 'cn-mars' })).toThrow(
      expect.objectContaining({
        code: 'invalid-input',
        message: expect.stringMatching(/cn-mars.*cn-hangzhou.*us-west-1/),
      }),
    );
    expect(recommendOf({ ...run, region: 'eu-west-1' }).recommended).toBeNull();
    expect(recommendOf({ ...run, region: 'cn-shanghai' }).recommended).not.toBeNull();
  });

  test.each(['V100', 'gn7i', 'ecs.gn6e-c12g1.3xlarge', 'RTX 4090', 'ebmgn7e'])('%s is known', (gpu) => {
    expect(recommendOf({ ...run, gpu }).tiers.length).toBeGreaterThan(0);
  });

  test('AMP is timed in the precision that its tip names', () => {
    const line = { model: 'segformer b2', imageHeight: 512, imageWidth: 512, batchSize: 8 };
    const tip = recommendOf({ ...line, budget: within }).tips.find(({ id }) => id === 'amp');
    const middle = (precision: string): number => {
      const [low, high] = estimateOf({ ...line, precision, gpu: 'A10' }).secondsPerIteration?.['A10'] ?? [0, 0];
      return Math.sqrt(low * high);
    };
    expect(tip?.note).toContain('bf16');
    expect(Math.abs((tip?.timeFactor ?? 0) - middle('bf16') / middle('fp32'))).toBeLessThan(0.03);
  });

  test('an own card is judged beside the rented ones', () => {
    expect(recommendOf({ ...run, ownGpu: { name: 'RTX 3090' } }).own?.status).toBe('fits');
    expect(recommendOf({ ...run, ownGpu: { memoryGiB: 4 } }).own?.status).not.toBe('fits');
    expect(() => recommendOf({ ...run, ownGpu: { name: 'Voodoo 2' } })).toThrow(
      expect.objectContaining({ code: 'unknown-gpu', details: expect.objectContaining({ field: 'ownGpu.name' }) }),
    );
    expect(recommendOf({ ...run, ownGpu: { name: 'Voodoo 2', memoryGiB: 24 } }).own?.status).toBe('fits');
  });

  test('the estimate is the same as of `estimate`, and the id is echoed as it came', () => {
    const line = { id: 7, ...run };
    const { id: _, ...plain } = estimateSchema.parse(createEstimateAnswer(ports)(line));
    expect(createRecommendAnswer(ports, config)(line)).toMatchObject({
      id: 7,
      estimate: JSON.parse(JSON.stringify(plain)),
    });
  });
});

describe('scripted conversations', () => {
  const turnSchema = z.object({
    intent: z.string(),
    intents: z.array(z.string()),
    slots: z.record(z.string(), z.unknown()),
    artifact: z.unknown(),
    asks: z.string().nullable(),
    reply: z.string(),
  });
  const converseOf = (turns: readonly string[], locale?: string) =>
    z
      .object({ id: z.string(), turns: z.array(turnSchema) })
      .parse(createConverseAnswer(ports, config)({ id: 'c', locale, turns: turns.map((user) => ({ user })) })).turns;

  test('hold their slots over the turns and say what is asked', () => {
    const turns = converseOf([
      '我想训个分割模型，要多大的卡',
      'deeplabv3+，resnet101',
      '512x512',
      '8',
      '每小时15块以内',
    ]);
    expect(turns.map(({ asks }) => asks)).toEqual(['model', 'imageHeight', 'batchSize', 'budget', null]);
    expect(turns[4]?.slots).toMatchObject({
      model: 'deeplabv3plus',
      backbone: 'resnet101',
      imageHeight: 512,
      batchSize: 8,
      budget: { amount: 15, currency: 'CNY', period: 'hour' },
    });
    expect(turns[4]?.reply).toMatch(/^需要 /);
  });

  test('a default is an assumption, not a slot', () => {
    const turns = converseOf(['unet', '随便', '随便', '随便']);
    expect(turns[3]?.slots).toEqual({ model: 'unet' });
    expect(turns[3]?.asks).toBeNull();
  });

  test('lines are independent', () => {
    const answer = createConverseAnswer(ports, config);
    const line = { id: 1, turns: [{ user: 'unet' }] };
    expect(answer(line)).toEqual(answer(line));
  });
});

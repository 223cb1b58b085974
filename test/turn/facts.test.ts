import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { factsFor } from '../../src/turn/beliefs.ts';
import { prefillFields } from '../../src/turn/prefill.ts';
import { priceFacts } from '../../src/turn/prices.ts';
import { recipeFacts } from '../../src/turn/recipe.ts';
import { requestFromSlots } from '../../src/turn/request.ts';
import type { Slots } from '../../src/understanding/understanding.ts';
import { workloadFromSlots } from '../../src/workload/from-slots.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

const { catalog } = answerPorts;
const root = dirname(dirname(import.meta.dirname));

describe('a recipe on other GPUs', () => {
  test('keeps the total batch by accumulation', () => {
    const recipe = recipeFacts({ gpus: 1 }, { batchSize: 2, batchScope: 'per_gpu', gpus: 8 });
    expect(recipe).toMatchObject({
      totalBatch: 16,
      fromGpus: 8,
      fromBatch: 2,
      gpus: 1,
      batchPerGpu: 2,
      accumulation: 8,
    });
  });

  test('a total batch is shared', () => {
    const recipe = recipeFacts({ gpus: 2 }, { batchSize: 16, batchScope: 'total', gpus: 4 });
    expect(recipe).toMatchObject({ totalBatch: 16, fromBatch: 4, gpus: 2, batchPerGpu: 4, accumulation: 2 });
  });

  test('micro-batch × accumulation × GPUs never loses an image', () => {
    const count = fc.integer({ min: 1, max: 64 });
    fc.assert(
      fc.property(count, count, count, (batchSize, from, to) => {
        const recipe = recipeFacts({ gpus: to }, { batchSize, batchScope: 'per_gpu', gpus: from });
        if (recipe === null) throw new Error('no recipe');
        const { batchPerGpu, accumulation, gpus, totalBatch, options } = recipe;
        expect(batchPerGpu * accumulation * gpus).toBeGreaterThanOrEqual(totalBatch);
        for (const one of options) expect(one.batchPerGpu * one.accumulation).toBe(batchPerGpu * accumulation);
      }),
    );
  });

  test('nothing to translate without a batch', () => {
    expect(recipeFacts({ gpus: 1 }, {})).toBeNull();
  });
});

describe('a request to the advice', () => {
  const run: Slots = { model: 'unet', imageHeight: 512, imageWidth: 512, batchSize: 8 };
  const requestOf = (slots: Slots) =>
    requestFromSlots(slots, workloadFromSlots(slots, catalog), { region: 'cn-hangzhou', usdCny: 7.1 });

  test('a budget without a period is an hourly price, or a month where it is too large for one', () => {
    const budgets = [15, 349, 351, 5_000].map(
      (amount) => requestOf({ ...run, budget: { amount, currency: 'CNY' } }).budget?.period,
    );
    expect(budgets).toEqual(['hour', 'hour', 'month', 'month']);
    expect(requestOf({ ...run, budget: { amount: 60, currency: 'USD' } }).budget?.period).toBe('month');
    expect(requestOf({ ...run, budget: { amount: 9, currency: 'CNY', period: 'total' } }).budget?.period).toBe('total');
  });

  test('a total batch is per GPU once the GPUs are known, and free to share before', () => {
    const shared = requestOf({ ...run, batchSize: 16, batchScope: 'total', gpus: 4 });
    expect(shared.workload.batchSize).toBe(4);
    expect(shared.freeTotalBatch).toBeNull();
    const free = requestOf({ ...run, batchSize: 16, batchScope: 'total' });
    expect(free.freeTotalBatch).toBe(16);
  });

  test('own cards are owned, named ones restrict, machines are told from cards', () => {
    const own = requestOf({ ...run, gpu: { name: 'RTX 3090' }, owned: true, gpus: 2 });
    expect(own.own).toEqual({ name: 'RTX 3090', count: 2 });
    expect(own.only).toBeNull();
    const named = requestOf({ ...run, gpu: [{ name: 'A10' }, { family: 'gn6v' }] });
    expect(named.only).toEqual({ gpus: [{ name: 'A10' }], instances: ['gn6v'] });
  });

  test('figures outside what can be trained are refused by field', () => {
    const cases = [{ batchSize: 0 }, { imageHeight: 40_000 }, { gpus: 0 }, { numClasses: 0 }];
    for (const wrong of cases) {
      expect(() => requestOf({ ...run, ...wrong })).toThrow(
        expect.objectContaining({ code: 'out-of-range', details: { field: Object.keys(wrong)[0] } }),
      );
    }
  });
});

describe('prices', () => {
  test('of a card, a family or a type, the cheapest per GPU first, with date and region', () => {
    const [a10] = priceFacts({ gpu: { name: 'A10' } }, answerPorts);
    expect(a10?.offers[0]).toMatchObject({
      instanceType: 'ecs.gn7i-c8g1.2xlarge',
      gpus: 1,
      amountPerHour: expect.closeTo(9.53, 2),
    });
    const perGpu = a10?.offers.map((offer) => Math.round((offer.amountPerHour / offer.gpus) * 100)) ?? [];
    expect([...perGpu].sort((left, right) => left - right)).toEqual(perGpu);
    for (const name of ['A10', 'A100', 'V100', 'T4']) {
      expect(priceFacts({ gpu: { name } }, answerPorts)[0]?.offers[0]?.gpus).toBe(1);
    }
    expect(priceFacts({ gpu: { family: 'gn6i' } }, answerPorts)[0]?.offers.length).toBeGreaterThan(0);
    expect(priceFacts({ gpu: { instance: 'ecs.gn7i-c16g1.4xlarge' } }, answerPorts)[0]?.offers).toHaveLength(1);
  });

  test('elsewhere in the country before abroad: prices of two currencies are not compared', () => {
    const [l20] = priceFacts({ gpu: { name: 'L20' } }, answerPorts);
    expect(l20?.offers.length).toBeGreaterThan(0);
    expect(l20?.offers.every(({ region, currency }) => region.startsWith('cn-') && currency === 'CNY')).toBe(true);
    expect(l20?.notIn).toBe('cn-hangzhou');
  });

  test('of cards with a memory size', () => {
    const [sized] = priceFacts({ gpu: { memoryGiB: 24 } }, answerPorts);
    expect(sized?.offers[0]).toMatchObject({ card: 'A10', instanceType: 'ecs.gn7i-c8g1.2xlarge' });
  });

  test('of a number of GPUs; none where nothing is public', () => {
    const [eight] = priceFacts({ gpu: { name: 'A10' }, gpus: 8 }, answerPorts);
    expect(eight?.offers.every(({ gpus }) => gpus === 8)).toBe(true);
    expect(priceFacts({ gpu: { name: 'RTX 3090' } }, answerPorts)[0]?.offers).toEqual([]);
  });
});

describe('facts for beliefs', () => {
  const source = readFileSync(join(root, 'src/understanding/intents/beliefs.ts'), 'utf8');
  const ids = [...source.matchAll(/\bid: '([a-z0-9-]+)'/g)].map(([, id = '']) => id);

  test('every belief that can be heard has its fact', () => {
    expect(ids.length).toBeGreaterThan(10);
    for (const id of ids) expect(factsFor([id], catalog), id).toHaveLength(1);
  });

  test('families and types are put right from the catalogue, the known ones with their own words', () => {
    expect(factsFor(['family:gn7e'], catalog)[0]?.id).toBe('gn7e-is-a100');
    expect(factsFor(['family:gn6i'], catalog)[0]).toMatchObject({
      id: 'family-is',
      values: { gpu: expect.stringContaining('T4') },
    });
    expect(factsFor(['family:gn42'], catalog)[0]?.id).toBe('family-unknown');
    expect(factsFor(['instance:ecs.gn7i-c8g1.4xlarge'], catalog)[0]?.id).toBe('gn7i-c8g1-4xlarge-is-no-type');
    expect(factsFor(['instance:ecs.gn7i-c9g9.9xlarge'], catalog)[0]?.values['types']).toContain('ecs.gn7i');
  });

  test('two beliefs with one fact are put right once', () => {
    expect(factsFor(['no-bf16', 'no-tf32'], catalog)).toHaveLength(1);
  });
});

test('slots as the text fields of a form', () => {
  const budget = { amount: 15, currency: 'CNY', period: 'hour' } as const;
  expect(prefillFields({ model: 'unet', imageHeight: 512, imageWidth: 1024, batchSize: 2, budget })).toEqual({
    model: 'unet',
    size: '512x1024',
    batch: '2',
    budget: '15 CNY/hour',
  });
  expect(prefillFields({})).toEqual({});
});

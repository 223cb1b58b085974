import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { builtInModels } from '../../catalog/models.ts';
import { applyChanges, mergeSlots, namedGpus, pricedGpus, requiredSlots, without } from '../../src/dialog/slots.ts';
import type { SlotChange, Slots } from '../../src/understanding/understanding.ts';

describe('merging', () => {
  const held: Slots = {
    model: 'deeplabv3plus',
    backbone: 'resnet50',
    imageHeight: 512,
    imageWidth: 1024,
    batchSize: 2,
  };

  test('what is said replaces what was held, the rest stays', () => {
    expect(mergeSlots(held, { batchSize: 8 })).toEqual({ ...held, batchSize: 8 });
  });

  test('another model on any backbone keeps the backbone and drops what belonged to the old one', () => {
    const merged = mergeSlots(
      { ...held, implementation: 'mmseg', outputStride: 8, modelText: 'x_r50' },
      { model: 'pspnet' },
    );
    expect(merged).toEqual({ model: 'pspnet', backbone: 'resnet50', imageHeight: 512, imageWidth: 1024, batchSize: 2 });
  });

  test.each([
    [
      { ...held, auxiliaryHead: true, baseChannels: 32, modelText: 'x' },
      { model: 'pspnet' },
      { ...held, model: 'pspnet' },
    ],
    [{ ...held, outputStride: 8 }, { model: 'deeplabv3plus' }, { ...held, outputStride: 8 }],
    [
      { ...held, modelText: 'x' },
      { model: 'deeplabv3plus', backbone: 'resnet50' },
      { ...held, modelText: 'x' },
    ],
    [{ ...held, modelText: 'x' }, { batchSize: 4 }, { ...held, modelText: 'x', batchSize: 4 }],
    [
      { model: 'unet', modelText: 'x' },
      { backbone: 'resnet34' },
      { model: 'unet', modelText: 'x', backbone: 'resnet34' },
    ],
    [{ ...held, modelText: 'x' }, { implementation: 'smp' }, { ...held, implementation: 'smp' }],
    [{ epochs: 3, trainImages: 10 }, { batchSize: 2 }, { epochs: 3, trainImages: 10, batchSize: 2 }],
    [{ iterations: 3 }, { batchSize: 2 }, { iterations: 3, batchSize: 2 }],
  ] satisfies [Slots, Slots, Slots][])('%j and %j are %j', (before, said, after) => {
    expect(mergeSlots(before, said)).toEqual(after);
  });

  test('every network that the catalogue builds on a ResNet carries it over, unless its encoder is its own', () => {
    const own = new Set(['bisenetv1', 'icnet', 'segformer']);
    const { backbonesOf } = builtInModels();
    const onResNet = [...backbonesOf].filter(([, backbones]) => backbones.some((name) => name.startsWith('resnet')));
    const carries = new Set(['oneformer', ...onResNet.map(([row]) => row.architecture)]);
    expect(carries.size).toBeGreaterThan(30);
    for (const { architecture } of backbonesOf.keys()) {
      const { backbone } = mergeSlots({ model: 'anything', backbone: 'resnet50' }, { model: architecture });
      expect([architecture, backbone !== undefined]).toEqual([
        architecture,
        carries.has(architecture) && !own.has(architecture),
      ]);
    }
  });

  test.each(['mit-b2', 'mscan-t', 'stdc1', 'hrnet-w18'])('%s belongs to one network', (backbone) => {
    expect(mergeSlots({ model: 'segformer', backbone }, { model: 'unet' })).toEqual({ model: 'unet' });
    expect(mergeSlots({ model: 'unet', backbone: `timm-${backbone}` }, { model: 'fpn' }).backbone).toBeDefined();
  });

  test('a model with its own encoder drops the backbone', () => {
    expect(mergeSlots(held, { model: 'segformer' }).backbone).toBeUndefined();
    expect(mergeSlots({ model: 'segformer', backbone: 'mit-b2' }, { model: 'unet' }).backbone).toBeUndefined();
  });

  test('a backbone that was said before its model is kept', () => {
    expect(mergeSlots({ backbone: 'mit-b5' }, { model: 'segformer' })).toEqual({
      model: 'segformer',
      backbone: 'mit-b5',
    });
  });

  test('another backbone makes the pasted name worthless', () => {
    expect(mergeSlots({ ...held, modelText: 'config' }, { backbone: 'resnet101' }).modelText).toBeUndefined();
  });

  test('a budget without a period keeps the held one', () => {
    const month = { amount: 5000, currency: 'CNY', period: 'month' } as const;
    const merged = mergeSlots({ budget: month }, { budget: { amount: 3000, currency: 'CNY' } });
    expect(merged.budget).toEqual({ ...month, amount: 3000 });
    const day = { amount: 100, currency: 'CNY', period: 'day' } as const;
    expect(mergeSlots({ budget: month }, { budget: day }).budget).toEqual(day);
    const bare = { amount: 100, currency: 'CNY' } as const;
    expect(mergeSlots({ budget: bare }, { budget: { ...bare, amount: 3 } }).budget).toStrictEqual({
      ...bare,
      amount: 3,
    });
  });

  test('another card is not owned because the one before was', () => {
    expect(mergeSlots({ gpu: { name: 'RTX 3090' }, owned: true }, { gpu: { name: 'A10' } }).owned).toBeUndefined();
  });

  test('a card that is refused is held no more', () => {
    const [t4, a10, l20] = [{ name: 'T4' }, { name: 'A10' }, { name: 'L20' }];
    expect(mergeSlots({ gpu: t4, owned: true }, { avoid: ['T4'] })).toEqual({ avoid: ['T4'] });
    expect(mergeSlots({ gpu: [t4, a10] }, { avoid: ['T4'] }).gpu).toEqual(a10);
    expect(mergeSlots({ gpu: [t4, a10, l20] }, { avoid: ['T4'] }).gpu).toEqual([a10, l20]);
    expect(mergeSlots({ gpu: a10, owned: true }, { avoid: ['T4'] })).toEqual({ gpu: a10, owned: true, avoid: ['T4'] });
    const [large, small] = [{ memoryGiB: 24 }, { memoryGiB: 16 }];
    expect(mergeSlots({ gpu: [t4, large] }, { avoid: ['T4'] }).gpu).toEqual(large);
    expect(mergeSlots({ gpu: [large, small] }, { avoid: ['T4'] }).gpu).toEqual([large, small]);
    expect(mergeSlots({ model: 'unet' }, { avoid: ['T4'] })).toEqual({ model: 'unet', avoid: ['T4'] });
  });

  test('refused cards add up, until one is asked about after all', () => {
    expect(mergeSlots({ avoid: ['T4'] }, { avoid: ['V100', 'T4'] }).avoid).toEqual(['T4', 'V100']);
    expect(mergeSlots({ avoid: ['T4', 'V100'] }, { gpu: { name: 'T4' } }).avoid).toEqual(['V100']);
    expect(mergeSlots({ avoid: ['T4'] }, { gpu: { name: 'T4' } })).toEqual({ gpu: { name: 'T4' } });
    expect(mergeSlots({}, { model: 'unet' })).toStrictEqual({ model: 'unet' });
  });

  test('the length of a run is said in one way at a time', () => {
    expect(mergeSlots({ iterations: 40_000 }, { epochs: 100 })).toEqual({ epochs: 100 });
    expect(mergeSlots({ epochs: 100 }, { iterations: 40_000 })).toEqual({ iterations: 40_000 });
  });

  test('saying the same again changes nothing', () => {
    const amount = fc.integer({ min: 1, max: 4096 });
    fc.assert(
      fc.property(
        fc.record({ model: fc.constantFrom('unet', 'fcn', 'segformer'), batchSize: amount, imageHeight: amount }),
        (slots) => {
          expect(mergeSlots(slots, slots)).toEqual(slots);
        },
      ),
    );
  });
});

describe('relative changes', () => {
  test('double, halve, never below one', () => {
    expect(applyChanges({ batchSize: 4 }, [{ slot: 'batchSize', multiply: 2 }])).toEqual({ batchSize: 8 });
    expect(applyChanges({ batchSize: 1 }, [{ slot: 'batchSize', multiply: 0.5 }])).toEqual({ batchSize: 1 });
    expect(applyChanges({}, [{ slot: 'batchSize', multiply: 2 }])).toEqual({});
    expect(applyChanges({}, [{ slot: 'gpus', multiply: 2 }])).toEqual({ gpus: 2 });
  });

  test('both sides of an image', () => {
    const slots = { imageHeight: 1504, imageWidth: 1129 };
    expect(applyChanges(slots, [{ slot: 'imageSize', multiply: 0.5 }])).toEqual({ imageHeight: 752, imageWidth: 565 });
    expect(applyChanges(slots, [{ slot: 'imageSize', swap: true }])).toEqual({ imageHeight: 1129, imageWidth: 1504 });
  });

  test.each([
    [{ imageHeight: 512 }, { slot: 'imageSize', multiply: 2 }, { imageHeight: 1024 }],
    [{ imageWidth: 512 }, { slot: 'imageSize', multiply: 2 }, { imageWidth: 1024 }],
    [{ imageHeight: 512 }, { slot: 'imageSize', swap: true }, { imageWidth: 512 }],
    [
      { imageWidth: 512, batchSize: 2 },
      { slot: 'imageSize', swap: true },
      { imageHeight: 512, batchSize: 2 },
    ],
    [{ model: 'unet' }, { slot: 'budget', multiply: 2 }, { model: 'unet' }],
    [{ gpus: 2 }, { slot: 'gpus', multiply: 2 }, { gpus: 4 }],
  ] satisfies [Slots, SlotChange, Slots][])('%j changed by %j is %j', (slots, change, after) => {
    expect(applyChanges(slots, [change])).toStrictEqual(after);
  });

  test('a budget keeps currency and period', () => {
    const budget = { amount: 10, currency: 'CNY', period: 'hour' } as const;
    expect(applyChanges({ budget }, [{ slot: 'budget', multiply: 1.5 }])).toEqual({
      budget: { ...budget, amount: 15 },
    });
  });

  test('clearing takes along what belongs to the slot', () => {
    expect(applyChanges({ batchSize: 2, batchScope: 'total' }, [{ slot: 'batchSize', clear: true }])).toEqual({});
    expect(applyChanges({ gpu: { name: 'A10' }, owned: true }, [{ slot: 'gpu', clear: true }])).toEqual({});
    expect(applyChanges({ model: 'unet', backbone: 'resnet34' }, [{ slot: 'model', clear: true }])).toEqual({});
    expect(applyChanges({ imageHeight: 5, imageWidth: 5 }, [{ slot: 'imageWidth', clear: true }])).toEqual({});
    expect(applyChanges({ imageHeight: 5, imageWidth: 5 }, [{ slot: 'imageHeight', clear: true }])).toEqual({});
    expect(applyChanges({ gpus: 2, epochs: 5 }, [{ slot: 'epochs', clear: true }])).toEqual({ gpus: 2 });
    const ofModel = {
      implementation: 'smp',
      modelText: 'x',
      outputStride: 8,
      auxiliaryHead: true,
      baseChannels: 8,
    } as const;
    const model: Slots = { model: 'unet', backbone: 'resnet34', ...ofModel };
    expect(applyChanges({ ...model, gpus: 2 }, [{ slot: 'model', clear: true }])).toEqual({ gpus: 2 });
  });
});

describe('required slots', () => {
  test.each([
    ['size', 'model imageHeight batchSize budget'],
    ['what_if', 'model imageHeight batchSize budget'],
    ['fits', 'model imageHeight batchSize'],
    ['compare', 'model imageHeight batchSize'],
    ['price', 'model imageHeight batchSize'],
    ['oom_report', 'model imageHeight batchSize'],
    ['measurement', 'model imageHeight batchSize'],
    ['max_batch', 'model imageHeight'],
    ['max_size', 'model batchSize'],
    ['translate', 'batchSize'],
    ['undo', ''],
    ['help', ''],
    ['reset', ''],
    ['greeting', ''],
    ['unknown', ''],
  ] as const)('of %s: %s', (intent, slots) => {
    expect(requiredSlots(intent, {}).join(' ')).toBe(slots);
  });

  test('who names a card has chosen', () => {
    expect(requiredSlots('size', { gpu: { name: 'A10' } })).toEqual(['model', 'imageHeight', 'batchSize']);
  });

  test.each(['sam', 'swin-unet', 'transunet'])('%s has one input size', (model) => {
    expect(requiredSlots('size', { model })).toEqual(['model', 'batchSize', 'budget']);
    expect(requiredSlots('size', { model: 'unet' })).toContain('imageHeight');
  });
});

test('cards whose price is meant', () => {
  const [named, bare] = [{ name: 'A10' }, { memoryGiB: 24 }];
  expect(pricedGpus({ gpu: [named, bare], owned: true })).toEqual([named, bare]);
  expect(pricedGpus({ model: 'unet', gpu: [named, bare] })).toEqual([named]);
  expect(pricedGpus({ model: 'unet', gpu: [{ instance: 'ecs.x' }, { family: 'gn7i' }] })).toHaveLength(2);
  expect(pricedGpus({ model: 'unet', gpu: named, owned: true })).toEqual([]);
  expect(pricedGpus({ model: 'unet', gpu: named, owned: false })).toEqual([named]);
});

test('cards as a list', () => {
  expect(namedGpus({})).toEqual([]);
  expect(namedGpus({ gpu: { name: 'A10' } })).toEqual([{ name: 'A10' }]);
  expect(namedGpus({ gpu: [{ name: 'A10' }, { name: 'T4' }] })).toHaveLength(2);
});

test('without', () => {
  expect(without({ model: 'unet', batchSize: 2 }, ['batchSize'])).toEqual({ model: 'unet' });
});

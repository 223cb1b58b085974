import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { applyChanges, mergeSlots, namedGpus, requiredSlots, without } from '../../src/dialog/slots.ts';
import type { Slots } from '../../src/understanding/understanding.ts';

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
  });

  test('another card is not owned because the one before was', () => {
    expect(mergeSlots({ gpu: { name: 'RTX 3090' }, owned: true }, { gpu: { name: 'A10' } }).owned).toBeUndefined();
  });

  test('a card that is refused is held no more', () => {
    const [t4, a10, l20] = [{ name: 'T4' }, { name: 'A10' }, { name: 'L20' }];
    expect(mergeSlots({ gpu: t4, owned: true }, { avoid: ['T4'] })).toEqual({ avoid: ['T4'] });
    expect(mergeSlots({ gpu: [t4, a10] }, { avoid: ['T4'] }).gpu).toEqual(a10);
    expect(mergeSlots({ gpu: [t4, a10, l20] }, { avoid: ['T4'] }).gpu).toEqual([a10, l20]);
    expect(mergeSlots({ gpu: a10, owned: true }, { avoid: ['T4'] })).toMatchObject({ gpu: a10, owned: true });
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
  });
});

test('required slots by intent; a network of one input size is not asked for it', () => {
  expect(requiredSlots('size', {})).toEqual(['model', 'imageHeight', 'batchSize', 'budget']);
  expect(requiredSlots('size', { gpu: { name: 'A10' } })).not.toContain('budget');
  expect(requiredSlots('fits', {})).toEqual(['model', 'imageHeight', 'batchSize']);
  expect(requiredSlots('max_size', {})).toEqual(['model', 'batchSize']);
  expect(requiredSlots('size', { model: 'sam' })).not.toContain('imageHeight');
});

test('cards as a list', () => {
  expect(namedGpus({})).toEqual([]);
  expect(namedGpus({ gpu: { name: 'A10' } })).toEqual([{ name: 'A10' }]);
  expect(namedGpus({ gpu: [{ name: 'A10' }, { name: 'T4' }] })).toHaveLength(2);
});

test('without', () => {
  expect(without({ model: 'unet', batchSize: 2 }, ['batchSize'])).toEqual({ model: 'unet' });
});

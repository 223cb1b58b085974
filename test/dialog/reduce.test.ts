import { describe, expect, test } from 'vitest';

import type { Ambiguity, Intent, Understanding } from '../../src/understanding/understanding.ts';
import { talk } from './heard.ts';

const model = { model: 'unet' };
const sized = { ...model, imageHeight: 512, imageWidth: 512, batchSize: 8 };
const a10 = { gpu: { name: 'A10' } };
const twice = { slot: 'gpus', multiply: 2 } as const;
const clearBudget = { slot: 'budget', clear: true } as const;

type Said = Partial<Understanding>;
const reached = (...messages: readonly Said[]) => talk(...messages).last.state;

describe('the intent that goes on being served', () => {
  test.each<Intent>(['size', 'fits', 'max_batch', 'max_size', 'compare', 'price', 'oom_report', 'translate'])(
    '%s is served',
    (intent) => {
      expect(reached({ intent }).intent).toBe(intent);
      expect(reached({ intent }, { intent: 'unknown' }).intent).toBe(intent);
    },
  );

  test.each<Intent>(['measurement', 'help', 'greeting', 'unknown'])('%s is an aside', (intent) => {
    expect(reached({ intent }).intent).toBeNull();
    expect(reached({ intent: 'fits' }, { intent }).intent).toBe('fits');
  });

  test.each<[string, readonly Said[], Intent | null]>([
    [
      'a price is followed by its run',
      [
        { intent: 'price', slots: a10 },
        { intent: 'unknown', slots: model },
      ],
      'size',
    ],
    [
      'a price of another card',
      [
        { intent: 'price', slots: a10 },
        { intent: 'unknown', slots: a10 },
      ],
      'price',
    ],
    ['a price in between', [{ intent: 'fits' }, { intent: 'price', slots: a10 }], 'fits'],
    ['another question', [{ intent: 'fits' }, { intent: 'max_batch' }], 'max_batch'],
    ['a button before any question', [{ intent: 'unknown', command: 'details' }], 'size'],
    [
      'a button',
      [
        { intent: 'fits', slots: sized },
        { intent: 'max_batch', command: 'cheaper' },
      ],
      'fits',
    ],
    ['a what-if before any question', [{ intent: 'what_if', slots: model }], 'size'],
    ['a what-if', [{ intent: 'fits' }, { intent: 'what_if', slots: model }], 'fits'],
    ['a failure that lacks its run', [{ intent: 'oom_report' }, { intent: 'what_if', slots: model }], 'oom_report'],
    [
      'a change after a failure was explained',
      [
        { intent: 'oom_report', slots: sized },
        { intent: 'what_if', slots: { batchSize: 4 } },
      ],
      'size',
    ],
  ])('%s', (_, messages, intent) => {
    expect(reached(...messages).intent).toBe(intent);
  });
});

describe('networks that are compared', () => {
  const compare = ['unet', 'fcn'];
  const asked: Said = { intent: 'compare', compare };
  const answered: Said = { ...asked, slots: sized };

  test.each<[string, readonly Said[], boolean]>([
    ['two networks', [asked], true],
    ['two networks on a card', [{ ...asked, slots: a10 }], true],
    ['two cards', [{ ...asked, slots: { gpu: [{ name: 'A10' }, { name: 'T4' }] } }], false],
    ['one network', [{ intent: 'compare', compare: ['unet'] }], false],
    ['wait for what is asked', [asked, { intent: 'unknown', slots: { epochs: 5 } }], true],
    ['another network', [asked, { intent: 'unknown', slots: model }], false],
    ['another question', [asked, { intent: 'size' }], false],
    ['another size', [answered, { intent: 'what_if', changes: [{ slot: 'imageSize', multiply: 2 }] }], true],
    ['another number of cards', [answered, { intent: 'what_if', changes: [twice] }], true],
    ['another budget', [answered, { intent: 'what_if', changes: [clearBudget] }], false],
    ['another length', [answered, { intent: 'what_if', slots: { epochs: 5 } }], false],
    ['another length and batch', [answered, { intent: 'what_if', slots: { epochs: 5, batchSize: 2 } }], false],
    ['nothing', [answered, { intent: 'what_if' }], false],
  ])('%s', (_, messages, kept) => {
    const state = reached(...messages);
    if (kept) expect(state.compared).toEqual(compare);
    else expect(state).not.toHaveProperty('compared');
  });

  test.each<Said['slots'] & object>([
    { imageHeight: 512 },
    { imageWidth: 512 },
    { batchSize: 2 },
    { batchScope: 'total' },
    { gpus: 2 },
    a10,
    { owned: true },
    { precision: 'fp16' },
    { numClasses: 2 },
    { inputChannels: 1 },
    { optimizer: 'sgd' },
    { loss: 'dice' },
    { dataset: 'ade20k' },
    { attention: 'sdpa' },
    { gradientCheckpointing: true },
  ])('stay when %j changes', (slots) => {
    expect(reached(answered, { intent: 'what_if', slots }).compared).toEqual(compare);
  });
});

describe('an open choice', () => {
  const open = (slot: Ambiguity['slot']): Said => ({
    intent: 'unknown',
    ambiguities: [{ slot, typed: 'b5', candidates: [] }],
  });
  const clearModel = { slot: 'model', clear: true } as const;

  test.each<[string, readonly Said[], boolean]>([
    ['the slot itself', [open('model'), { slots: { model: 'segformer' } }], true],
    ['a backbone before any model', [open('model'), { slots: { backbone: 'mit-b5' } }], true],
    ['a backbone of a known model', [{ slots: model }, open('model'), { slots: { backbone: 'mit-b5' } }], false],
    ['a backbone where a budget was unclear', [open('budget'), { slots: { backbone: 'mit-b5' } }], false],
    ['another slot', [open('model'), { slots: { batchSize: 8 } }], false],
    ['a default for a model', [open('model'), { acceptsDefault: true }], false],
    ['a default for a budget', [open('budget'), { acceptsDefault: true }], true],
    ['nothing about a budget', [open('budget'), {}], false],
    ['a change of something else', [open('model'), { changes: [twice] }], false],
    ['a change of the slot among others', [open('model'), { changes: [twice, clearModel] }], true],
    ['undo', [{ slots: model }, { slots: { batchSize: 8 } }, open('model'), { intent: 'undo' }], true],
  ])('%s settles it: %#', (_, messages, settled) => {
    expect(reached(...messages).choice === undefined).toBe(settled);
  });

  test('the rest of what is known stays', () => {
    const state = reached({ intent: 'fits', slots: { batchSize: 8 } }, open('model'), {
      intent: 'unknown',
      slots: model,
    });
    expect(state).toMatchObject({ intent: 'fits', slots: { batchSize: 8, model: 'unet' }, locale: 'en' });
    expect(reached({ slots: model }, { intent: 'fits', slots: { batchSize: 8 } }, { intent: 'undo' })).toMatchObject({
      intent: 'size',
      slots: model,
      schema: 1,
    });
  });
});

test('the figures of a failure are kept, not the list of processes', () => {
  const artifact = { kind: 'cuda_oom', diagnosis: 'too_big', totalGiB: 24, gpus: [{ index: 0 }] } as const;
  const { gpus: _, ...figures } = artifact;
  expect(reached({ intent: 'oom_report', artifact }).failure).toStrictEqual(figures);
  expect(reached({ intent: 'measurement', artifact })).not.toHaveProperty('failure');
  expect(reached({ intent: 'oom_report' })).not.toHaveProperty('failure');
});

test('a card that was asked for is an own one, unless said otherwise', () => {
  const asked: Said = { command: 'own-card' };
  expect(reached(asked, { slots: a10 }).slots).toEqual({ ...a10, owned: true });
  expect(reached(asked, { slots: { ...a10, owned: false } }).slots).toEqual({ ...a10, owned: false });
  expect(reached(asked, { slots: model }).slots).toEqual(model);
  expect(reached({ slots: a10 }).slots).toEqual(a10);
});

test.each<[string, readonly Said[], readonly string[]]>([
  ['a default without a question', [{ acceptsDefault: true }], []],
  ['a default', [{ slots: model }, { acceptsDefault: true }], ['imageHeight']],
  ['no budget', [{ slots: model, changes: [clearBudget] }], ['budget']],
  ['a smaller budget', [{ slots: model, changes: [{ slot: 'budget', multiply: 0.5 }] }], []],
  ['another slot cleared', [{ slots: model, changes: [{ slot: 'batchSize', clear: true }] }], []],
  ['a budget after all', [{ changes: [clearBudget] }, { slots: { budget: { amount: 1, currency: 'CNY' } } }], []],
])('waived by %s', (_, messages, waived) => {
  expect(reached(...messages).waived).toEqual(waived);
});

test('only a message that changes something can be undone', () => {
  expect(reached({ slots: model }, { slots: model }).history).toEqual([]);
  expect(reached({ slots: model }, { slots: { batchSize: 8 } }).history.map(({ slots }) => slots)).toEqual([model]);
  const own = { ...a10, owned: true };
  expect(reached({ slots: { ...own, batchSize: 8 } }, { slots: own }).history).toEqual([]);
});

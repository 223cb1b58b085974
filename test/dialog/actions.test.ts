import { describe, expect, test } from 'vitest';

import { isOnlyBelief } from '../../src/dialog/policy.ts';
import type { Ambiguity, Artifact, Understanding } from '../../src/understanding/understanding.ts';
import { heard, talk } from './heard.ts';

const model = { model: 'unet' };
const size = { imageHeight: 512, imageWidth: 512 };
const batch = { batchSize: 8 };
const budget = { budget: { amount: 10, currency: 'CNY', period: 'hour' } } as const;
const full = { ...model, ...size, ...batch, ...budget };
const sized = { ...model, ...size, ...batch };
const a10 = { gpu: { name: 'A10' } };
const twice = { slot: 'gpus', multiply: 2 } as const;
const smi: Artifact = { kind: 'nvidia_smi', diagnosis: null };
const ambiguity: Ambiguity = {
  slot: 'model',
  typed: 'b5',
  candidates: [{ label: 'SegFormer B5', say: 'segformer b5' }],
};
const elicit = (slot: string, attempt = 1) => ({ kind: 'ElicitSlot', slot, attempt });
const answer = (intent: string) => ({ kind: 'Answer', intent });

type Said = Partial<Understanding>;

test.each<[string, readonly Said[], object]>([
  ['reset', [{ intent: 'reset' }], { kind: 'Close', reason: 'reset' }],
  ['help', [{ intent: 'help' }], { kind: 'Help' }],
  ['greeting', [{ intent: 'greeting' }], { kind: 'Greet' }],
  [
    'foreign to the question',
    [{ slots: model }, { intent: 'unknown', outOfScope: ['buying'] }],
    { kind: 'Decline', topic: 'buying' },
  ],
  ['slots without an intent', [{ intent: 'unknown', slots: model }], elicit('imageHeight')],
  ['a change without an intent', [{ intent: 'unknown', changes: [twice] }], elicit('model')],
  ['a default without a question', [{ intent: 'unknown', acceptsDefault: true }], elicit('model')],
  ['a pasted text without an intent', [{ intent: 'unknown', artifact: smi }], elicit('model')],
  ['a belief without an intent', [{ intent: 'unknown', beliefs: ['t4'] }], answer('size')],
  ['a name in no table', [{ intent: 'unknown', unknownNames: ['foonet'] }], elicit('model')],
  ['a change is progress', [{ slots: model }, { changes: [twice] }], elicit('imageHeight')],
  ['another slot was asked', [{ slots: model }, { command: 'change-budget' }, {}], elicit('imageHeight')],
  ['why it is asked', [{ slots: model }, { command: 'explain' }], elicit('imageHeight')],
  [
    'a budget with its button',
    [{ slots: full }, { command: 'change-budget', slots: { budget: { amount: 5, currency: 'CNY' } } }],
    answer('size'),
  ],
  ['a card with its button', [{ slots: full }, { command: 'own-card', slots: a10 }], answer('size')],
  ['nothing said about the budget', [{ slots: sized }, {}], elicit('budget', 2)],
  ['a change instead of a budget', [{ slots: sized }, { changes: [twice] }], answer('size')],
  ['a button instead of a budget', [{ slots: sized }, { command: 'cheaper' }], answer('size')],
  ['why a budget is asked', [{ slots: sized }, { command: 'explain' }], elicit('budget')],
  [
    'a budget asked early is no reason to skip',
    [{ slots: model }, { command: 'change-budget' }, { slots: batch }],
    elicit('imageHeight'),
  ],
  ['a price of no card', [{ intent: 'price' }], elicit('model')],
  ['a price of a run', [{ intent: 'price', slots: sized }], answer('price')],
  ['a recipe without its batch', [{ intent: 'translate', slots: { gpus: 4 } }], elicit('batchSize')],
  [
    'a recipe beside an open choice',
    [{ ambiguities: [ambiguity] }, { intent: 'translate', slots: { batchSize: 2, gpus: 4 } }],
    answer('translate'),
  ],
  [
    'a batch beside an open choice',
    [{ ambiguities: [ambiguity] }, { intent: 'translate', slots: batch }],
    { kind: 'ConfirmSlot', ambiguity, attempt: 2 },
  ],
  ['a pasted measurement', [{ intent: 'measurement', artifact: smi }], answer('measurement')],
  ['a told measurement', [{ intent: 'measurement' }], elicit('model')],
  [
    'a pasted measurement of a run that lost its size',
    [{ slots: full }, { intent: 'measurement', artifact: smi, changes: [{ slot: 'imageHeight', clear: true }] }],
    elicit('imageHeight'),
  ],
  ['no budget after an answer', [{ intent: 'fits', slots: sized }, { intent: 'size' }], answer('size')],
  ['a belief beside a batch', [{ slots: model }, { beliefs: ['t4'], slots: batch }], elicit('imageHeight')],
])('%s', (_, messages, action) => {
  expect(talk(...messages).action).toEqual(action);
});

test.each<[Said, boolean]>([
  [{ beliefs: ['t4'] }, true],
  [{}, false],
  [{ beliefs: ['t4'], slots: { ...a10, precision: 'fp16', owned: true } }, true],
  [{ beliefs: ['t4'], slots: { ...a10, batchSize: 8 } }, false],
  [{ beliefs: ['t4'], changes: [twice] }, false],
])('%j is only a belief: %s', (said, expected) => {
  expect(isOnlyBelief(heard(said))).toBe(expected);
});

describe('an open choice', () => {
  test('is asked again, with more help each time', () => {
    const { turns } = talk({ ambiguities: [ambiguity] }, { slots: batch }, { intent: 'unknown' });
    expect(turns.map(({ action }) => action)).toEqual(
      [1, 2, 3].map((attempt) => ({ kind: 'ConfirmSlot', ambiguity, attempt })),
    );
  });

  test('starts over after another question', () => {
    const { action } = talk({ ambiguities: [ambiguity] }, { command: 'change-budget' }, { slots: batch });
    expect(action).toEqual({ kind: 'ConfirmSlot', ambiguity, attempt: 1 });
  });
});

test.each<[string, readonly Said[], object]>([
  ['a measurement still lacks its run', [{ intent: 'measurement', artifact: smi }], { asked: 'model', attempts: 1 }],
  ['nothing is lacking', [{ slots: full }, { intent: 'measurement' }], { asked: null, attempts: 0, answered: true }],
  ['the price of a card answers no run', [{ intent: 'price', slots: { ...model, ...a10 } }], { answered: false }],
  ['the price of a run does', [{ intent: 'price', slots: sized }], { answered: true }],
  ['a run on a named card is no price', [{ slots: { ...full, ...a10 } }], { answered: true }],
  [
    'a recipe answers no run',
    [{ intent: 'translate', slots: { batchSize: 2, gpus: 4 } }],
    { answered: false, asked: null },
  ],
  ['a belief at the start', [{ beliefs: ['t4'] }], { asked: 'model', attempts: 1, answered: false }],
  ['a belief after an answer', [{ slots: full }, { beliefs: ['t4'] }], { asked: null, attempts: 0 }],
  [
    'what was asked came with the price',
    [{ slots: size }, { intent: 'price', slots: { ...model, ...a10 } }],
    { asked: null },
  ],
  [
    'a choice outlives a price',
    [{ slots: model }, { ambiguities: [ambiguity] }, { intent: 'price', slots: a10 }],
    { asked: 'model', attempts: 1 },
  ],
])('afterwards: %s', (_, messages, state) => {
  expect(talk(...messages).last.state).toMatchObject(state);
});

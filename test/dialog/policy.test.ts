import { describe, expect, test } from 'vitest';

import type { Ambiguity, Understanding } from '../../src/understanding/understanding.ts';
import { talk } from './heard.ts';

const model = { model: 'unet' };
const size = { imageHeight: 512, imageWidth: 512 };
const batch = { batchSize: 8 };
const budget = { budget: { amount: 10, currency: 'CNY', period: 'hour' } } as const;
const full = { ...model, ...size, ...batch, ...budget };
const ambiguity: Ambiguity = {
  slot: 'model',
  typed: 'b5',
  candidates: [{ label: 'SegFormer B5', say: 'segformer b5' }],
};

describe('slot filling', () => {
  test('asks one missing slot at a time, in order, and then answers', () => {
    const { asked, action } = talk({}, { slots: model }, { slots: size }, { slots: batch }, { slots: budget });
    expect(asked).toEqual(['model', 'imageHeight', 'batchSize', 'budget', null]);
    expect(action).toEqual({ kind: 'Answer', intent: 'size' });
  });

  test('takes everything from one message', () => {
    expect(talk({ slots: full }).action).toEqual({ kind: 'Answer', intent: 'size' });
  });

  test('asks again with more help when a message brings nothing', () => {
    const { turns } = talk({ slots: model }, {}, { intent: 'unknown' });
    expect(turns.map(({ action }) => (action.kind === 'ElicitSlot' ? action.attempt : 0))).toEqual([1, 2, 3]);
  });

  test('progress in another slot is no failed attempt', () => {
    const { action } = talk({ slots: model }, { slots: budget });
    expect(action).toEqual({ kind: 'ElicitSlot', slot: 'imageHeight', attempt: 1 });
  });

  test('a default that was accepted is an assumption, not a slot', () => {
    const { last } = talk({ slots: model }, { acceptsDefault: true });
    expect(last.state.slots).toEqual(model);
    expect(last.state.waived).toEqual(['imageHeight']);
    expect(last.state.asked).toBe('batchSize');
  });

  test('no limit on the budget is an answer to the question', () => {
    const { action } = talk({ slots: { ...model, ...size, ...batch } }, { changes: [{ slot: 'budget', clear: true }] });
    expect(action).toEqual({ kind: 'Answer', intent: 'size' });
  });

  test('a budget question is dropped when the person goes on changing things', () => {
    const { action, last } = talk(
      { slots: { ...model, ...size, ...batch } },
      { intent: 'what_if', slots: { batchSize: 16 } },
    );
    expect(action).toEqual({ kind: 'Answer', intent: 'size' });
    expect(last.state.answered).toBe(true);
  });

  test('fits and comparisons need no budget', () => {
    expect(talk({ intent: 'fits', slots: { ...model, ...size, ...batch } }).action.kind).toBe('Answer');
    expect(talk({ intent: 'compare', slots: { ...model, ...size, ...batch } }).action.kind).toBe('Answer');
  });
});

describe('after an answer', () => {
  test('what-ifs refine it and serve the same intent', () => {
    const { action, last } = talk({ intent: 'fits', slots: full }, { intent: 'what_if', slots: { batchSize: 4 } });
    expect(action).toEqual({ kind: 'Answer', intent: 'fits' });
    expect(last.state.slots.batchSize).toBe(4);
  });

  test('another question in the same message is the one that is answered', () => {
    const { action } = talk(
      { slots: full },
      { intent: 'what_if', intents: ['what_if', 'max_batch'], slots: { gpus: 2 } },
    );
    expect(action).toEqual({ kind: 'Answer', intent: 'max_batch' });
  });

  test('undo goes back one change at a time, until there is nothing', () => {
    const undo: Partial<Understanding> = { intent: 'undo' };
    const { turns } = talk({ slots: full }, { intent: 'what_if', slots: { batchSize: 4 } }, undo, undo, undo);
    expect(turns.map(({ state }) => state.slots.batchSize)).toEqual([8, 4, 8, 8, 8]);
    expect(turns.map(({ action }) => (action.kind === 'Close' ? action.reason : '')).slice(2)).toEqual([
      'undo',
      'nothing-to-undo',
      'nothing-to-undo',
    ]);
  });

  test('the history is bounded', () => {
    const changes = Array.from({ length: 40 }, (_, index) => ({
      intent: 'what_if' as const,
      slots: { batchSize: index + 10 },
    }));
    expect(talk({ slots: full }, ...changes).last.state.history.length).toBeLessThanOrEqual(10);
  });

  test('a new request starts afresh', () => {
    const { last } = talk({ slots: full }, { startsAfresh: true, slots: { model: 'fcn' } });
    expect(last.state.slots).toEqual({ model: 'fcn' });
    expect(last.state.answered).toBe(false);
  });

  test('reset forgets, and can itself be undone', () => {
    const { turns, action } = talk({ slots: full }, { intent: 'reset' }, { intent: 'undo' });
    expect(turns[1]?.state.slots).toEqual({});
    expect(action).toEqual({ kind: 'Close', reason: 'undo' });
    expect(turns[2]?.state.slots).toEqual(full);
  });

  test('buttons without a value ask for it', () => {
    expect(talk({ slots: full }, { command: 'change-budget' }).action).toEqual({
      kind: 'ElicitSlot',
      slot: 'budget',
      attempt: 2,
    });
    const { turns } = talk({ slots: full }, { command: 'own-card' }, { slots: { gpu: { name: 'RTX 3090' } } });
    expect(turns[1]?.action).toEqual({ kind: 'ElicitSlot', slot: 'gpu', attempt: 1 });
    expect(turns[2]?.state.slots).toMatchObject({ gpu: { name: 'RTX 3090' }, owned: true });
  });

  test('follow-ups about an answer do not change what is served', () => {
    const { last, action } = talk({ intent: 'fits', slots: full }, { intents: ['price'], command: 'cheaper' });
    expect(action).toEqual({ kind: 'Answer', intent: 'fits' });
    expect(last.state.intent).toBe('fits');
  });
});

describe('asides', () => {
  test('help and greetings leave the open question open', () => {
    for (const intent of ['help', 'greeting'] as const) {
      const { last } = talk({ slots: model }, { intent });
      expect(last.state.asked).toBe('imageHeight');
      expect(['Help', 'Greet']).toContain(last.action.kind);
    }
  });

  test('a price asked in between is answered, the question stays', () => {
    const { last, action } = talk({ slots: model }, { intent: 'price', slots: { gpu: { name: 'A10' } } });
    expect(action).toEqual({ kind: 'Answer', intent: 'price' });
    expect(last.state.asked).toBe('imageHeight');
    expect(last.state.intent).toBe('size');
  });

  test('a wrong belief alone is corrected without sizing anything', () => {
    const { last, action } = talk({ slots: model }, { beliefs: ['h20-domestic'] });
    expect(action.kind).toBe('Answer');
    expect(last.state.asked).toBe('imageHeight');
    expect(last.state.answered).toBe(false);
  });

  test('what cannot be estimated is declined, whatever else was said', () => {
    for (const topic of ['inference', 'llm', '3d', 'detection']) {
      expect(talk({ slots: full, outOfScope: [topic] }).action).toEqual({ kind: 'Decline', topic });
    }
    expect(talk({ slots: full, outOfScope: ['other-cloud'] }).action.kind).toBe('Answer');
    expect(talk({ intent: 'unknown' }).action).toEqual({ kind: 'Decline', topic: 'unclear' });
    expect(talk({ intent: 'unknown', outOfScope: ['buying'] }).action).toEqual({ kind: 'Decline', topic: 'buying' });
  });

  test('a close call is asked, not guessed', () => {
    const { action, last } = talk({ ambiguities: [ambiguity] });
    expect(action).toEqual({ kind: 'ConfirmSlot', ambiguity, attempt: 1 });
    expect(last.state.asked).toBe('model');
  });
});

describe('failures', () => {
  test('a pasted failure is read at once, and what is missing asked for', () => {
    const { action, last } = talk({ intent: 'oom_report', artifact: { kind: 'cuda_oom', diagnosis: 'too_big' } });
    expect(action).toEqual({ kind: 'Answer', intent: 'oom_report' });
    expect(last.state.asked).toBe('model');
  });

  test('a told reason is enough to answer', () => {
    expect(talk({ intent: 'oom_report', toldDiagnosis: 'validation' }).action.kind).toBe('Answer');
    expect(talk({ intent: 'oom_report' }).action).toEqual({ kind: 'ElicitSlot', slot: 'model', attempt: 1 });
  });

  test('a measurement after an answer is compared', () => {
    const { action } = talk({ slots: full }, { intents: ['measurement'], measured: { deviceGiB: 9 } });
    expect(action).toEqual({ kind: 'Answer', intent: 'measurement' });
  });
});

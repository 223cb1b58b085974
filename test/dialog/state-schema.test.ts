import { expect, test } from 'vitest';

import { takeTurn } from '../../src/dialog/policy.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import { parseDialogState, slotNames } from '../../src/dialog/state-schema.ts';
import { heard } from './heard.ts';

test('a state survives being stored as JSON', () => {
  const slots = {
    model: 'unet',
    gpu: [{ name: 'A10' }, { memoryGiB: 24 }],
    budget: { amount: 1.5, currency: 'USD' },
    outputStride: 16,
    precision: 'amp',
  } as const;
  const { state } = takeTurn(initialState('zh'), heard({ slots }));
  expect(parseDialogState(JSON.parse(JSON.stringify(state)))).toEqual(state);
});

test('networks that wait to be compared survive it too', () => {
  const asked = heard({
    intent: 'compare',
    intents: ['compare'],
    compare: ['unet', 'segformer b2'],
    slots: { model: 'unet' },
  });
  const { state } = takeTurn(initialState('zh'), asked);
  expect(state.compared).toEqual(['unet', 'segformer b2']);
  expect(parseDialogState(JSON.parse(JSON.stringify(state)))).toEqual(state);
});

test('a state of another version, and anything else, is no state', () => {
  expect(parseDialogState({ ...initialState('zh'), schema: 2 })).toBeUndefined();
  expect(parseDialogState({ ...initialState('zh'), slots: { batchSize: '8' } })).toBeUndefined();
  expect(parseDialogState(undefined)).toBeUndefined();
  expect(parseDialogState('')).toBeUndefined();
});

test('slot names are those of the schema', () => {
  expect(slotNames).toContain('batchSize');
  expect(slotNames).toContain('hoursPerMonth');
});

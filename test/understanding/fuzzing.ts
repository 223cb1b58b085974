import fc from 'fast-check';
import { expect } from 'vitest';
import type { DialogState } from '../../src/dialog/dialog-state.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import { hear } from '../conversations/replay.ts';
import { anyMessage } from './messages.ts';

const NUMERIC = [
  'imageHeight',
  'imageWidth',
  'batchSize',
  'gpus',
  'numClasses',
  'inputChannels',
  'iterations',
  'epochs',
  'trainImages',
  'deadlineHours',
  'hoursPerMonth',
  'gradientAccumulation',
] as const;

function checkState(state: DialogState): void {
  const { slots } = state;
  for (const name of NUMERIC) {
    const value = slots[name];
    if (value !== undefined) expect(Number.isFinite(value), `${name} ${value}`).toBe(true);
  }
  if (slots.budget !== undefined) expect(Number.isFinite(slots.budget.amount)).toBe(true);
  expect(JSON.parse(JSON.stringify(state))).toEqual(state);
}

/** Conversations of random messages: nothing throws, every number is finite, the state is plain JSON. */
export function fuzzConversations(messages: number): void {
  const perConversation = 4;
  fc.assert(
    fc.property(fc.array(anyMessage, { minLength: perConversation, maxLength: perConversation }), (texts) => {
      let state = initialState('zh');
      for (const text of texts) {
        const turn = hear(state, text);
        state = turn.state;
        expect(turn.heard.understanding.intents.length).toBeGreaterThan(0);
        expect(turn.heard.understanding.intents[0]).toBe(turn.heard.intent);
        checkState(state);
      }
    }),
    { numRuns: Math.ceil(messages / perConversation) },
  );
}

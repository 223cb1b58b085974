import { describe, expect, test } from 'vitest';

import { initialState } from '../../src/dialog/reduce.ts';
import { takeConversationTurn } from '../../src/turn/take-turn.ts';
import { withTakenDefaults } from '../../src/turn/taken-defaults.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

const { catalog } = answerPorts;

function slotsAfter(...texts: readonly string[]) {
  return texts.reduce((state, text) => takeConversationTurn(state, text, answerPorts).state, initialState('zh')).slots;
}

describe('a change relative to a default', () => {
  test.each([
    [['segformer b2', '512', '随便', 'batch 翻倍'], { batchSize: 8 }],
    [['segformer b2 512', '随便', '预算不限', 'batch 减半'], { batchSize: 2 }],
    [['segformer b2', '随便', 'batch 8', '图放大 2 倍'], { imageHeight: 1024, imageWidth: 1024, batchSize: 8 }],
    [['yolov8s-seg 640', '随便', 'batch 翻倍'], { batchSize: 32 }],
  ])('%j', (texts, slots) => {
    expect(slotsAfter(...texts)).toMatchObject(slots);
  });

  test('is none as long as the question is open', () => {
    expect(slotsAfter('segformer b2', 'batch 翻倍').batchSize).toBeUndefined();
  });

  test('leaves a network that nobody knows to the turn', () => {
    const state = { ...initialState('en'), slots: { model: 'no such network' }, answered: true };
    expect(withTakenDefaults(state, [{ slot: 'batchSize', multiply: 2 }], catalog)).toBe(state);
  });
});

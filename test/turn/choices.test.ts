import { describe, expect, test } from 'vitest';

import type { DialogState } from '../../src/dialog/dialog-state.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import type { Locale } from '../../src/message.ts';
import { takeConversationTurn } from '../../src/turn/take-turn.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

/** First lines of the replies, and the state at the end. */
function talk(locale: Locale, ...texts: readonly string[]) {
  let state: DialogState = initialState(locale);
  const replies = texts.map((text) => {
    const turn = takeConversationTurn(state, text, answerPorts);
    state = turn.state;
    return turn.reply.fallback;
  });
  return { replies, firsts: replies.map((reply) => reply.split('\n')[0] ?? ''), state };
}

describe('a name that could be two networks', () => {
  test('stays open until one is chosen: reason, examples, default', () => {
    const { firsts, state } = talk('zh', 'b3 512x512 batch 8', '嗯……', '这个那个', '呃');
    expect(firsts[0]).toContain('SegFormer B3');
    expect(firsts[1]).toContain('还没定下');
    expect(firsts[2]).toBe('不说的话"b3"按 SegFormer B3 算，行吗？');
    expect(firsts[3]).toBe(firsts[2]);
    expect(state.slots.model).toBeUndefined();
    expect(state.choice?.typed).toBe('b3');
  });

  test('is not settled by other facts', () => {
    const { firsts, state } = talk('en', 'b3 batch 8', '512x512');
    expect(firsts[1]).toContain('SegFormer B3');
    expect(state).toMatchObject({ asked: 'model', slots: { batchSize: 8, imageHeight: 512 } });
  });

  test.each([
    ['segformer', 'mit-b3'],
    ['the first one', 'mit-b3'],
    ['1', 'mit-b3'],
  ])('%s settles it', (answer, backbone) => {
    const { state } = talk('en', 'b3 512x512 batch 8', answer);
    expect(state.slots).toMatchObject({ model: 'segformer', backbone });
    expect(state.choice).toBeUndefined();
  });

  test('a backbone of the other family settles it, and the network is asked for', () => {
    const { state } = talk('zh', 'b3 512x512 batch 8', '后者');
    expect(state.slots).toMatchObject({ backbone: 'efficientnet-b3' });
    expect(state).toMatchObject({ asked: 'model' });
    expect(state.choice).toBeUndefined();
  });

  test('left to the bot, what is taken is said', () => {
    const { replies, state } = talk('zh', 'b3 512x512 batch 8', '随便');
    expect(replies[1]).toContain('按 SegFormer B3 算');
    expect(state.slots).toMatchObject({ model: 'segformer', backbone: 'mit-b3' });
  });

  test('a yes takes the default once it was named, not before', () => {
    const early = talk('en', 'b3 512x512 batch 8', 'yes');
    expect(early.state.slots.model).toBeUndefined();
    const late = talk('en', 'b3 512x512 batch 8', 'hm', 'well', 'ok');
    expect(late.state.slots.model).toBe('segformer');
    expect(late.replies[3]).toContain('Taking SegFormer B3');
  });

  test('an aside leaves it open', () => {
    const { replies, state } = talk('zh', 'b3 512x512 batch 8', 'A10 多少钱一小时');
    expect(replies[1]).toContain('¥');
    expect(state.choice?.typed).toBe('b3');
  });
});

test('a yes takes any default that was named', () => {
  const { state } = talk('zh', 'unet', '嗯嗯？', '呃呃', '行');
  expect(state.waived).toEqual(['imageHeight']);
  expect(state.asked).toBe('batchSize');
});

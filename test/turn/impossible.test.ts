import { describe, expect, test } from 'vitest';

import type { DialogState } from '../../src/dialog/dialog-state.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import type { Locale } from '../../src/message.ts';
import { takeConversationTurn } from '../../src/turn/take-turn.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

function talk(locale: Locale, ...texts: readonly string[]) {
  let state: DialogState = initialState(locale);
  let reply = '';
  for (const text of texts) {
    const turn = takeConversationTurn(state, text, answerPorts);
    state = turn.state;
    reply = turn.reply.fallback;
  }
  return { reply, state };
}

describe('sides that nobody trains at', () => {
  const refused = /^(?:the image height is outside what can be trained \(16 to|图的高超出了能训练的范围（16 到)/;

  test.each<[Locale, readonly string[]]>([
    ['en', ['unet 8x8 batch 8, no budget limit']],
    ['zh', ['unet 15x512 batch 8 预算不限']],
    ['en', ['unet batch 8', '8']],
    ['en', ['unet batch 8', '8x12']],
    ['zh', ['unet batch 8，预算不限', '12x12']],
    ['zh', ['unet 512 batch 8', '裁 8x8']],
  ])('%s: %s', (locale, texts) => {
    const { reply, state } = talk(locale, ...texts);
    expect(reply).toMatch(refused);
    expect(state.asked).toBe('imageHeight');
    expect(talk(locale, ...texts, '256x256').state.slots).toMatchObject({ imageHeight: 256, imageWidth: 256 });
  });

  test.each([
    'unet 3x3 conv, 512, batch 8',
    'unet 512 batch 8, 4x4 grid',
    'unet 512, 4x4, batch 8',
    'swin-t upernet 512 7x7 windows bs 4',
  ])('%s: a kernel or a grid is no size', (text) =>
    expect(talk('en', text).state.slots).toMatchObject({ imageHeight: 512, imageWidth: 512 }),
  );
});

describe('fewer cards than one', () => {
  test.each<[Locale, readonly string[], RegExp]>([
    ['en', ['unet 512 batch 8 on -1 GPUs'], /^the number of GPUs is outside what can be trained \(1 to/],
    ['zh', ['unet 512 batch 8，-1 张卡'], /^卡数超出了能训练的范围/],
    ['en', ['unet 512 batch 8', '-1 GPUs'], /^the number of GPUs is outside/],
    ['zh', ['unet 512 batch 8 用 0 张卡，预算不限'], /^卡数超出了能训练的范围/],
  ])('%s: %s', (locale, texts, refusal) => {
    expect(talk(locale, ...texts).reply).toMatch(refusal);
    expect(talk(locale, ...texts, '2').state.slots.gpus).toBe(2);
  });

  test('devices=-1 is the library for all there are', () => {
    expect(talk('en', 'trainer devices=-1, unet 512 batch 8').state.slots.gpus).toBeUndefined();
  });
});

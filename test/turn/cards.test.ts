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

describe('an accelerator without CUDA', () => {
  test.each<[Locale, string, string]>([
    ['en', 'unet 512 batch 8 on Ascend 910B', 'Ascend 910B has no CUDA'],
    ['en', 'does unet 512 batch 8 fit on an MI300X', 'Instinct MI300X has no CUDA'],
    ['zh', '昇腾 910B 上跑 segformer b2 512 batch 8 够吗', 'Ascend 910B 没有 CUDA'],
    ['zh', 'unet 512 batch 8，A10 和 MI300X 哪个好', 'Instinct MI300X 没有 CUDA'],
  ])('%s: %s', (locale, text, remark) => expect(talk(locale, text).reply).toContain(remark));

  test('is said to have none once, and of others nothing is said', () => {
    expect(talk('en', 'unet 512 batch 8 on Ascend 910B', 'batch 4').reply).not.toContain('no CUDA');
    expect(talk('en', 'unet 512 batch 8 on a 3090 or A10').reply).not.toContain('no CUDA');
  });
});

describe('a card that nobody rents out', () => {
  test.each<[Locale, string, RegExp]>([
    ['en', 'unet 512 batch 8, I own a 3090', /^Yes, it fits on RTX 3090: .*; [\d.]+–[\d.]+ s per step\n/],
    ['zh', 'unet 512 batch 8，我有一张 4090', /^放得下：RTX 4090 .*；每步 [\d.]+–[\d.]+ 秒\n/],
  ])('%s: %s: how fast it is', (locale, text, verdict) => expect(talk(locale, text).reply).toMatch(verdict));

  test.each<[Locale, string]>([
    ['en', 'unet 4096x4096 batch 1, I own a 2060'],
    ['en', 'unet 512 batch 8, I own a card with 24 GB'],
    ['zh', 'unet 512 batch 8，A10 够吗'],
  ])('%s: %s: no pace where it does not hold it, nobody knows, or the table says it', (locale, text) =>
    expect(talk(locale, text).reply.split('\n')[0]).not.toMatch(/s per step|每步/),
  );
});

describe('a list of cards', () => {
  const slots = (text: string) => talk('en', text).state.slots;

  test.each<[Locale, string, string]>([
    ['en', 'unet 512 batch 8 on 4090, V620 or A10', 'I do not know the card "v620"'],
    ['zh', '4090、V620 还是 A10 跑 unet 512 batch 8', '没有收录"v620"'],
  ])('%s: %s: one of no table is said to be unknown, the others are judged', (locale, text, remark) => {
    const { reply, state } = talk(locale, text);
    expect(state.slots.gpu).toEqual([{ name: 'RTX 4090' }, { name: 'v620' }, { name: 'A10' }]);
    expect(reply).toContain(remark);
    expect(reply).toMatch(/RTX 4090.*(?:s per step|秒)[\s\S]*A10.*(?:s per step|秒)/);
  });

  test.each(['unet r50 512 batch 8, A10', 'A10, bs16, unet 512', 'unet 512 on A10, e45', 'A10 or lr01, unet 512 bs 8'])(
    '%s: nothing else becomes a card',
    (text) => expect(slots(text).gpu).toEqual({ name: 'A10' }),
  );
});

describe('less than the card of that name has', () => {
  test.each<[Locale, string, RegExp]>([
    ['zh', 'segmenter vit-l 640 bs 2 amp，A100 40g 的 mig 3g.20gb', /放不下.*可用 19\.6 GiB/],
    ['en', 'unet 512 batch 8 on an A100 MIG 20G', /A100 20GB: [\d.]+ GiB of 19\.6 GiB/],
    ['en', 'unet 512 batch 8 on a V100 24G', /V100 24GB: [\d.]+ GiB of 22\.0 GiB/],
  ])('%s: %s: the stated memory is judged', (locale, text, verdict) =>
    expect(talk(locale, text).reply.split('\n')[0]).toMatch(verdict),
  );

  test('the memory of a version is that version', () =>
    expect(talk('en', 'unet 512 batch 8 on a V100 32G').reply).toMatch(/^Yes, it fits on V100 32GB/));

  test("another maker's card of no table has no CUDA either", () =>
    expect(talk('en', 'unet 512 batch 8 on an MI250X 128G').reply).toContain('mi250x has no CUDA'));
});

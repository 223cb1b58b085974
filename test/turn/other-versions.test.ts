import { expect, test } from 'vitest';

import type { DialogState } from '../../src/dialog/dialog-state.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import { takeConversationTurn } from '../../src/turn/take-turn.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

function replies(locale: 'zh' | 'en', ...texts: readonly string[]): readonly string[] {
  let state: DialogState = initialState(locale);
  return texts.map((text) => {
    const turn = takeConversationTurn(state, text, answerPorts);
    state = turn.state;
    return turn.reply.fallback;
  });
}

test.each([
  ['en', ['segformer-lite b0', '512', 'batch 8', 'no limit', 'AMP?'], /“segformer-lite”/],
  ['zh', ['upernet flatten-swin-t 512 bs 2，预算不限', '开 AMP 呢'], /“flatten-swin-t”/],
] as const)('%s: a changed network is sized as published, and says so until another is named', (locale, said, note) => {
  const answers = replies(locale, ...said, 'segformer b1', 'undo');
  expect(answers[said.length - 1]).toMatch(note);
  expect(answers.at(-2)).not.toMatch(note);
  expect(answers.at(-1)).toMatch(note);
});

test('an unknown backbone is refused by its name, with those that are known', () => {
  const [answer] = replies('en', 'upernet vmamba-tiny 512x512 batch 4, no limit');
  expect(answer).toMatch(/do not know the backbone "vmamba-tiny".*resnet50/s);
});

test('the network that was sized is named, backbone and all', () => {
  const [asked] = replies('en', 'deeplabv3+ 512x512 batch 4');
  expect(asked).toMatch(/Assumptions {2}deeplabv3plus resnet50 · MMSegmentation/);
  const [answer] = replies('zh', 'deeplabv3+ 512x512 batch 4 不限预算');
  expect(answer).toMatch(/假设 {2}deeplabv3plus resnet50 · 按 MMSegmentation/);
});

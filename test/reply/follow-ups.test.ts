import { expect, test } from 'vitest';
import type { DialogState } from '../../src/dialog/dialog-state.ts';
import { initialState } from '../../src/dialog/reduce.ts';
import type { Reply } from '../../src/reply/reply.ts';
import { decideTurn } from '../../src/turn/take-turn.ts';
import { answerPorts } from '../contracts/golden-replies.ts';

/** The last reply of a conversation. */
function lastReply(...said: readonly string[]): Reply {
  let state: DialogState = initialState(/[一-鿿]/.test(said.join('')) ? 'zh' : 'en');
  let reply: Reply | undefined;
  for (const text of said) {
    const turn = decideTurn(state, text, answerPorts);
    state = turn.state;
    reply = turn.compose(null);
  }
  if (reply === undefined) throw new Error('nothing was said');
  return reply;
}

const verdictOf = ({ blocks }: Reply): string => (blocks[0]?.kind === 'verdict' ? blocks[0].text : '');

test.each([
  ['unet 512 batch 8, no budget limit', 'how long will it take', /^A10: [\d.–]+ s per step, ¥[\d.]+ per 1,000$/],
  ['unet 512 batch 8，预算不限', '要训多久', /^A10：每步 [\d.–]+ 秒，千步 ¥[\d.]+$/],
  ['unet 512 batch 8，预算不限，8万步', '多久', /^A10: [\d.–]+ 小时，¥[\d.]+–¥[\d.]+（80,000 步）$/],
  ['unet 512 batch 8 on a V100 32GB, 80k iterations', 'how many hours', /^V100 32GB: [\d.–]+ s per step/],
])('%s → %s', (asked, question, expected) => {
  expect(verdictOf(lastReply(asked, question))).toMatch(expected);
});

test.each([
  ['unet 512 batch 8，预算不限', '怎么省显存'],
  ['unet 512 batch 8，预算不限', '那要改啥'],
  ['unet 512 batch 8, no budget limit', 'what can I do to need less?'],
])('%s → %s: the changes with their savings on the first screen', (asked, question) => {
  const { blocks, kind } = lastReply(asked, question);
  const lists = blocks.flatMap((block) => (block.kind === 'list' && block.level === 'main' ? block.items : []));
  expect(kind).toBe('answer');
  expect(lists.filter((item) => /GiB/.test(item)).length).toBeGreaterThan(2);
});

test('a failure that came with the question is explained as a failure', () => {
  const { blocks } = lastReply('CUDA out of memory 了，怎么办，unet 512 batch 8');
  expect(blocks.some((block) => 'title' in block && block.title === '怎么办')).toBe(true);
});

const SHARED_CARD =
  'CUDA out of memory. Tried to allocate 1.50 GiB. GPU 0 has a total capacity of 23.65 GiB of which 512.06 MiB is free. ' +
  'Process 1234 has 3.00 GiB memory in use. Including non-PyTorch memory, this process has 20.10 GiB memory in use. ' +
  'Of the allocated memory 18.00 GiB is allocated by PyTorch, and 1.50 GiB is reserved by PyTorch but unallocated.';

test.each([
  ['segformer b3 1024x1024 batch 4', 'It is truly too big for this card'],
  ['segformer b0 512x512 batch 4', 'Another process sits on the card'],
])('another process on the card, and %s', (run, verdict) => {
  const reply = lastReply(SHARED_CARD, run);
  expect(verdictOf(reply)).toBe(verdict);
  expect(JSON.stringify(reply.blocks)).toContain('Another process sits on the card');
});

test.each([
  ['unet 256x256 batch 8，最多5块一小时', '有更便宜的吗', 'ecs.gn7i-c8g1.2xlarge', '¥9.53'],
  ['unet 256x256 batch 8, no budget limit', 'anything cheaper?', 'ecs.gn7i-c8g1.2xlarge', '¥9.53'],
])('%s → %s: the lowest price there is, with its host', (asked, question, type, price) => {
  const verdict = verdictOf(lastReply(asked, question));
  expect(verdict).toContain(type);
  expect(verdict).toContain(price);
  // the host follows the price after one comma
  expect(verdict).toMatch(/\/(?:h|时)(?:, 8 vCPU|，8 核)/);
});

test.each([
  ["what's the difference between gn7i and gn7e?", 'gn7i: from ¥9.53/h', 'gn7e: from ¥34.74/h', /Which model/],
  ['A10 和 V100 哪个好', 'A10 ¥9.53/时 起', 'V100 ¥', /训什么模型/],
])('%s: what is known before the network is, and the question', (asked, one, other, question) => {
  const { kind, fallback } = lastReply(asked);
  expect(kind).toBe('question');
  expect(fallback).toContain(one);
  expect(fallback).toContain(other);
  expect(fallback).toMatch(question);
});

test('a run after a question about prices is answered as a run', () => {
  expect(verdictOf(lastReply('how much is an A10', 'segformer b2 512 bs 8 on the A10'))).toMatch(/fits on A10/);
});

test.each([
  ['segformer b2 512 batch 8，预算不限', '下单命令', 'ecs.gn7i-c16g1.4xlarge'],
  ['segformer b2 512 batch 8 V100 32G 够吗', '下单命令', 'ecs.gn6e-c12g1.3xlarge'],
  ['does segformer b2 512 batch 8 fit on ecs.gn7i-c8g1.2xlarge?', 'terraform', 'ecs.gn7i-c8g1.2xlarge'],
  ['does segformer b5 1024 batch 2 fit on a T4?', 'order command', 'ecs.gn7e-c16g1.4xlarge'],
])('%s → %s: what was named is ordered, where it holds the run', (asked, form, type) => {
  const { blocks } = lastReply(asked, form);
  const [code] = blocks.flatMap((block) => (block.kind === 'code' ? [block.text] : []));
  expect(verdictOf(lastReply(asked, form))).toContain(type);
  expect(code).toContain(type);
});

test.each([
  ['segformer b2 512 batch 8，预算 5000/月', '下单命令', /包月 ¥4,845\/月/, 'PrePaid'],
  ['segformer b2 512 batch 8, budget 5000 per month', 'order command', /¥4,845\/month as a subscription/, 'PrePaid'],
  ['segformer b2 512 batch 8，预算 5000/月', 'terraform', /包月/, 'PrePaid'],
  ['segformer b2 512 batch 8，预算 15/小时', '下单命令', /¥10\.09\/时/, 'PostPaid'],
])('%s, %s: what holds the budget is what is ordered', (asked, order, verdict, chargeType) => {
  expect(verdictOf(lastReply(asked))).toMatch(verdict);
  expect(JSON.stringify(lastReply(asked, order).blocks)).toContain(chargeType);
});

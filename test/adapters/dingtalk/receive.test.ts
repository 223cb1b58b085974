import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { decodeConversationId } from '../../../src/message.ts';
import { eventually } from '../../fakes/eventually.ts';
import { chineseTexts, fullReply } from '../slack/samples.ts';
import { type Bench, openBench, pause } from './harness.ts';
import { fresh, sample, sampleNames } from './recorded.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench();
});
afterAll(() => bench.stop());

/** What the inbox got of one message, and the message that came back. */
async function told(payload: unknown) {
  const [before, sent] = [bench.accepted.length, bench.gateway.api.messages.length];
  expect(await bench.gateway.send(payload)).toMatchObject({
    frame: { code: 200, data: '{"response":{"success":true}}' },
  });
  await bench.settled();
  await pause(30);
  return {
    messages: bench.accepted.slice(before).map(({ message }) => message),
    answers: bench.gateway.api.messages.slice(sent),
  };
}

const spoken: Readonly<Record<string, string>> = {
  'robot-text-direct': 'hello DingTalk!',
  'robot-text-group': '你好',
  'robot-text-group-at-others': '给 发个消息“你好”',
  'robot-text-group-external-sender': '你好',
  'robot-audio-direct': '钉钉PaaS开放中心，致力为企业……',
  'robot-richtext-direct': '这个问题示例图如下： 通过以上示意图可以明白完整的交互流程',
  'robot-richtext-group-mention': '/server',
  'robot-quote-text-direct': '引用测试',
  'robot-quote-text-group': '引用测试',
  'robot-quote-card-direct': '引用测试',
  'robot-quote-card-group': '引用测试',
  'robot-quote-card-no-content': '引用测试',
  'robot-quote-text-content-content': '引用测试',
};
const declined = ['robot-picture-direct', 'robot-file-direct', 'robot-video-direct', 'robot-unknown-direct'];

describe('recorded messages', () => {
  test('each of them is covered', () => {
    expect([...Object.keys(spoken), ...declined, 'robot-over-quota'].sort()).toEqual([...sampleNames].sort());
  });

  test.each(Object.entries(spoken))('%s says %s and is answered once', async (name, text) => {
    const { messages, answers } = await told(fresh(bench.gateway, name));
    expect(messages).toEqual([expect.objectContaining({ text })]);
    expect(answers).toHaveLength(1);
    const isGroup = sample(name)['conversationType'] === '2';
    const isKnown = sample(name)['senderStaffId'] !== undefined;
    expect(answers[0]?.body['at']).toEqual({ atUserIds: isGroup && isKnown ? ['staff0001'] : [], isAtAll: false });
  });

  test.each(declined)('%s gets one polite line', async (name) => {
    const payload = fresh(bench.gateway, name);
    const { messages, answers } = await told(payload);
    expect(messages).toEqual([]);
    expect(answers.map(({ text }) => text)).toEqual([chineseTexts.textOnly]);
    expect((await told(payload)).answers).toEqual([]);
  });

  test('an exhausted quota is for the operator, not for the person', async () => {
    const { messages, answers } = await told(fresh(bench.gateway, 'robot-over-quota'));
    expect([messages, answers]).toEqual([[], []]);
    expect(bench.logs.filter((line) => /^error .*20001/u.test(line))).toHaveLength(1);
  });

  test('a card callback and an event are acknowledged and ignored', async () => {
    const before = bench.accepted.length;
    const { gateway } = bench;
    const topic = '/v1.0/card/instances/callback';
    expect(await gateway.send(sample('card-callback'), { topic })).toBeDefined();
    expect(await gateway.send('{}', { type: 'EVENT', topic: '*' })).toBeDefined();
    expect(bench.accepted).toHaveLength(before);
  });
});

describe('text', () => {
  test.each([
    ['', '帮助'],
    ['   ', '帮助'],
    ['帮助', '帮助'],
    ['/gpu-size unet 512', 'unet 512'],
    ['／gpu-size unet 512', 'unet 512'],
    ['/GPU-Size：unet', 'unet'],
    ['/gpu-size', '帮助'],
    ['／gpu-size', '帮助'],
    ['/gpu-sizes unet', '/gpu-sizes unet'],
    ['用 @types/node 训 unet', '用 @types/node 训 unet'],
    ['\u200Bunet\uFEFF ', 'unet'],
  ])('%j is %j', async (text, heard) => {
    const { messages } = await told(bench.say({ text, group: true }));
    expect(messages.map((message) => message.text)).toEqual([heard]);
  });

  test('a very long message is cut', async () => {
    const { messages } = await told(bench.say({ text: '字'.repeat(100_000) }));
    expect(messages[0]?.text.length).toBeLessThanOrEqual(20_000);
  });

  test('rich text in a group keeps mentions of others and words that begin with @', async () => {
    const richText = [{ text: '@Bot ' }, { text: '@types/node' }, { text: 'unet' }];
    const extra = { msgtype: 'richText', text: undefined, content: { richText } };
    const { messages } = await told(bench.say({ group: true, extra }));
    expect(messages[0]?.text).toBe('@types/node unet');
  });
});

describe('identity', () => {
  test('a dialog for each robot, conversation and person', async () => {
    const group = { text: 'x', group: true };
    const variants = [
      bench.say(group),
      bench.say({ ...group, user: 'staff0002' }),
      bench.say({ ...group, conversation: 'cidOTHER==' }),
      bench.say({ ...group, extra: { robotCode: 'robot0002' } }),
    ];
    const ids = new Set<string>();
    for (const variant of variants)
      for (const message of (await told(variant)).messages) ids.add(message.conversationId);
    expect(ids.size).toBe(4);
  });

  test('without `senderStaffId` the opaque id counts, never the nickname', async () => {
    const someone = (senderId: string, senderNick: string) =>
      bench.say({ text: 'x', group: true, extra: { senderStaffId: undefined, senderId, senderNick } });
    const one = (await told(someone('$:a', 'Li'))).messages[0];
    const two = (await told(someone('$:b', 'Li'))).messages[0];
    const again = (await told(someone('$:a', 'Wang'))).messages[0];
    expect(one?.conversationId).toBe(again?.conversationId);
    expect(one?.conversationId).not.toBe(two?.conversationId);
    expect(decodeConversationId(one?.conversationId ?? '').thread).toBe('$:a');
  });

  test('redelivered with a new frame id: one message; for another robot: two', async () => {
    const payload = bench.say({ text: 'x', group: true, msgId: 'same==' });
    expect((await told(payload)).answers).toHaveLength(1);
    expect((await told(payload)).answers).toHaveLength(0);
    expect(
      (await told({ ...payload, robotCode: 'robot0002', sessionWebhook: bench.gateway.webhook() })).answers,
    ).toHaveLength(1);
  });
});

describe('quotes', () => {
  const code = '#G7K2';
  test.each([
    ['text', { text: `结论\n> ${code}` }],
    ['escaped', { text: `结论\n> \\${code}` }],
    ['content', { content: `结论 ${code}` }],
    [
      'rich text',
      {
        richText: [
          { msgType: 'text', content: '结论' },
          { msgType: 'text', content: code },
        ],
      },
    ],
    ['card', { cardContent: [{ elementType: 'RICHTEXT', children: [{ elementType: 'TEXT', value: code }] }] }],
  ])('the code of an answer is found in a quote of %s', async (_, content) => {
    const text = { content: ' 预算改成 30', isReplyMsg: true, repliedMsg: { msgType: 'x', msgId: 'q', content } };
    const { messages } = await told(bench.say({ group: true, extra: { text } }));
    expect(messages).toEqual([expect.objectContaining({ text: '预算改成 30', estimateCode: 'G7K2' })]);
  });

  test.each(['robot-quote-card-no-content', 'robot-quote-card-group'])('%s names no estimate', async (name) => {
    expect((await told(fresh(bench.gateway, name))).messages[0]).not.toHaveProperty('estimateCode');
  });
});

describe('choices by number', () => {
  const choices = [
    { label: '预算 30', say: '预算改成30' },
    { label: '批 4', say: 'batch 4' },
  ];

  test('a bare number after an answer is its choice', async () => {
    bench.reply = () => fullReply({ choices });
    const speaker = { user: 'staff0101' };
    await told(bench.say({ ...speaker, text: 'unet' }));
    const { messages } = await told(bench.say({ ...speaker, text: '２' }));
    expect(messages).toEqual([expect.objectContaining({ text: 'batch 4', estimateCode: 'G7K2' })]);
    expect((await told(bench.say({ ...speaker, text: '7' }))).messages[0]?.text).toBe('7');
  });

  test('after a question a bare number is the answer to it, #2 the choice', async () => {
    const { estimateCode: _, ...question } = fullReply({ kind: 'question', choices });
    bench.reply = () => question;
    const speaker = { user: 'staff0102' };
    await told(bench.say({ ...speaker, text: 'unet' }));
    expect((await told(bench.say({ ...speaker, text: '2' }))).messages[0]?.text).toBe('2');
    expect((await told(bench.say({ ...speaker, text: '#2' }))).messages[0]?.text).toBe('batch 4');
  });

  test('the number of another person is not taken', async () => {
    bench.reply = () => fullReply({ choices });
    await told(bench.say({ user: 'staff0103', group: true, text: 'unet' }));
    expect((await told(bench.say({ user: 'staff0104', group: true, text: '2' }))).messages[0]?.text).toBe('2');
  });
});

describe('the inbox', () => {
  test('does not take it: no acknowledgement; a redelivery is answered', async () => {
    const payload = bench.say({ text: 'x' });
    bench.broken = true;
    expect(await bench.gateway.send(payload, { waitMs: 300 })).toBeUndefined();
    bench.broken = false;
    expect((await told(payload)).answers).toHaveLength(1);
  });

  test('is full: acknowledged, one sentence', async () => {
    bench.outcome = 'overloaded';
    const { answers } = await told(bench.say({ text: 'x' }));
    bench.outcome = undefined;
    expect(answers.map(({ text }) => text)).toEqual([chineseTexts.overloaded]);
  });

  test('keeps the order of one conversation, also when numbers have to be looked up', async () => {
    bench.reply = () => fullReply({ choices: [{ label: 'first', say: 'chosen' }] });
    const speaker = { user: 'staff0105' };
    await told(bench.say({ ...speaker, text: 'unet' }));
    const before = bench.accepted.length;
    const texts = ['1', 'two', '1', 'four'];
    await Promise.all(texts.map((text) => bench.gateway.send(bench.say({ ...speaker, text }))));
    expect(bench.accepted.slice(before).map(({ message }) => message.text)).toEqual([
      'chosen',
      'two',
      'chosen',
      'four',
    ]);
    await bench.settled();
  });

  test('the acknowledgement comes before the answer', async () => {
    const { gateway } = bench;
    const start = gateway.order.length;
    await gateway.send(bench.say({ text: 'x' }), { messageId: 'ordered' });
    await bench.settled();
    await eventually('both', () => gateway.order.length >= start + 2);
    expect(gateway.order.slice(start).map((line) => line.split(' ', 1)[0])).toEqual(['ack', 'message']);
  });

  test('nothing secret is kept with a message', () => {
    const kept = JSON.stringify(bench.accepted.map(({ address }) => address));
    expect(kept).not.toContain('session=');
    expect(kept).not.toContain('secret-session');
  });
});

test('every outgoing message was valid', () => {
  expect(bench.gateway.api.problems).toEqual([]);
});

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../fakes/eventually.ts';
import { type Bench, openBench } from './harness.ts';
import { fullReply } from './samples.ts';

describe.each(['socket', 'http'] as const)('talking over %s', (mode) => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(mode);
  });
  afterEach(async () => {
    expect(bench.server.unknownMethods).toEqual([]);
    expect(bench.server.refusals.filter(({ error }) => error === 'invalid_blocks')).toEqual([]);
    await bench.stop();
  });
  const posted = (channel = 'C00FAKECHAN1') =>
    bench.server.store.messages.filter((message) => message.channel === channel);

  test('a mention is answered in its thread, and replies there need no mention', async () => {
    const first = bench.make.mention('unet 512&lt;1024 batch 8 &amp; <https://x.test/a|config>', {
      ts: '1700000000.000100',
    });
    expect((await bench.slack.event(first)).acked).toBe(true);
    await bench.slack.event(bench.make.message('budget 20', { thread: '1700000000.000100', user: 'U00FAKEUSER2' }));
    await bench.settled();
    expect(bench.accepted.map(({ message }) => message.text)).toEqual(['unet 512<1024 batch 8 & config', 'budget 20']);
    expect(new Set(bench.accepted.map(({ message }) => message.conversationId)).size).toBe(1);
    expect(posted().map(({ threadTs }) => threadTs)).toEqual(['1700000000.000100', '1700000000.000100']);
  });

  test('threads and details kept for a person go when the person is forgotten', async () => {
    await bench.slack.event(bench.make.mention('unet', { ts: '1700000000.000150', user: 'U00FAKEUSER1' }));
    await bench.settled();
    expect(await bench.store.list('slack/', 10)).toHaveLength(2);
    expect(await bench.store.forget('U00FAKEUSER2')).toBe(0);
    expect(await bench.store.forget('U00FAKEUSER1')).toBe(2);
    expect(await bench.store.list('slack/', 10)).toEqual([]);
  });

  test.each([['mention first'], ['message first']])('the twin of a mention is one message: %s', async (order) => {
    const ts = '1700000000.000200';
    const mention = bench.make.mention('unet', { ts });
    const twin = bench.make.message('<@U00FAKEBOT01> unet', { ts });
    for (const event of order === 'mention first' ? [mention, twin] : [twin, mention]) await bench.slack.event(event);
    await bench.settled();
    expect(bench.accepted.map(({ message }) => message.text)).toEqual(['unet']);
    expect(posted()).toHaveLength(1);
  });

  test('the same event again is answered once', async () => {
    const event = bench.make.mention('unet');
    for (const retry of [0, 1, 2, 3]) expect((await bench.slack.event(event, { retry })).acked).toBe(true);
    await bench.settled();
    expect(posted()).toHaveLength(1);
  });

  test('foreign threads, channel talk, edits, bots and ourselves stay unanswered', async () => {
    const silent = [
      bench.make.message('what about lunch'),
      bench.make.message('a reply', { thread: '1699999999.000100' }),
      bench.make.message('edited', { extra: { subtype: 'message_changed', hidden: true } }),
      bench.make.message('<@U00FAKEBOT01> from a bot', { extra: { bot_id: 'B1' } }),
      bench.make.message('<@U00FAKEBOT01> ourselves', { user: 'U00FAKEBOT01' }),
      bench.make.message('system', { channel: 'D00FAKEUSER1', user: 'USLACK' }),
    ];
    for (const event of silent) expect((await bench.slack.event(event)).acked).toBe(true);
    expect(bench.accepted).toEqual([]);
    expect(bench.server.calls.filter(({ method }) => method.startsWith('chat.'))).toEqual([]);
  });

  test("a mention inside somebody else's thread opens it for the asker alone", async () => {
    const thread = '1699999999.000200';
    await bench.slack.event(bench.make.mention('unet', { thread }));
    await bench.slack.event(bench.make.message('and batch 4', { thread }));
    await bench.slack.event(bench.make.message('not for the bot', { thread, user: 'U00FAKEUSER2' }));
    expect(bench.accepted.map(({ message }) => message.text)).toEqual(['unet', 'and batch 4']);
  });

  test('a reply that addresses somebody else is left alone', async () => {
    await bench.slack.event(bench.make.mention('unet', { ts: '1700000000.000300' }));
    await bench.slack.event(bench.make.message('<@U00FAKEUSER2> what do you think?', { thread: '1700000000.000300' }));
    expect(bench.accepted).toHaveLength(1);
  });

  test('direct messages hold one conversation, at top level and in the thread below', async () => {
    const channel = 'D00FAKEUSER1';
    await bench.slack.event(bench.make.message('unet', { channel, ts: '1700000001.000100' }));
    await bench.slack.event(bench.make.message('512', { channel, ts: '1700000001.000200' }));
    await bench.slack.event(bench.make.message('batch 8', { channel, thread: '1700000001.000100' }));
    await bench.settled();
    expect(bench.accepted).toHaveLength(3);
    expect(new Set(bench.accepted.map(({ message }) => message.conversationId)).size).toBe(1);
    expect(posted(channel).map(({ threadTs }) => threadTs)).toEqual([
      '1700000001.000100',
      '1700000001.000200',
      '1700000001.000100',
    ]);
  });

  test('two messages at once in one thread arrive in order', async () => {
    const thread = '1700000002.000100';
    await bench.slack.event(bench.make.mention('unet', { ts: thread }));
    await Promise.all(['one', 'two', 'three'].map((text) => bench.slack.event(bench.make.message(text, { thread }))));
    await bench.settled();
    expect(bench.accepted.map(({ message }) => message.text)).toEqual(['unet', 'one', 'two', 'three']);
    expect(posted().map(({ text }) => text)).toEqual(['unet', 'one', 'two', 'three'].map((text) => `heard: ${text}`));
  });

  test('a command is answered to the asker, where the bot is no member too', async () => {
    const outcome = await bench.slack.command(bench.make.command('unet 512 batch 8', { channel: 'C00OTHERCHAN' }));
    expect(outcome.acked).toBe(true);
    expect(outcome.response).toBeUndefined();
    await bench.settled();
    const [answer] = posted('C00OTHERCHAN');
    expect(answer).toMatchObject({ onlyFor: 'U00FAKEUSER1', text: 'heard: unet 512 batch 8' });
    expect(JSON.stringify(answer?.blocks)).toContain('Share in Channel');
  });

  test('help and an unknown command get the help text, escaped', async () => {
    for (const fields of [
      bench.make.command('help'),
      bench.make.command('帮助'),
      bench.make.command('x', { command: '/other' }),
    ]) {
      const outcome = await bench.slack.command(fields);
      expect(outcome).toMatchObject({ acked: true, response: { response_type: 'ephemeral' } });
      expect(JSON.stringify(outcome.response)).toContain('&lt;what you train&gt;');
    }
    expect(bench.accepted).toEqual([]);
  });

  test('a button updates its message in place and continues the conversation', async () => {
    await bench.slack.event(bench.make.mention('unet', { ts: '1700000003.000100' }));
    await bench.settled();
    const [answer] = posted();
    if (answer === undefined) throw new Error('no answer');
    const action = buttonIn(answer.blocks, 'choice:1');
    expect(action).toMatchObject({ value: 'batch 4' });
    expect((await bench.slack.interaction(bench.make.press(answer, action))).acked).toBe(true);
    await bench.settled();
    expect(posted()).toHaveLength(1);
    expect(posted()[0]).toMatchObject({ text: 'heard: batch 4', edits: 1 });
    const [first, second] = bench.accepted.map(({ message }) => message);
    expect(second?.conversationId).toBe(first?.conversationId);
    expect(second?.estimateCode).toBe('G7K2');
  });

  test('a press without response URL updates through the Web API', async () => {
    await bench.slack.event(bench.make.mention('unet'));
    await bench.settled();
    const [answer] = posted();
    if (answer === undefined) throw new Error('no answer');
    await bench.slack.interaction(
      bench.make.press(answer, buttonIn(answer.blocks, 'choice:0'), { withoutResponse: true }),
    );
    await bench.settled();
    expect(posted()[0]).toMatchObject({ text: 'heard: fp16', edits: 1 });
  });

  test('an ephemeral answer is updated through its response URL and can be shared', async () => {
    await bench.slack.command(bench.make.command('unet', { channel: 'C00OTHERCHAN' }));
    await bench.settled();
    const [answer] = posted('C00OTHERCHAN');
    if (answer === undefined) throw new Error('no answer');
    const speaker = { channel: 'C00OTHERCHAN' };
    await bench.slack.interaction(bench.make.press(answer, buttonIn(answer.blocks, 'choice:menu', 'A100'), speaker));
    await bench.settled();
    expect(posted('C00OTHERCHAN')[0]).toMatchObject({ text: 'heard: A100', edits: 1 });
    await bench.slack.interaction(
      bench.make.press(answer, buttonIn(posted('C00OTHERCHAN')[0]?.blocks ?? [], 'share'), speaker),
    );
    const shared = await eventually('shared answer', () => posted('C00OTHERCHAN')[1]);
    expect(shared.onlyFor).toBeUndefined();
    expect(JSON.stringify(shared.blocks)).not.toContain('"action_id"');
  });

  test('details open in a window', async () => {
    await bench.slack.event(bench.make.mention('unet'));
    await bench.settled();
    const [answer] = posted();
    if (answer === undefined) throw new Error('no answer');
    await bench.slack.interaction(bench.make.press(answer, buttonIn(answer.blocks, 'details')));
    const { view } = await eventually('details', () => bench.server.store.views[0]);
    expect(JSON.stringify(view)).toContain('aliyun ecs RunInstances');
  });

  test('feedback is kept and thanked for, to the person alone', async () => {
    await bench.slack.event(bench.make.mention('unet'));
    await bench.settled();
    const [answer] = posted();
    if (answer === undefined) throw new Error('no answer');
    await bench.slack.interaction(
      bench.make.press(answer, { ...buttonIn(answer.blocks, 'feedback'), type: 'feedback_buttons', value: 'down' }),
    );
    await eventually('feedback', () => bench.feedback.length > 0);
    expect(bench.feedback).toEqual([['slack:T00FAKE00AA:U00FAKEUSER1', 'G7K2', false]]);
    expect(
      await eventually('thanks', () => posted().find(({ text }) => text === 'Thanks for telling us')),
    ).toMatchObject({ onlyFor: 'U00FAKEUSER1' });
  });

  test('an overloaded inbox tells the asker', async () => {
    bench.outcome = 'overloaded';
    await bench.slack.command(bench.make.command('unet'));
    await bench.slack.event(bench.make.mention('unet'));
    await eventually(
      'two apologies',
      () => posted().filter(({ text, onlyFor }) => text.startsWith('Too much') && onlyFor !== undefined).length === 2,
    );
  });

  test('a file without words is declined, with words read', async () => {
    const files = [{ id: 'F1', mimetype: 'image/png' }];
    await bench.slack.event(
      bench.make.message('', { channel: 'D00FAKEUSER1', extra: { subtype: 'file_share', files } }),
    );
    await eventually('decline', () => posted('D00FAKEUSER1').find(({ text }) => text === 'I read text only'));
    await bench.slack.event(
      bench.make.message('unet', { channel: 'D00FAKEUSER1', extra: { subtype: 'file_share', files } }),
    );
    expect(bench.accepted.map(({ message }) => message.text)).toEqual(['unet']);
  });

  test('what a person wrote is never echoed with its markup', async () => {
    bench.reply = ({ message }) =>
      fullReply({ fallback: message.text, blocks: [{ kind: 'text', level: 'main', text: message.text }] });
    await bench.slack.event(bench.make.mention('&lt;!channel&gt; &amp;amp; *bold* &lt;@U1&gt;'));
    await bench.settled();
    expect(posted()[0]?.text).toBe('&lt;!channel&gt; &amp;amp; *bold* &lt;@U1&gt;');
    expect(JSON.stringify(posted()[0]?.blocks)).toContain('"type":"text","text":"<!channel> &amp; *bold* <@U1>"');
    expect(JSON.stringify(posted()[0]?.blocks)).not.toContain('mrkdwn');
  });
});

/** The pressed element as Slack reports it. */
function buttonIn(blocks: readonly unknown[], actionId: string, option?: string): Record<string, unknown> {
  for (const block of blocks) {
    if (typeof block !== 'object' || block === null || !('elements' in block) || !Array.isArray(block.elements))
      continue;
    const found = block.elements.find((element: { action_id?: string }) => element.action_id === actionId);
    if (found === undefined) continue;
    const selected = option === undefined ? {} : { selected_option: { value: option } };
    const blockId = 'block_id' in block ? block.block_id : undefined;
    return { type: found.type, action_id: actionId, block_id: blockId, value: found.value, ...selected };
  }
  throw new Error(`no ${actionId}`);
}

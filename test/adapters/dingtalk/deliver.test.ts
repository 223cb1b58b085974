import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Fault } from '../../fakes/dingtalk-gateway.ts';
import { type Bench, openBench, pause } from './harness.ts';
import { sample } from './recorded.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await openBench();
});
afterEach(async () => {
  expect(bench.gateway.api.problems).toEqual([]);
  await bench.stop();
});

const response = (name: string): Fault => {
  const all = sample('http-responses');
  const found = all[name];
  if (typeof found !== 'object' || found === null || !('body' in found)) throw new Error(`no response ${name}`);
  return { body: found.body };
};
const messages = () => bench.gateway.api.messages;
const pathsOf = (part: string) => bench.gateway.calls.filter(({ path }) => path.includes(part));
const failures = () => bench.logs.filter((line) => line.startsWith('delivery '));

async function say(said: Parameters<Bench['say']>[0] = {}): Promise<void> {
  expect(await bench.gateway.send(bench.say({ text: 'unet', ...said }))).toBeDefined();
  await bench.settled();
}

describe('session webhook', () => {
  test('one action card, the same key on every attempt, mention in the text of a group', async () => {
    await say({ group: true });
    expect(messages()).toHaveLength(1);
    const [answer] = messages();
    expect(answer?.body).toMatchObject({ msgtype: 'actionCard', at: { atUserIds: ['staff0001'], isAtAll: false } });
    expect(answer?.body['msgUuid']).toMatch(/^[\da-f-]{36}$/u);
    expect(answer?.text.startsWith('@staff0001\n\n**')).toBe(true);
    expect(answer?.title).toBe('heard: unet');
    expect(answer?.buttons).toHaveLength(5);
    expect(answer?.text).toContain('G7K2');
  });

  test('plain Markdown without choices, nobody mentioned alone with the bot', async () => {
    const { reply } = bench;
    bench.reply = (accepted) => ({ ...reply(accepted), choices: [] });
    await say();
    expect(messages()[0]?.body).toMatchObject({ msgtype: 'markdown', at: { atUserIds: [] } });
    expect(messages()[0]?.text).not.toContain('@staff');
  });

  test.each([430101, 430102, '430104'])('content refused with %s: plain text', async (errcode) => {
    bench.gateway.webhookFaults.push({ body: { errcode, errmsg: 'unsafe' } });
    await say({ group: true });
    expect(messages().map(({ body }) => body['msgtype'])).toEqual(['text']);
    expect(messages()[0]?.text).toContain('heard: unet');
  });

  const passing: [string, Fault][] = [
    ['too fast', response('webhook_too_fast')],
    ['a string for a code', { body: { errcode: '410100', errmsg: 'busy' } }],
    ['busy', { body: { errcode: -1, errmsg: 'busy' } }],
    ['flow control by address', response('ip_flow_control')],
    ['HTML', { body: '<html>blocked</html>' }],
    ['500', { status: 500, body: { errcode: 0 } }],
    ['a cut connection', { cut: true }],
  ];
  test.each(passing)('%s: worth another attempt, nothing sent twice', async (_, fault) => {
    bench.gateway.webhookFaults.push(fault);
    await say();
    expect(messages()).toEqual([]);
    expect(failures()).toHaveLength(1);
    const [item] = bench.accepted;
    if (item === undefined) throw new Error('nothing accepted');
    const delivery = { key: 'k', repeated: false };
    bench.gateway.webhookFaults.push(fault);
    const attempt = bench.adapter.deliver(item.address, bench.reply(item), delivery);
    await expect(attempt).rejects.toMatchObject({ code: 'platform-unreachable' });
    await bench.adapter.deliver(item.address, bench.reply(item), delivery);
    expect(messages()).toHaveLength(1);
    expect(pathsOf('oauth2')).toEqual([]);
  });

  test('a robot that was stopped is not tried again', async () => {
    bench.gateway.webhookFaults.push({ body: { errcode: 400102, errmsg: 'stopped' } }, { body: { errcode: 400102 } });
    await say();
    const [item] = bench.accepted;
    if (item === undefined) throw new Error('nothing accepted');
    const attempt = bench.adapter.deliver(item.address, bench.reply(item));
    await expect(attempt).rejects.toMatchObject({ code: 'platform-refused', details: { reason: '400102' } });
  });
});

describe('the OpenAPI instead of a webhook that is gone', () => {
  test('group: one message to the conversation', async () => {
    bench.gateway.webhookFaults.push(response('session_webhook_gone'));
    await say({ group: true });
    expect(messages()).toEqual([expect.objectContaining({ via: 'group', to: 'cidGROUP0001==' })]);
    expect(messages()[0]?.buttons).toHaveLength(5);
    expect(messages()[0]?.body['robotCode']).toBe('robot0001');
    // The OpenAPI mentions nobody: the id would stand there as it is.
    expect(messages()[0]?.text).not.toContain('staff0001');
  });

  test('alone with the bot: one message to the person', async () => {
    bench.gateway.webhookFaults.push({ body: { errcode: '300001' } });
    await say();
    expect(messages()).toEqual([expect.objectContaining({ via: 'direct', to: 'staff0001' })]);
  });

  test('an expired webhook is not even tried; one that tells no time is', async () => {
    await say({ extra: { sessionWebhookExpiredTime: Date.now() - 1 } });
    expect(pathsOf('sendBySession')).toEqual([]);
    await say({ extra: { sessionWebhookExpiredTime: undefined } });
    await say({ extra: { sessionWebhookExpiredTime: String(Date.now() + 60_000) } });
    expect(messages().map(({ via }) => via)).toEqual(['direct', 'webhook', 'webhook']);
  });

  test('one token for many, a new one after 401', async () => {
    const gone = { extra: { sessionWebhookExpiredTime: 1 } };
    const said = ['a', 'b', 'c'].map((user) => bench.say({ text: 'x', user, ...gone }));
    await Promise.all(said.map((payload) => bench.gateway.send(payload)));
    await bench.settled();
    expect(pathsOf('oauth2')).toHaveLength(1);
    bench.gateway.api.tokens.clear();
    await say(gone);
    expect(messages()).toHaveLength(4);
    expect(pathsOf('oauth2')).toHaveLength(2);
  });

  test('a person who gets nothing although the answer is 200', async () => {
    bench.gateway.api.unreachable.add('staff0001');
    await say({ extra: { sessionWebhookExpiredTime: 1 } });
    expect(messages()).toEqual([]);
    expect(failures()).toHaveLength(1);
  });

  test('no way back to a person from outside', async () => {
    await say({ extra: { sessionWebhookExpiredTime: 1, senderStaffId: undefined } });
    expect(messages()).toEqual([]);
    expect(failures()[0]).toContain('outside the organisation');
  });

  test('a choice of one button still says how to answer', async () => {
    const { reply } = bench;
    bench.reply = (accepted) => ({ ...reply(accepted), choices: [{ label: '用 AMP', say: '打开 AMP' }] });
    await say({ extra: { sessionWebhookExpiredTime: 1 } });
    expect(messages()[0]?.text).toContain('1 用 AMP');
  });
});

describe('hostile webhooks', () => {
  test('no other address is contacted, no redirect followed; the answer goes through the OpenAPI', async () => {
    const trap = await openBench({ start: false });
    const { port } = trap.gateway;
    const own = new URL(bench.gateway.webhook());
    const hostile = [
      `http://127.0.0.1:${port}/robot/sendBySession?session=x`,
      `http://localhost:${own.port}${own.pathname}${own.search}`,
      `http://oapi.dingtalk.com@127.0.0.1:${port}/robot/sendBySession`,
      `http://${own.host}@127.0.0.1:${port}/`,
      `http://u:p@${own.host}${own.pathname}${own.search}`,
      `https://oapi.dingtalk.com.evil.test:${port}/`,
      `http://[::ffff:127.0.0.1]:${port}/`,
      `http://127.0.0.1:${port}#@${own.host}`,
      `file:///etc/passwd`,
      `javascript:alert(1)`,
      'not a url',
      `\\\\127.0.0.1:${port}\\x`,
    ];
    for (const [index, webhook] of hostile.entries()) {
      await say({ webhook, user: `staff9${index}` });
      expect(messages()).toHaveLength(index + 1);
    }
    expect(messages().every(({ via }) => via === 'direct')).toBe(true);
    expect(pathsOf('sendBySession')).toEqual([]);
    bench.gateway.webhookFaults.push({ status: 302, headers: { location: `http://127.0.0.1:${port}/x` }, body: {} });
    await say({ user: 'staff0777' });
    await pause(50);
    expect(trap.gateway.tcpConnections + trap.gateway.calls.length).toBe(0);
    await trap.stop();
  });
});

describe('words of a person', () => {
  test('never mark up an answer, mention anybody or get into a button', async () => {
    const words =
      '# **x** [a](dtmd://dingtalkclient/sendMessage?content=evil) @所有人 @all <font> `c` |a|b| ![p](http://x)';
    bench.reply = ({ message }) => ({
      locale: 'zh',
      kind: 'answer',
      fallback: message.text,
      blocks: [
        { kind: 'verdict', level: 'main', text: message.text },
        { kind: 'list', level: 'main', title: message.text, items: [message.text] },
        { kind: 'facts', level: 'main', title: '', items: [{ label: message.text, value: message.text }] },
        { kind: 'code', level: 'main', title: message.text, text: message.text },
        { kind: 'note', level: 'main', text: message.text },
      ],
      choices: [{ label: '用 AMP', say: '打开 AMP' }],
    });
    await say({ text: words, group: true });
    expect(messages()).toHaveLength(1);
    expect(JSON.stringify(messages()[0]?.buttons)).not.toContain('evil');
    expect(messages()[0]?.body['at']).toEqual({ atUserIds: ['staff0001'], isAtAll: false });
  });
});

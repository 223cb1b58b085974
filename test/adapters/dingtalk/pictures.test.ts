import { afterEach, describe, expect, test } from 'vitest';
import type { Fault } from '../../fakes/dingtalk-gateway.ts';
import { readPng } from '../png.ts';
import { fullReply } from '../slack/samples.ts';
import { type Bench, openBench } from './harness.ts';

let bench: Bench;
afterEach(async () => {
  expect(bench.gateway.api.problems).toEqual([]);
  await bench.stop();
});

const open = async (charts: string): Promise<void> => {
  bench = await openBench({ env: { CHARTS: charts } });
};
const uploads = () => bench.gateway.calls.filter(({ path }) => path === '/media/upload');
const messages = () => bench.gateway.api.messages;
const failUploads = (fault: Fault): void => {
  bench.gateway.fault = (path) => (path === '/media/upload' ? fault : undefined);
};
const plainBar = '**Where it goes** activations 11 · 权重 0.16 GiB';

async function say(said: Parameters<Bench['say']>[0] = {}): Promise<string> {
  expect(await bench.gateway.send(bench.say({ text: 'unet', ...said }))).toBeDefined();
  await bench.settled();
  return messages().at(-1)?.text ?? '';
}

describe('CHARTS=on', () => {
  test('one upload: the picture above the bar, each part with its square', async () => {
    await open('on');
    const text = await say();
    const [[id, png] = ['', Buffer.alloc(0)]] = bench.gateway.api.media;
    expect(text).toContain(`![](${id})\n\n**Where it goes** 🟦 activations 11 · 🟧 权重 0.16 GiB`);
    expect(bench.adapter.capabilities.images).toBe(true);
    const picture = readPng(png);
    const places = [10, 390, 402, 500].map((x) => picture.pixel(x, 40));
    expect(places).toEqual(['#55acee', '#55acee', '#f4900c', '#e6e7e8']);
  });

  test('one token for several pictures, a picture through the OpenAPI too', async () => {
    await open('on');
    await say();
    expect(await say({ extra: { sessionWebhookExpiredTime: 1 } })).toContain('![](');
    expect(messages().map(({ via }) => via)).toEqual(['webhook', 'direct']);
    expect(uploads()).toHaveLength(2);
    expect(bench.gateway.calls.filter(({ path }) => path.includes('oauth2'))).toHaveLength(1);
  });

  test('a second attempt at the same answer uploads nothing', async () => {
    await open('on');
    await say();
    const [item] = bench.accepted;
    if (item === undefined) throw new Error('nothing accepted');
    const attempt = () => bench.adapter.deliver(item.address, fullReply(), { key: 'k', repeated: false });
    bench.gateway.webhookFaults.push({ status: 500, body: {} });
    await expect(attempt()).rejects.toMatchObject({ code: 'platform-unreachable' });
    await attempt();
    expect(uploads()).toHaveLength(2);
    expect(messages().at(-1)?.text).toContain('![]($iAEKAqNwbmcDBgTNAk1)');
  });

  test('an answer without a bar uploads nothing', async () => {
    await open('on');
    const blocks = fullReply().blocks.filter(({ kind }) => kind !== 'bar');
    bench.reply = () => fullReply({ blocks });
    expect(await say()).not.toContain('![]');
    expect(uploads()).toEqual([]);
  });

  const failures: [string, Fault, string][] = [
    ['an errcode', { body: { errcode: 88, errmsg: 'quota' } }, 'platform-refused'],
    ['busy', { status: 503, body: {} }, 'platform-unreachable'],
    ['HTML', { body: '<html></html>' }, 'platform-unreachable'],
    ['a cut connection', { cut: true }, 'platform-unreachable'],
    ['a redirect', { status: 302, headers: { location: 'http://127.0.0.1:9/' }, body: {} }, 'platform-unreachable'],
    ['no id', { body: { errcode: 0, errmsg: 'ok' } }, 'platform-refused'],
    ['a hostile id', { body: { errcode: 0, media_id: 'x) [a](http://x.test' } }, 'platform-refused'],
  ];
  test.each(failures)('%s loses the picture, not the answer', async (_, fault, code) => {
    await open('on');
    failUploads(fault);
    const text = await say();
    expect(messages()).toHaveLength(1);
    expect(text).toContain(plainBar);
    expect(text).not.toContain('![]');
    const logged = bench.logs.filter((line) => line.includes('goes without its picture'));
    expect(logged).toHaveLength(1);
    expect(logged[0]).toContain(code);
    expect(bench.logs.join('\n')).not.toContain('secret-');
  });

  test('a token that is gone is replaced for the next answer', async () => {
    await open('on');
    await say();
    bench.gateway.api.tokens.clear();
    expect(await say()).toContain(plainBar);
    expect(await say()).toContain('![](');
  });
});

test.each(['off', ''])('CHARTS=%s: no upload, no token, no square', async (charts) => {
  await open(charts);
  expect(await say()).toContain(plainBar);
  expect(uploads()).toEqual([]);
  expect(bench.gateway.calls.filter(({ path }) => path.includes('oauth2'))).toEqual([]);
  expect(bench.adapter.capabilities.images).toBe(false);
});

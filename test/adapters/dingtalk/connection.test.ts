import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../fakes/eventually.ts';
import { type Bench, openBench, pause } from './harness.ts';

let bench: Bench;
const open = async (options: Parameters<typeof openBench>[0] = {}): Promise<void> => {
  await bench.stop();
  bench = await openBench(options);
};
beforeEach(async () => {
  bench = await openBench({ start: false });
});
afterEach(() => bench.stop());

const heard = (text = 'unet') => bench.gateway.send(bench.say({ text }), { waitMs: 1_000 });

describe('opening', () => {
  test('asks for robot messages alone, in JSON, with an encoded ticket', async () => {
    await bench.adapter.start();
    expect(bench.adapter.status()).toBe('connected');
    const [call] = bench.gateway.calls;
    expect(call?.headers.accept).toContain('application/json');
    expect(call?.body).toEqual({
      clientId: bench.gateway.clientId,
      clientSecret: bench.gateway.clientSecret,
      ua: expect.any(String),
      subscriptions: [{ type: 'CALLBACK', topic: '/v1.0/im/bot/messages/get' }],
    });
    expect(bench.gateway.refusedUpgrades).toEqual([]);
  });

  test.each([
    [401, { code: 'authFailed', message: '鉴权失败' }, /DINGTALK_CLIENT_ID/u],
    [400, { code: 'invalidParameter' }, /Stream mode/u],
  ])('%s: failed, said in words, tried again slowly', async (status, body, words) => {
    bench.gateway.fault = () => ({ status, body });
    await bench.adapter.start();
    expect(bench.adapter.status()).toBe('failed');
    expect(bench.logs.filter((line) => line.startsWith('error ')).join('\n')).toMatch(words);
    await pause(120);
    expect(bench.gateway.opens).toHaveLength(1);
    bench.gateway.fault = () => undefined;
    await eventually('connected', () => bench.adapter.status() === 'connected');
    expect(await heard()).toBeDefined();
  });

  test.each([
    ['HTML', { body: '<html>proxy</html>' }],
    ['nothing', { body: {} }],
    ['a server error', { status: 502, body: 'bad gateway' }],
    ['too fast', { status: 400, body: { code: 'send.too.fast' } }],
    ['a cut connection', { cut: true }],
  ])('%s in place of an address: tried again', async (_, fault) => {
    bench.gateway.fault = () => fault;
    await bench.adapter.start();
    expect(bench.adapter.status()).not.toBe('connected');
    bench.gateway.fault = () => undefined;
    await eventually('connected', () => bench.adapter.status() === 'connected');
  });

  test.each([
    'ws://example.test/connect',
    'wss://wss-open-connection.dingtalk.com.evil.test/',
    'http://example.test/',
    'no url',
  ])('the address %s is not used', async (endpoint) => {
    bench.gateway.endpoint = () => endpoint;
    await bench.adapter.start();
    expect(bench.adapter.status()).toBe('failed');
  });
});

describe('frames', () => {
  beforeEach(() => bench.adapter.start());

  test('a ping comes back as it is', async () => {
    const pong = await bench.gateway.ping('{"opaque" : "x y"}');
    expect(pong?.frame).toMatchObject({ code: 200, message: 'OK', data: '{"opaque" : "x y"}' });
  });

  test('unreadable ones are noted, the next message is answered', async () => {
    const frames = ['x', '', 'null', '1', '[]', '{}', '{"headers":{}}', '{"type":7,"headers":{}}', '{"type":"SYSTEM"}'];
    const headers = ['{"topic":1}', '{}', '{"messageId":""}'];
    const more = headers.flatMap((part) => ['CALLBACK', 'EVENT'].map((type) => `{"type":"${type}","headers":${part}}`));
    for (const frame of [...frames, ...more]) bench.gateway.broadcast(frame);
    expect(await heard()).toBeDefined();
    expect(bench.gateway.opens).toHaveLength(1);
    expect(bench.logs.filter((line) => line.includes('unreadable frame')).length).toBeGreaterThanOrEqual(frames.length);
  });

  test('a frame of a robot without an id of its own is handled, only not acknowledged', async () => {
    const data = JSON.stringify(bench.say({ text: 'unet' }));
    const headers = { topic: '/v1.0/im/bot/messages/get' };
    bench.gateway.broadcast(JSON.stringify({ type: 'CALLBACK', headers, data }));
    await eventually('accepted', () => bench.accepted.length === 1);
  });
});

describe('replacing', () => {
  beforeEach(() => bench.adapter.start());

  test('when the platform asks: the next one stands before the old one goes', async () => {
    const [old] = bench.gateway.connections;
    let standing = 0;
    old?.on('close', () => {
      standing = bench.gateway.connections.length;
    });
    bench.gateway.announceEnd();
    await eventually('closed', () => old?.readyState === 3);
    expect(standing).toBe(1);
    expect(bench.adapter.status()).toBe('connected');
    expect(await heard()).toBeDefined();
  });

  test('asked twice and dropped in between: one connection in the end', async () => {
    bench.gateway.announceEnd();
    bench.gateway.announceEnd();
    bench.gateway.drop();
    await eventually('connected again', async () => (await heard()) !== undefined);
    await eventually('one', () => bench.gateway.connections.length === 1);
  });

  test('a message that came over the old one is still acknowledged', async () => {
    const { accept } = bench.context;
    expect(accept).toBeDefined();
    const acked = bench.gateway.send(bench.say({ text: 'x' }));
    bench.gateway.announceEnd();
    expect(await acked).toBeDefined();
  });

  test('a drop', async () => {
    bench.gateway.drop();
    await eventually('answered', async () => (await heard()) !== undefined);
    expect(bench.gateway.connections).toHaveLength(1);
  });

  test('half-open: no pong comes', async () => {
    bench.gateway.mutePongs = true;
    await eventually('replaced', () => bench.gateway.opens.length >= 2);
    bench.gateway.mutePongs = false;
    await eventually('answered', async () => (await heard()) !== undefined);
    await eventually('one', () => bench.gateway.connections.length === 1);
  });

  test('pongs come but no frame does: replaced without a gap; frames keep it', async () => {
    await open({ pace: { pingMs: 30, idleMs: 150 } });
    await eventually('replaced', () => bench.gateway.opens.length >= 2);
    await eventually('one', () => bench.gateway.connections.length === 1);
    const opens = bench.gateway.opens.length;
    for (let round = 0; round < 12; round += 1) {
      await bench.gateway.ping();
      await pause(30);
    }
    expect(bench.gateway.opens.length).toBeLessThanOrEqual(opens + 1);
  });
});

describe('stopping', () => {
  test('closes the connection and opens none', async () => {
    await bench.adapter.start();
    await bench.adapter.stop();
    expect(bench.adapter.status()).toBe('stopped');
    await eventually('closed', () => bench.gateway.connections.length === 0);
    await pause(100);
    expect(bench.gateway.opens).toHaveLength(1);
  });

  test('ends the attempts, also one under way', async () => {
    bench.gateway.fault = () => ({ delayMs: 150 });
    const starting = bench.adapter.start();
    await eventually('asked', () => bench.gateway.opens.length === 1);
    await bench.adapter.stop();
    await starting;
    await pause(200);
    expect(bench.gateway.connections).toHaveLength(0);
    expect(bench.gateway.opens).toHaveLength(1);
    expect(bench.adapter.status()).toBe('stopped');
  });

  test('waits for messages that are being stored', async () => {
    await bench.adapter.start();
    const acks = Promise.all(['a', 'b', 'c'].map((text) => heard(text)));
    await eventually('arrived', () => bench.accepted.length > 0);
    await bench.adapter.stop();
    const acked = (await acks).filter((ack) => ack !== undefined);
    expect(acked.length).toBe(bench.accepted.length);
  });
});

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../fakes/eventually.ts';
import { signatureOf } from '../../fakes/slack-driver.ts';
import { fakeWorkspace } from '../../fakes/slack-workspace.ts';
import { type Bench, openBench, signingSecret } from './harness.ts';

const rejections: unknown[] = [];
process.on('unhandledRejection', (reason) => rejections.push(reason));
afterEach(() => expect(rejections).toEqual([]));

describe('Socket Mode', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench('socket');
  });
  afterEach(() => bench.stop());
  const again = async (text: string): Promise<void> => {
    const event = bench.make.mention(text);
    await eventually('acknowledged event', async () => (await bench.slack.event(event, { waitMs: 500 })).acked);
    await bench.settled();
    expect(bench.accepted.at(-1)?.message.text).toBe(text);
  };

  test('a refresh opens the next connection before the old one closes', async () => {
    const counts: number[] = [];
    const watch = setInterval(() => counts.push(bench.server.connections.length), 1);
    bench.server.broadcast(JSON.stringify({ type: 'disconnect', reason: 'refresh_requested', debug_info: {} }));
    await eventually('second connection', () => bench.server.opened.length === 2);
    await eventually('one left', () => bench.server.connections.length === 1);
    clearInterval(watch);
    expect(Math.min(...counts)).toBeGreaterThanOrEqual(1);
    await again('after refresh');
  });

  test('a dropped connection comes back', async () => {
    bench.server.dropConnections();
    await eventually(
      'reconnected',
      () => bench.server.connections.length === 1 && bench.adapter.status() === 'connected',
    );
    await again('after drop');
  });

  test('a half-open socket is noticed and replaced', async () => {
    bench.server.mutePongs = true;
    await eventually('replaced', () => bench.server.opened.length >= 2, 15_000);
    bench.server.mutePongs = false;
    await eventually('one connection', () => bench.server.connections.length === 1, 15_000);
    await again('after silence');
  }, 40_000);

  test('server errors while reconnecting end with a connection', async () => {
    let failures = 0;
    bench.server.failure = (method) => {
      if (method !== 'apps.connections.open') return undefined;
      failures += 1;
      return failures <= 2 ? { status: 503 } : undefined;
    };
    bench.server.dropConnections();
    await eventually('connecting', () => bench.adapter.status() === 'connecting');
    await eventually('reconnected', () => bench.adapter.status() === 'connected', 20_000);
    expect(failures).toBeGreaterThanOrEqual(3);
    await again('after errors');
  }, 30_000);

  test('frames that the library chokes on are passed over', async () => {
    bench.server.broadcast(
      JSON.stringify({
        envelope_id: 'x',
        type: 'events_api',
        payload: { type: 'app_rate_limited', minute_rate_limited: 1 },
      }),
    );
    bench.server.broadcast('not json');
    bench.server.broadcast('{}');
    await again('after garbage');
    expect(bench.server.connections).toHaveLength(1);
  });

  test('stopping waits for what is being received and closes the connection', async () => {
    let release = (): void => undefined;
    bench.hold = new Promise((resolve) => {
      release = resolve;
    });
    const event = bench.slack.event(bench.make.mention('unet'));
    await eventually('arrival', () => bench.held === 1);
    setTimeout(release, 200);
    const [outcome] = await Promise.all([event, bench.adapter.stop()]);
    expect(outcome.acked).toBe(true);
    await eventually('closed', () => bench.server.connections.length === 0);
    expect(bench.adapter.status()).toBe('stopped');
  });
});

test('connections that are not ours are pointed out', async () => {
  const bench = await openBench('socket', { start: false });
  bench.server.ghosts = 3;
  await bench.adapter.start();
  expect(bench.logs.join('\n')).toContain('other connections share the events');
  await bench.stop();
});

test('a connection without hello is given up and tried again', async () => {
  const bench = await openBench('socket', { start: false });
  bench.server.withholdHello = true;
  const started = bench.adapter.start();
  await eventually('first attempt', () => bench.server.opened.length === 1);
  await started;
  expect(bench.adapter.status()).toBe('connecting');
  bench.server.withholdHello = false;
  await eventually('connected', () => bench.adapter.status() === 'connected', 20_000);
  await eventually('ghost gone', () => bench.server.connections.length === 1, 20_000);
  await bench.stop();
}, 60_000);

describe('at start', () => {
  const starting = async (bench: Bench): Promise<unknown> =>
    bench.adapter.start().then(
      () => undefined,
      (error: unknown) => error,
    );

  test.each(['socket', 'http'] as const)('a wrong bot token is refused readably over %s', async (mode) => {
    const bench = await openBench(mode, { start: false, env: { SLACK_BOT_TOKEN: 'xoxb-wrong-secret' } });
    expect(await starting(bench)).toMatchObject({
      code: 'platform-refused',
      message: expect.stringContaining('invalid_auth'),
    });
    expect(await bench.adapter.check()).toEqual([expect.stringContaining('invalid_auth')]);
    await bench.stop();
  });

  test('a wrong app token is refused readably', async () => {
    const bench = await openBench('socket', { start: false, env: { SLACK_APP_TOKEN: 'xapp-wrong-secret' } });
    expect(await starting(bench)).toMatchObject({
      code: 'platform-refused',
      message: expect.stringContaining('invalid_auth'),
    });
    expect(await bench.adapter.check()).toEqual([expect.stringContaining('connections:write')]);
    await bench.stop();
  });

  test('a missing scope is named', async () => {
    const workspace = fakeWorkspace();
    workspace.scopes = ['commands', 'im:history', 'app_mentions:read'];
    const bench = await openBench('http', { start: false, workspaces: [workspace] });
    expect(await starting(bench)).toMatchObject({
      code: 'platform-refused',
      message: expect.stringContaining('chat:write'),
    });
    await bench.stop();
  });

  test('a missing optional scope is only a warning', async () => {
    const workspace = fakeWorkspace();
    workspace.scopes = ['commands', 'im:history', 'app_mentions:read', 'chat:write'];
    const bench = await openBench('http', { workspaces: [workspace] });
    expect(bench.adapter.status()).toBe('connected');
    expect(bench.logs.join('\n')).toContain('channels:history');
    expect(await bench.adapter.check()).toContainEqual(expect.stringContaining('users:read'));
    await bench.stop();
  });

  test.each(['socket', 'http'] as const)(
    'an unreachable platform does not keep %s from starting',
    async (mode) => {
      const bench = await openBench(mode, { start: false });
      bench.server.failure = () => ({ cut: true });
      expect(await starting(bench)).toBeUndefined();
      expect(bench.adapter.status()).toBe('connecting');
      if (mode === 'http') expect((await bench.slack.event(bench.make.mention('unet'))).acked).toBe(true);
      bench.server.failure = () => undefined;
      await eventually('connected', () => bench.adapter.status() === 'connected', 25_000);
      await bench.stop();
    },
    60_000,
  );

  test('loading the configuration loads no library', async () => {
    const { loaded } = await loadedBy('adapters/slack/config.ts');
    expect(loaded.filter((path) => path.includes('@slack'))).toEqual([]);
  });
});

async function loadedBy(path: string): Promise<{ loaded: readonly string[] }> {
  const { execFileSync } = await import('node:child_process');
  const script = `import(${JSON.stringify(`${process.cwd()}/${path}`)}).then(() => console.log(JSON.stringify(Object.keys(require.cache))))`;
  const output = execFileSync(process.execPath, ['--import', 'tsx', '--input-type=commonjs', '-e', script], {
    encoding: 'utf8',
  });
  return { loaded: JSON.parse(output) };
}

describe('HTTP', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench('http');
  });
  afterEach(() => bench.stop());
  const now = (shift = 0): string => String(Math.floor(Date.now() / 1000) + shift);
  const post = (body: string, headers: Record<string, string>) =>
    fetch(bench.url(), { method: 'POST', body, headers: { 'content-type': 'application/json', ...headers } });
  const signed = (body: string, timestamp: string) =>
    post(body, {
      'x-slack-request-timestamp': timestamp,
      'x-slack-signature': signatureOf(signingSecret, timestamp, body),
    });

  test('bad, stale, future and missing signatures are refused before anything is read', async () => {
    const body = JSON.stringify(bench.make.mention('unet'));
    expect((await post(body, {})).status).toBe(401);
    expect((await post(body, { 'x-slack-request-timestamp': now(), 'x-slack-signature': 'v0=00' })).status).toBe(401);
    expect(
      (
        await post(body, {
          'x-slack-request-timestamp': now(),
          'x-slack-signature': signatureOf('another', now(), body),
        })
      ).status,
    ).toBe(401);
    expect((await signed(body, now(-301))).status).toBe(401);
    expect((await signed(body, now(3_600))).status).toBe(401);
    expect(bench.accepted).toEqual([]);
  });

  test('a replayed request is not answered twice', async () => {
    const body = new URLSearchParams(bench.make.command('unet')).toString();
    const timestamp = now();
    const send = () =>
      post(body, {
        'content-type': 'application/x-www-form-urlencoded',
        'x-slack-request-timestamp': timestamp,
        'x-slack-signature': signatureOf(signingSecret, timestamp, body),
      });
    expect([(await send()).status, (await send()).status]).toEqual([200, 200]);
    await bench.settled();
    expect(bench.server.store.messages).toHaveLength(1);
  });

  test('url_verification, ssl_check, garbage, size and other methods', async () => {
    const challenge = JSON.stringify({ type: 'url_verification', challenge: 'abc', token: 't' });
    expect(await (await signed(challenge, now())).json()).toEqual({ challenge: 'abc' });
    expect((await post('ssl_check=1', { 'content-type': 'application/x-www-form-urlencoded' })).status).toBe(200);
    expect((await signed('{', now())).status).toBe(400);
    expect((await fetch(bench.url())).status).toBe(405);
    expect(
      (await signed(JSON.stringify({ type: 'app_rate_limited', team_id: 'T', minute_rate_limited: 1 }), now())).status,
    ).toBe(200);
    expect((await signed(JSON.stringify({ text: 'x'.repeat(1_100_000) }), now())).status).toBe(413);
  });

  test('an event whose storing failed is left to a redelivery, which is answered', async () => {
    const event = bench.make.mention('unet');
    bench.broken = true;
    expect((await bench.slack.event(event)).status).toBe(500);
    bench.broken = false;
    expect((await bench.slack.event(event, { retry: 1 })).status).toBe(200);
    expect(bench.accepted).toHaveLength(1);
  });
});

import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { eventually } from '../../fakes/eventually.ts';
import { type FakeWorkspace, fakeWorkspace } from '../../fakes/slack-workspace.ts';
import { type Bench, openBench } from './harness.ts';

const one = fakeWorkspace();
const two = fakeWorkspace({ team: 'T00SECOND00', token: 'xoxb-fake-two-secret', botUser: 'U00FAKEBOT02', botId: 'B2' });
const org = fakeWorkspace({
  team: 'T00INORG000',
  enterprise: 'E00ORG',
  orgWide: true,
  token: 'xoxb-fake-org-secret',
  botUser: 'U00FAKEBOT03',
  botId: 'B3',
});

describe('several workspaces by OAuth', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench('oauth', { workspaces: [one, two, org].map((workspace) => ({ ...workspace })) });
  });
  afterEach(() => bench.stop());
  const base = (): string => bench.url().replace('/slack/events', '');

  async function install(workspace: FakeWorkspace): Promise<Response> {
    bench.server.codes.set(workspace.token, workspace);
    const page = await fetch(`${base()}/slack/install`);
    const cookie = page.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
    const state = /[?&]state=([^"&]+)/u.exec(await page.text())?.[1] ?? '';
    const query = new URLSearchParams({ code: workspace.token, state });
    return fetch(`${base()}/slack/oauth_redirect?${query}`, { headers: { cookie } });
  }
  const speaker = (workspace: FakeWorkspace) => ({
    team: workspace.team,
    botUser: workspace.botUser,
    enterprise: workspace.enterprise ?? null,
    orgWide: workspace.orgWide === true,
  });

  test('each workspace is answered with its own token', async () => {
    for (const workspace of [one, two, org]) expect((await install(workspace)).status).toBe(200);
    await Promise.all(
      [one, two, org].flatMap((workspace) =>
        [1, 2, 3].map((turn) => bench.slack.event(bench.make.mention(`turn ${turn}`, speaker(workspace)))),
      ),
    );
    await bench.settled();
    const posts = bench.server.calls.filter(({ method }) => method === 'chat.postMessage');
    expect(posts).toHaveLength(9);
    for (const workspace of [one, two, org]) {
      const own = bench.server.store.messages.filter(({ team }) => team === workspace.team);
      expect(own).toHaveLength(3);
      expect(new Set(own.map(({ user }) => user))).toEqual(new Set([workspace.botUser]));
    }
    const tenants = new Set(bench.accepted.map(({ message }) => message.conversationId.split(':')[1]));
    expect(tenants).toEqual(new Set([one.team, two.team, 'E00ORG']));
  });

  test('installations are not readable in the store', async () => {
    await install(one);
    const entries = await bench.context.store.list('slack/installation/', 10);
    expect(entries.map(({ key }) => key)).toEqual([`slack/installation/${one.team}`]);
    expect(JSON.stringify(entries)).not.toContain('xoxb');
  });

  test('a forged state and a refused code install nothing', async () => {
    const forged = await fetch(`${base()}/slack/oauth_redirect?code=x&state=forged`);
    expect(forged.status).toBe(400);
    expect((await install({ ...two, token: 'unknown' })).status).not.toBe(404);
    bench.server.codes.clear();
    expect((await bench.context.store.list('slack/installation/', 10)).length).toBeLessThanOrEqual(1);
  });

  test('an unknown workspace is acknowledged and not answered', async () => {
    expect((await bench.slack.event(bench.make.mention('unet', speaker(two)))).acked).toBe(true);
    expect((await bench.slack.command(bench.make.command('unet', speaker(two)))).acked).toBe(true);
    expect(bench.accepted).toEqual([]);
  });

  test.each(['uninstalled', 'revoked'] as const)(
    '%s: token, threads and answers of that workspace are forgotten',
    async (kind) => {
      await install(one);
      await install(two);
      for (const workspace of [one, two]) await bench.slack.event(bench.make.mention('unet', speaker(workspace)));
      await bench.settled();
      expect((await bench.slack.event(bench.make[kind](speaker(one)))).acked).toBe(true);
      for (const prefix of ['installation', 'thread', 'answer']) {
        const keys = (await bench.context.store.list(`slack/${prefix}/`, 10)).map(({ key }) => key);
        expect(keys.filter((key) => key.includes(one.team))).toEqual([]);
        expect(keys.filter((key) => key.includes(two.team))).toHaveLength(1);
      }
      await bench.slack.event(bench.make.mention('again', speaker(one)));
      await bench.slack.event(bench.make.mention('again', speaker(two)));
      expect(bench.accepted.map(({ message }) => message.conversationId.split(':')[1])).toEqual([
        one.team,
        two.team,
        two.team,
      ]);
    },
  );

  test('an answer for a workspace that removed the app is refused, not retried', async () => {
    await install(one);
    await bench.slack.event(bench.make.mention('unet', speaker(one)));
    await bench.settled();
    await bench.slack.event(bench.make.uninstalled(speaker(one)));
    const address = bench.accepted[0]?.address ?? {};
    await expect(
      bench.adapter.deliver(address, bench.reply(bench.accepted[0] ?? ({ message: { text: '' } } as never))),
    ).rejects.toMatchObject({ code: 'platform-refused' });
  });
});

describe('delivery', () => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench('http');
  });
  afterEach(() => bench.stop());
  const posts = () => bench.server.calls.filter(({ method }) => method === 'chat.postMessage');
  const deliverAgain = async (repeated: boolean): Promise<void> => {
    const [item] = bench.accepted;
    if (item === undefined) throw new Error('nothing accepted');
    await bench.adapter.deliver(item.address, bench.reply(item), { key: 'the-key', repeated });
  };

  test('a repeated delivery looks for the earlier one', async () => {
    bench.server.failure = (method) => (method === 'chat.postMessage' ? { status: 500 } : undefined);
    await bench.slack.event(bench.make.mention('unet'));
    await bench.settled();
    bench.server.failure = () => undefined;
    await deliverAgain(true);
    await deliverAgain(true);
    expect(bench.server.store.messages).toHaveLength(1);
  });

  test.each([
    ['a server error', { status: 503 }, 'platform-unreachable'],
    ['an HTML page', { status: 200, body: '<html>proxy</html>' }, 'platform-unreachable'],
    ['a long rate limit', { status: 429, headers: { 'retry-after': '60' } }, 'platform-unreachable'],
    ['a rate limit without a time', { status: 429 }, 'platform-unreachable'],
    ['a cut connection', { cut: true }, 'platform-unreachable'],
    ['a removed account', { body: '{"ok":false,"error":"account_inactive"}' }, 'platform-refused'],
    ['an internal error', { body: '{"ok":false,"error":"internal_error"}' }, 'platform-unreachable'],
  ])('%s is %3$s', async (_name, failure, code) => {
    await bench.slack.event(bench.make.mention('unet'));
    await bench.settled();
    bench.server.failure = () => failure;
    const before = posts().length;
    await expect(deliverAgain(false)).rejects.toMatchObject({ code });
    // Whether it got through is not known: the next attempt looks before it writes.
    expect(posts().length - before).toBe(1);
  });

  test('a short rate limit is sat out', async () => {
    let left = 1;
    bench.server.failure = (method) =>
      method === 'chat.postMessage' && left-- > 0 ? { status: 429, headers: { 'retry-after': '1' } } : undefined;
    await bench.slack.event(bench.make.mention('unet'));
    await bench.settled();
    expect(bench.server.store.messages).toHaveLength(1);
  });

  test('blocks that Slack refuses do not cost the answer; the log says which', async () => {
    const messages = ['[ERROR] must be shorter than my private words [json-pointer:/blocks/3/text]'];
    const refusal = JSON.stringify({ ok: false, error: 'invalid_blocks', response_metadata: { messages } });
    bench.server.failure = (method, { params }) =>
      method === 'chat.postMessage' && params['blocks'] !== undefined ? { body: refusal } : undefined;
    await bench.slack.event(bench.make.mention('unet'));
    await bench.settled();
    expect(bench.server.store.messages[0]).toMatchObject({ text: 'heard: unet', blocks: [] });
    expect(bench.logs.join('\n')).toMatch(/invalid_blocks/u);
    expect(bench.logs.join('\n')).toMatch(/json-pointer:\/blocks\/3\/text/u);
    expect(bench.logs.join('\n')).not.toMatch(/private words/u);
  });

  test('an expired response URL falls back to a whisper, then to the direct messages', async () => {
    bench.hold = new Promise((resolve) => setTimeout(resolve, 100));
    const inChannel = bench.slack.command(bench.make.command('unet'));
    const elsewhere = bench.slack.command(bench.make.command('unet b', { channel: 'C00OTHERCHAN' }));
    await eventually('both waiting', () => bench.held === 2);
    bench.server.store.expireResponses();
    await Promise.all([inChannel, elsewhere]);
    await bench.settled();
    expect(bench.server.store.messages.map(({ channel, onlyFor }) => [channel, onlyFor]).sort()).toEqual([
      ['C00FAKECHAN1', 'U00FAKEUSER1'],
      ['D00FAKEUSER1', undefined],
    ]);
  });

  test('a response URL that does not answer falls back too; a Web API that is down is waited for', async () => {
    bench.server.failure = (method) => (method === 'response_url' ? { cut: true } : undefined);
    await bench.slack.command(bench.make.command('unet'));
    await bench.settled();
    expect(bench.server.store.messages[0]).toMatchObject({ channel: 'C00FAKECHAN1', onlyFor: 'U00FAKEUSER1' });
    bench.server.failure = () => ({ status: 503 });
    await expect(deliverAgain(false)).rejects.toMatchObject({ code: 'platform-unreachable' });
  });

  test('the address in the inbox holds no secret in the clear', async () => {
    await bench.slack.command(bench.make.command('unet'));
    expect(JSON.stringify(bench.accepted)).not.toMatch(/response-\d|xoxb|http/u);
  });

  test('nothing that people wrote and no secret is in the log', async () => {
    bench.server.failure = (method) => (method === 'chat.postMessage' ? { status: 500 } : undefined);
    await bench.slack.event(bench.make.mention('my private words'));
    await bench.slack.command(bench.make.command('my private words'));
    await bench.settled();
    expect(bench.logs.join('\n')).not.toMatch(/private words|secret|xoxb-|xapp-/u);
  });
});

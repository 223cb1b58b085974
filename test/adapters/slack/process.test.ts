import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eventually } from '../../fakes/eventually.ts';
import { signatureOf } from '../../fakes/slack-driver.ts';
import { fakeWorkspace } from '../../fakes/slack-workspace.ts';
import { signingSecret } from './harness.ts';
import { elementIn, environmentOf, everyOutput, openSite, type Program, runProgram, type Site } from './process.ts';

const question = 'deeplabv3+ resnet50 512x1024 batch 2, 19 classes, budget 15 CNY/hour';
const privateWords = 'quetzalcoatlus';

describe.each(['socket', 'http'] as const)('the program over %s', (mode) => {
  let site: Site;
  let count = 0;
  const newThread = (): string => {
    count += 1;
    return `1700000000.${String(count).padStart(6, '0')}`;
  };
  beforeAll(async () => {
    site = await openSite(mode);
    await site.start();
  });
  afterEach(() => {
    expect(site.server.unknownMethods).toEqual([]);
    expect(site.server.refusals.filter(({ error }) => String(error).startsWith('invalid_'))).toEqual([]);
  });
  afterAll(() => site.close());

  const inThread = (thread: string) => site.messages().filter((message) => message.threadTs === thread);
  const answers = (thread: string, number: number) =>
    eventually(`${number} answers`, () => inThread(thread).length >= number && inThread(thread));
  const quiet = async (thread: string, number: number): Promise<void> => {
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(inThread(thread)).toHaveLength(number);
  };
  const asked = async (text = question): Promise<string> => {
    const ts = newThread();
    expect((await site.slack.event(site.make.mention(text, { ts }))).acked).toBe(true);
    await answers(ts, 1);
    return ts;
  };

  test('command → answer to the asker, with figures', async () => {
    const channel = 'C00OTHERCHAN';
    expect(await site.slack.command(site.make.command(question, { channel }))).toMatchObject({
      acked: true,
      response: undefined,
    });
    const [answer] = await eventually('answer', () => site.messages(channel).length > 0 && site.messages(channel));
    expect(answer).toMatchObject({ onlyFor: 'U00FAKEUSER1' });
    expect(answer?.text).toMatch(/^Needs 7\.0 GiB/u);
  });

  test('mention, then a reply in the thread changes the budget', async () => {
    const thread = await asked();
    await site.slack.event(site.make.message('budget 30 CNY/hour', { thread }));
    const [first, second] = await answers(thread, 2);
    expect(first?.text).toContain('¥15');
    expect(second?.text).toContain('¥30');
    expect(second?.text).toContain('7.0 GiB');
  });

  test('direct messages fill the slots one by one', async () => {
    const speaker = { channel: 'D00FAKEUSER2', user: 'U00FAKEUSER2' };
    for (const [index, text] of ['segformer b2', '512x512', 'batch 4', 'no limit'].entries()) {
      await site.slack.event(site.make.message(text, speaker));
      await eventually(`answer to ${text}`, () => site.messages(speaker.channel).length === index + 1);
    }
    expect(site.messages(speaker.channel).at(-1)?.text).toMatch(/GiB/u);
  });

  test('modal with field errors, then corrected', async () => {
    const views = site.server.store.views.length;
    await site.slack.command(site.make.command('', { user: 'U00FAKEUSER2' }));
    const { view } = await eventually('form', () => site.server.store.views[views]);
    const wrong = await site.slack.interaction(
      site.make.submit(view, { model: 'unet', size: 'large', batch: '8', budget: null }, { user: 'U00FAKEUSER2' }),
    );
    expect(wrong.response).toMatchObject({
      response_action: 'errors',
      errors: { size: expect.stringContaining('512x1024') },
    });
    const before = site.messages().length;
    const right = await site.slack.interaction(
      site.make.submit(view, { model: 'unet', size: '512', batch: '8', budget: null }, { user: 'U00FAKEUSER2' }),
    );
    expect(right).toMatchObject({ acked: true, response: undefined });
    const answer = await eventually('answer', () => site.messages()[before]);
    expect(answer.onlyFor).toBe('U00FAKEUSER2');
    expect(answer.text).toMatch(/GiB/u);
  });

  test('a button changes the answer in place', async () => {
    const thread = await asked();
    const [answer] = inThread(thread);
    if (answer === undefined) throw new Error('no answer');
    const before = answer.text;
    await site.slack.interaction(site.make.press(answer, elementIn(answer.blocks, 'choice', 'Turn on AMP')));
    await eventually('edit', () => answer.edits === 1);
    expect(answer.text).not.toBe(before);
    await quiet(thread, 1);
  });

  test('message shortcut, home tab and global shortcut', async () => {
    const ts = newThread();
    await site.slack.interaction(
      site.make.messageShortcut('gpu_size_from_message', { ts, text: 'we train unet 512x512 batch 8' }),
    );
    expect((await answers(ts, 1))[0]?.text).toMatch(/GiB/u);
    const homes = () => site.server.store.views.filter(({ kind }) => kind === 'home');
    await site.slack.event(site.make.homeOpened('home'));
    const home = await eventually('home', () => homes().at(-1));
    expect(JSON.stringify(home.view)).toMatch(/GiB/u);
    await site.slack.interaction(site.make.shortcut('gpu_size_open'));
    await eventually('form', () => site.server.store.views.at(-1)?.view['callback_id'] === 'gpu_size_form');
  });

  test.each([['mention first'], ['message first']])('twin, %s: one answer', async (order) => {
    const ts = newThread();
    const twins = [site.make.mention(question, { ts }), site.make.message(`<@U00FAKEBOT01> ${question}`, { ts })];
    for (const event of order === 'mention first' ? twins : twins.reverse()) await site.slack.event(event);
    await answers(ts, 1);
    await quiet(ts, 1);
  });

  test('the same event redelivered up to three times: one answer', async () => {
    const ts = newThread();
    const event = site.make.mention(question, { ts });
    for (const retry of [0, 1, 2, 3]) expect((await site.slack.event(event, { retry })).acked).toBe(true);
    await answers(ts, 1);
    await quiet(ts, 1);
  });

  test('two messages at once in one thread: both answered, in order', async () => {
    const thread = await asked();
    await Promise.all([
      site.slack.event(site.make.message('batch 4', { thread })),
      site.slack.event(site.make.message('turn on amp', { thread })),
    ]);
    const [, second, third] = await answers(thread, 3);
    expect(second?.text).toContain('Turn on AMP');
    expect(third?.text).toContain('AMP off');
  });

  test('own messages and edits, foreign threads and channel talk stay silent', async () => {
    const thread = await asked();
    const [answer] = inThread(thread);
    const calls = site.server.calls.length;
    const own = { user: 'U00FAKEBOT01', extra: { bot_id: 'B00FAKEBOT01' } };
    const edit = {
      subtype: 'message_changed',
      hidden: true,
      message: { ...own, text: answer?.text, ts: answer?.ts, thread_ts: thread },
    };
    const events = [
      site.make.message(answer?.text ?? '', { ...own, thread }),
      site.make.message('', { thread, extra: edit }),
      site.make.message(privateWords),
      site.make.message(privateWords, { thread: '1600000000.000100' }),
    ];
    for (const event of events) expect((await site.slack.event(event)).acked).toBe(true);
    await quiet(thread, 1);
    expect(site.server.calls.slice(calls).filter(({ method }) => method.startsWith('chat.'))).toEqual([]);
  });

  test('help and an unknown command are answered at once', async () => {
    for (const fields of [site.make.command('help'), site.make.command(privateWords, { command: '/other' })]) {
      const outcome = await site.slack.command(fields);
      expect(outcome.response).toMatchObject({ response_type: 'ephemeral', text: expect.stringContaining('GPU') });
    }
  });

  test('the language follows the message, else the profile', async () => {
    const speaker = { user: 'U00CHINESE01', channel: 'D00CHINESE01' };
    await site.slack.event(site.make.message('unet', speaker));
    expect((await eventually('answer', () => site.messages(speaker.channel)[0])).text).toMatch(/\p{sc=Han}/u);
    const other = { user: 'U00FAKEUSER1', channel: 'D00FAKEUSER1' };
    const before = site.messages(other.channel).length;
    await site.slack.event(site.make.message('我想训练 unet，512x512，batch 8', other));
    expect((await eventually('answer', () => site.messages(other.channel)[before])).text).toMatch(/\p{sc=Han}/u);
  });

  test('server errors, rate limits and a platform that is down for a while cost no answer and no double', async () => {
    let left = 4;
    site.server.failure = (method) => {
      if (method !== 'chat.postMessage' || left <= 0) return undefined;
      left -= 1;
      return left % 2 === 0 ? { status: 503 } : { status: 429, headers: { 'retry-after': '1' } };
    };
    const ts = newThread();
    await site.slack.event(site.make.mention(question, { ts }));
    await answers(ts, 1);
    await quiet(ts, 1);
    site.server.failure = () => ({ cut: true });
    const later = newThread();
    await site.slack.event(site.make.mention(question, { ts: later }));
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    site.server.failure = () => undefined;
    await eventually('late answer', () => inThread(later).length === 1, 20_000);
    await quiet(later, 1);
  }, 60_000);

  test('what a person wrote comes back only escaped', async () => {
    const ts = newThread();
    await site.slack.event(site.make.mention(`&lt;!channel&gt; &amp; ${privateWords} 512 batch 8`, { ts }));
    const [answer] = await answers(ts, 1);
    expect(answer?.text).not.toMatch(/[<>]/u);
    expect(JSON.stringify(answer?.blocks)).not.toContain('mrkdwn');
  });
});

describe('Socket Mode of the program', () => {
  test('refresh, drop and half-open socket: the conversation goes on', async () => {
    const site = await openSite('socket');
    await site.start();
    const answered = async (ts: string): Promise<void> => {
      const event = site.make.mention(question, { ts });
      await eventually('acknowledged', async () => (await site.slack.event(event, { waitMs: 400 })).acked, 20_000);
      await eventually(`answer ${ts}`, () => site.messages().filter(({ threadTs }) => threadTs === ts).length === 1);
    };
    site.server.broadcast(JSON.stringify({ type: 'disconnect', reason: 'refresh_requested' }));
    await answered('1700000100.000100');
    site.server.dropConnections();
    await answered('1700000100.000200');
    site.server.mutePongs = true;
    await eventually('replaced', () => site.server.opened.length >= 4, 20_000);
    site.server.mutePongs = false;
    await answered('1700000100.000300');
    await eventually('one connection', () => site.server.connections.length === 1, 20_000);
    await site.close();
  }, 90_000);

  test('a removed app and a revoked token end in a readable state', async () => {
    const site = await openSite('socket');
    const program = await site.start();
    expect((await site.slack.event(site.make.uninstalled({ team: 'T00ANOTHER0' }))).acked).toBe(true);
    expect((await fetch(`${site.base()}/readyz`)).status).toBe(200);
    site.server.store.workspaces.length = 0;
    expect((await site.slack.event(site.make.uninstalled())).acked).toBe(true);
    await eventually('not ready', async () => (await fetch(`${site.base()}/readyz`)).status === 503);
    expect(program.output()).toContain('removed from a workspace');
    await site.close();
  });
});

describe.each(['socket', 'http'] as const)('start and stop over %s', (mode) => {
  let site: Site;
  beforeAll(async () => {
    site = await openSite(mode);
  });
  afterAll(() => site.close());

  test('SIGTERM with work in flight: it is answered, then the process ends', async () => {
    const program = await site.start();
    site.server.failure = (method) => (method === 'chat.postMessage' ? { delayMs: 700 } : undefined);
    const ts = '1700000200.000100';
    await site.slack.event(site.make.mention(question, { ts }));
    program.child.kill('SIGTERM');
    expect(await program.exited).toBe(0);
    site.server.failure = () => undefined;
    expect(site.messages().filter(({ threadTs }) => threadTs === ts)).toHaveLength(1);
  }, 60_000);

  test('kill −9 before the answer: it comes after a restart, once, and the thread goes on', async () => {
    const first = await site.start();
    site.server.failure = (method) => (method.startsWith('chat.') ? { status: 503 } : undefined);
    const ts = '1700000200.000200';
    const event = site.make.mention(question, { ts });
    expect((await site.slack.event(event)).acked).toBe(true);
    first.child.kill('SIGKILL');
    await first.exited;
    site.server.failure = () => undefined;
    await site.start();
    await site.slack.event(event, { retry: 1 });
    const inThread = () => site.messages().filter(({ threadTs }) => threadTs === ts);
    await eventually('answer after restart', () => inThread().length === 1, 60_000);
    await site.slack.event(site.make.message('budget 30 CNY/hour', { thread: ts }));
    await eventually('follow-up', () => inThread().length === 2, 20_000);
    expect(inThread()[1]?.text).toContain('¥30');
    await new Promise((resolve) => setTimeout(resolve, 500));
    expect(inThread()).toHaveLength(2);
  }, 120_000);

  test('the platform is down at start: the process waits for it', async () => {
    const other = await openSite(mode);
    other.server.failure = () => ({ status: 503 });
    const program = await other.start({ ready: false });
    await eventually('serving', () => program.output().includes('"serving"'), 20_000);
    other.server.failure = () => undefined;
    await eventually('verified', () => other.server.calls.some(({ method }) => method === 'auth.test'), 20_000);
    if (mode === 'socket') await eventually('connected', () => other.server.connections.length === 1, 30_000);
    expect(program.child.exitCode).toBeNull();
    await other.close();
  }, 60_000);

  test('a refused token ends the start with the reason', async () => {
    const program = await site.start({ ready: false, env: { SLACK_BOT_TOKEN: 'xoxb-wrong-secret' } });
    expect(await program.exited).toBe(1);
    expect(program.output()).toMatch(/platform-refused.*invalid_auth/u);
  }, 30_000);
});

describe('errors at start', () => {
  const failing = async (
    args: readonly string[],
    env: Readonly<Record<string, string>>,
  ): Promise<[number | null, string]> => {
    const program: Program = runProgram(args, { DATABASE_URL: 'memory:', PORT: '0', ...env });
    const code = await program.exited;
    return [code, program.output()];
  };

  test('a missing variable is named', async () => {
    const [code, output] = await failing([], { SLACK_CLIENT_ID: 'x' });
    expect(code).toBe(1);
    for (const name of ['SLACK_CLIENT_SECRET', 'SLACK_STATE_SECRET', 'SLACK_SIGNING_SECRET', 'ENCRYPTION_KEY'])
      expect(output).toContain(name);
  });

  test('a missing scope is named, by the program and by its check', async () => {
    const workspace = fakeWorkspace();
    workspace.scopes = ['commands', 'im:history', 'app_mentions:read'];
    const site = await openSite('http', [workspace]);
    const env = { ...environmentOf('http', site.server), SLACK_API_URL: site.server.apiUrl };
    const results = await Promise.all([failing([], env), failing(['--check', '--online'], env)]);
    for (const [code, output] of results) {
      expect(code).toBe(1);
      expect(output).toContain('chat:write');
    }
    await site.close();
  }, 30_000);
});

test('signatures: bad, stale and replayed requests', async () => {
  const site = await openSite('http');
  await site.start();
  const body = new URLSearchParams(site.make.command(question)).toString();
  const post = (timestamp: number, signature?: string) =>
    fetch(`${site.base()}/slack/events`, {
      method: 'POST',
      body,
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        'x-slack-request-timestamp': String(timestamp),
        'x-slack-signature': signature ?? signatureOf(signingSecret, String(timestamp), body),
      },
    });
  const now = Math.floor(Date.now() / 1000);
  expect((await post(now, 'v0=bad')).status).toBe(401);
  expect((await post(now - 400)).status).toBe(401);
  expect((await post(now)).status).toBe(200);
  expect((await post(now)).status).toBe(200);
  await eventually('answer', () => site.messages().length === 1);
  await new Promise((resolve) => setTimeout(resolve, 500));
  expect(site.messages()).toHaveLength(1);
  await site.close();
}, 30_000);

test('two workspaces by OAuth are never mixed, also after a restart', async () => {
  const one = fakeWorkspace();
  const two = fakeWorkspace({
    team: 'T00SECOND00',
    token: 'xoxb-fake-two-secret',
    botUser: 'U00FAKEBOT02',
    botId: 'B2',
  });
  const site = await openSite('oauth', []);
  let program = await site.start();
  for (const workspace of [one, two]) {
    site.server.codes.set(workspace.token, workspace);
    const page = await fetch(`${site.base()}/slack/install`);
    const cookie = page.headers.get('set-cookie')?.split(';', 1)[0] ?? '';
    const state = z.string().parse(/[?&]state=([^"&]+)/u.exec(await page.text())?.[1]);
    const redirect = `${site.base()}/slack/oauth_redirect?code=${workspace.token}&state=${state}`;
    expect((await fetch(redirect, { headers: { cookie } })).status).toBe(200);
  }
  const speak = (workspace: typeof one, ts: string) =>
    site.slack.event(site.make.mention(question, { ts, team: workspace.team, botUser: workspace.botUser }));
  await Promise.all([speak(one, '1700000300.000100'), speak(two, '1700000300.000200')]);
  await eventually('both answers', () => site.messages().length === 2);
  program.child.kill('SIGTERM');
  await program.exited;
  program = await site.start();
  await Promise.all([speak(one, '1700000300.000300'), speak(two, '1700000300.000400')]);
  await eventually('answers after restart', () => site.messages().length === 4);
  for (const { team, user } of site.messages()) expect(user).toBe(team === one.team ? one.botUser : two.botUser);
  for (const workspace of [one, two])
    expect(site.messages().filter(({ team }) => team === workspace.team)).toHaveLength(2);
  await site.slack.event(site.make.uninstalled({ team: one.team }));
  await speak(one, '1700000300.000500');
  await speak(two, '1700000300.000600');
  await eventually('answer of the one that stayed', () => site.messages().length === 5);
  expect(site.messages().at(-1)?.team).toBe(two.team);
  await site.close();
}, 60_000);

test('no program of this suite wrote a token, a secret or what a person said', () => {
  expect(everyOutput.length).toBeGreaterThan(10);
  const output = everyOutput.join('\n');
  for (const secret of [
    'xoxb-',
    'xapp-',
    '-secret',
    signingSecret,
    'secret-ticket',
    'response-',
    privateWords,
    'deeplabv3',
    'budget 30',
  ]) {
    expect(output).not.toContain(secret);
  }
});

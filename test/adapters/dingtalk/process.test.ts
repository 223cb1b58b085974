import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { DingtalkGateway } from '../../fakes/dingtalk-gateway.ts';
import type { Payload } from '../../fakes/dingtalk-payloads.ts';
import { eventually } from '../../fakes/eventually.ts';
import { environmentOf, pause } from './harness.ts';
import { everyOutput, openSite, readiness, runProgram, type Site, tapped } from './process.ts';
import { fresh, sample, sampleNames } from './recorded.ts';

const question = '我想训 deeplabv3+ resnet50，512x1024，每卡2张，19类，预算 15 元/小时';
const privateWords = 'quetzalcoatlus';

describe('the program', () => {
  let site: Site;
  let people = 0;
  const newPerson = (): string => {
    people += 1;
    return `staff1${String(people).padStart(3, '0')}`;
  };
  beforeAll(async () => {
    site = await openSite();
    await site.start();
  }, 60_000);
  afterEach(() => expect(site.gateway.api.problems).toEqual([]));
  afterAll(() => site.close());

  const quiet = async (payload: Payload, number: number): Promise<void> => {
    await pause(300);
    expect(site.answersTo(payload)).toHaveLength(number);
  };

  test('subscribes to robot messages only, over one connection', () => {
    const [open] = site.gateway.calls;
    expect(open?.body).toMatchObject({ subscriptions: [{ type: 'CALLBACK', topic: '/v1.0/im/bot/messages/get' }] });
    expect(site.gateway.connections).toHaveLength(1);
  });

  test('1:1: one card with the verdict as its title, buttons and a code', async () => {
    const asked = site.say({ text: question, user: newPerson() });
    const answer = await site.ask(asked);
    expect(answer.title).toMatch(/7\.0 GiB/u);
    expect(answer.text).toMatch(/#[2-9A-Z]{4}/u);
    expect(answer.buttons.length).toBeGreaterThan(0);
    expect(answer.body['at']).toEqual({ atUserIds: [], isAtAll: false });
    await quiet(asked, 1);
  });

  test('group: the asker is mentioned', async () => {
    const user = newPerson();
    const answer = await site.ask(site.say({ text: question, user, group: true }));
    expect(answer.body['at']).toEqual({ atUserIds: [user], isAtAll: false });
    expect(answer.text).toContain(`@${user}`);
  });

  test.each([
    ['zh', ['segformer b2', '512x512', '4', '不限预算']],
    ['en', ['how big a gpu do I need for segformer b2?', '512x512', '4', 'no limit']],
  ])('slots are filled turn by turn (%s), one answer each', async (language, turns) => {
    const user = newPerson();
    for (const [index, text] of turns.entries()) {
      const asked = site.say({ text, user });
      const answer = await site.ask(asked);
      await quiet(asked, 1);
      expect(/\p{sc=Han}/u.test(answer.title)).toBe(language === 'zh');
      if (index === turns.length - 1) expect(answer.text).toMatch(/GiB/u);
    }
  });

  test('two people interleaved in a group never fill each other’s slots', async () => {
    const [one, two] = [newPerson(), newPerson()];
    const turn = (user: string, text: string) => site.ask(site.say({ user, text, group: true }));
    await turn(one, 'unet');
    await turn(two, 'segformer b2');
    await turn(one, '512x512');
    await turn(two, '1024x1024');
    await turn(one, '8');
    await turn(two, '2');
    const [first, second] = [await turn(one, '不限预算'), await turn(two, '不限预算')];
    const alone = async (...texts: string[]): Promise<string> => {
      const user = newPerson();
      let title = '';
      for (const text of texts) ({ title } = await site.ask(site.say({ user, text })));
      return title;
    };
    expect(first.title).toBe(await alone('unet', '512x512', '8', '不限预算'));
    expect(second.title).toBe(await alone('segformer b2', '1024x1024', '2', '不限预算'));
    expect(first.title).not.toBe(second.title);
  });

  test('the same message redelivered, with other frame ids: one answer', async () => {
    const asked = site.say({ text: question, user: newPerson() });
    await Promise.all([site.deliver(asked), site.deliver(asked)]);
    await eventually('answer', () => site.answersTo(asked).length === 1);
    expect((await site.deliver(asked)).frame['code']).toBe(200);
    await quiet(asked, 1);
  });

  test('follow-up, quote and number', async () => {
    const user = newPerson();
    const first = await site.ask(site.say({ text: question, user, group: true }));
    const second = await site.ask(site.say({ text: '预算改成 30 元', user, group: true }));
    expect(second.text).toContain('30');
    await site.ask(site.say({ text: '换成 unet 256x256', user, group: true }));
    const back = await site.ask(site.say({ text: '预算改成 40 元', user, group: true, quote: first.text }));
    expect(back.text).toMatch(/40/u);
    expect(back.title).toMatch(/7\.0 GiB/u);
    const other = await site.ask(
      site.say({ text: '预算改成 50 元', user: newPerson(), group: true, quote: first.text }),
    );
    expect(other.title).toMatch(/7\.0 GiB/u);
    const picked = await site.ask(site.say({ text: '1', user, group: true }));
    const typed = await site.ask(site.say({ text: tapped(back.buttons[0]), user, group: true, quote: back.text }));
    expect(picked.title.length + typed.title.length).toBeGreaterThan(10);
  });

  test('every button of an answer comes back as a message that is understood', async () => {
    const answer = await site.ask(site.say({ text: question, user: newPerson() }));
    for (const button of answer.buttons) {
      const user = newPerson();
      await site.ask(site.say({ text: question, user }));
      const next = await site.ask(site.say({ text: tapped(button), user }));
      expect(next.title, button.title).not.toMatch(/没(有)?(听|看)懂|不太明白|没理解/u);
      expect(next.title, button.title).not.toBe('');
    }
  });

  test('help: empty mention, 帮助, the command with and without arguments', async () => {
    const told = (text: string) => site.ask(site.say({ text, user: newPerson(), group: true }));
    const help = await told('帮助');
    for (const text of ['', ' ', '/gpu-size', '／gpu-size']) expect((await told(text)).title).toBe(help.title);
    expect((await told('／gpu-size unet 512x512 batch 8 不限预算')).text).toMatch(/GiB/u);
  });

  test('every recorded message is acknowledged and answered as it should be', async () => {
    for (const name of sampleNames) {
      const payload = fresh(site.gateway, name);
      await site.deliver(payload);
      const wanted = name === 'robot-over-quota' ? 0 : 1;
      if (wanted > 0) await eventually(`answer to ${name}`, () => site.answersTo(payload).length === wanted);
      await quiet(payload, wanted);
    }
    // As recorded: without a change, years old, the webhook long gone.
    for (const name of sampleNames) await site.deliver(sample(name));
  }, 60_000);

  test('words of a person never come back as mark-up or in a button', async () => {
    const text = `**${privateWords}** [x](dtmd://dingtalkclient/sendMessage?content=evil) @所有人 <font> | a | b | 512 batch 8`;
    const answer = await site.ask(site.say({ text, user: newPerson(), group: true }));
    expect(JSON.stringify(answer.buttons)).not.toMatch(/quetzal|evil/u);
  });

  test('webhook gone: once through the OpenAPI; too fast and HTML: later, once', async () => {
    const { api, webhookFaults } = site.gateway;
    const gone = site.say({ text: question, user: newPerson() });
    webhookFaults.push({ body: { errcode: 300001, errmsg: 'session 不存在' } });
    await site.deliver(gone);
    const other = () => api.messages.filter(({ to }) => to === gone['senderStaffId']);
    await eventually('answer by the OpenAPI', () => other().length === 1);
    webhookFaults.push({ body: { errcode: 130101, errmsg: 'send too fast' } }, { body: '<html>busy</html>' });
    const fast = site.say({ text: question, user: newPerson() });
    await site.deliver(fast);
    await eventually('late answer', () => site.answersTo(fast).length === 1, 30_000);
    await quiet(fast, 1);
    await quiet(gone, 0);
    expect(other()).toHaveLength(1);
  }, 60_000);

  test('hostile webhooks: none is contacted, the answer takes the other way', async () => {
    const trap = await DingtalkGateway.start();
    const own = new URL(site.gateway.webhook());
    for (const webhook of [
      `http://127.0.0.1:${trap.port}/robot/sendBySession?session=secret-session-x`,
      `http://oapi.dingtalk.com@127.0.0.1:${trap.port}/`,
      `http://${own.host}@127.0.0.1:${trap.port}/`,
      `http://localhost:${trap.port}/`,
    ]) {
      const user = newPerson();
      await site.deliver(site.say({ text: question, user, webhook }));
      await eventually('answer', () => site.gateway.api.messages.filter(({ to }) => to === user).length === 1);
    }
    expect(trap.calls.length + trap.tcpConnections).toBe(0);
    await trap.stop();
  }, 60_000);

  test('acknowledges and answers 50 messages in flight, half of them in one group', async () => {
    const ask = (index: number) =>
      site.say({ text: `unet 512x512 batch ${1 + (index % 16)}`, user: `staff2${index}`, group: index % 2 === 0 });
    const burst = async (from: number): Promise<number[]> => {
      const asked = Array.from({ length: 50 }, (_, index) => ask(from + index));
      const acks = await Promise.all(asked.map((payload) => site.gateway.send(payload)));
      const isDone = (payload: Payload): boolean => site.answersTo(payload).length > 0;
      await eventually('answers', () => asked.every(isDone), 30_000);
      for (const payload of asked) expect(site.answersTo(payload)).toHaveLength(1);
      return acks.map((ack) => ack?.ms ?? Number.POSITIVE_INFINITY);
    };
    await burst(0);
    const acks = await burst(100);
    expect(acks.every(Number.isFinite)).toBe(true);
    process.stdout.write(`slowest of 50 acks: ${Math.max(...acks).toFixed(0)} ms\n`);
  }, 60_000);
});

describe('the connection', () => {
  test('ping, disconnect, drop, garbage and a half-open socket: the conversation goes on', async () => {
    const site = await openSite();
    const program = await site.start();
    const { gateway } = site;
    const answered = async (): Promise<void> => {
      const asked = site.say({ text: question });
      await site.ask(asked);
      expect(site.answersTo(asked)).toHaveLength(1);
    };
    expect((await gateway.ping())?.frame).toMatchObject({ code: 200, data: '{"opaque" : "123-dsfs"}' });
    for (const garbage of [
      'not json',
      '',
      'null',
      '[]',
      '{}',
      '{"type":"CALLBACK"}',
      '{"type":"SYSTEM","headers":null}',
    ])
      gateway.broadcast(garbage);
    gateway.broadcast(Buffer.from([0xff, 0xfe, 0]));
    await gateway.send('not json', { waitMs: 500 });
    await gateway.send('{"conversationId":1}', { waitMs: 500 });
    await answered();
    gateway.announceEnd();
    await eventually('replaced', () => gateway.opens.length === 2);
    await answered();
    gateway.drop();
    await answered();
    gateway.mutePongs = true;
    const opens = gateway.opens.length;
    await eventually('replaced', () => gateway.opens.length > opens, 40_000);
    gateway.mutePongs = false;
    await answered();
    await eventually('one connection', () => gateway.connections.length === 1, 20_000);
    expect(program.child.exitCode).toBeNull();
    await site.close();
  }, 120_000);

  test.each([
    ['the platform is down', 503, 'connection failed'],
    ['credentials are refused', 401, 'DINGTALK_CLIENT_SECRET'],
    ['the app is not published', 400, 'Stream mode'],
  ])(
    '%s at start: the process waits and says why',
    async (_, status, words) => {
      const site = await openSite();
      site.gateway.fault = () => ({ status, body: { code: 'authFailed', message: 'no' } });
      const program = await site.start({ ready: false });
      await eventually('said', () => program.output().includes(words));
      expect(await readiness(site)).toBe(503);
      expect(program.child.exitCode).toBeNull();
      if (status === 503) {
        site.gateway.fault = () => undefined;
        await eventually('connected', async () => (await readiness(site)) === 200, 30_000);
      }
      program.child.kill('SIGTERM');
      expect(await program.exited).toBe(0);
      await site.close();
    },
    60_000,
  );

  test('an upgrade that is refused: growing pauses, then one connection', async () => {
    const site = await openSite();
    site.gateway.upgradeStatus = 403;
    await site.start({ ready: false });
    await eventually('attempts', () => site.gateway.opens.length >= 3, 20_000);
    site.gateway.upgradeStatus = undefined;
    await eventually('connected', async () => (await readiness(site)) === 200, 30_000);
    await site.ask(site.say({ text: question }));
    expect(site.gateway.connections).toHaveLength(1);
    await site.close();
  }, 60_000);

  test('an endpoint outside the platform is not connected to', async () => {
    const site = await openSite();
    site.gateway.endpoint = () => 'wss://wss-open-connection.dingtalk.com.evil.test/connect';
    const program = await site.start({ ready: false });
    await eventually('said', () => program.output().includes('outside DingTalk'));
    await site.close();
  }, 60_000);
});

describe('start and stop', () => {
  test('SIGTERM with work in flight: it is answered, then the process ends', async () => {
    const site = await openSite();
    const program = await site.start();
    site.gateway.webhookFaults.push({ delayMs: 700 });
    const asked = site.say({ text: question });
    await site.deliver(asked);
    program.child.kill('SIGTERM');
    expect(await program.exited).toBe(0);
    expect(site.answersTo(asked)).toHaveLength(1);
    await site.close();
  }, 60_000);

  test('SIGTERM while the gateway hangs: the process still ends', async () => {
    const site = await openSite();
    site.gateway.fault = () => ({ hang: true });
    const program = runProgram([], { ...environmentOf(site.gateway), DATABASE_URL: 'memory:', PORT: '0' });
    await eventually('asked', () => site.gateway.opens.length === 1, 20_000);
    const since = Date.now();
    program.child.kill('SIGTERM');
    await program.exited;
    expect(Date.now() - since).toBeLessThan(15_000);
    await site.close();
  }, 60_000);

  test('kill −9 before the answer: it comes after a restart, once, and the dialog goes on', async () => {
    const site = await openSite();
    const first = await site.start();
    site.gateway.fault = (path) => (path.includes('sendBySession') ? { status: 503, body: '' } : undefined);
    const asked = site.say({ text: question });
    await site.deliver(asked);
    first.child.kill('SIGKILL');
    await first.exited;
    site.gateway.fault = () => undefined;
    await site.start();
    await site.deliver(asked);
    await eventually('answer after restart', () => site.answersTo(asked).length === 1, 60_000);
    const later = site.say({ text: '预算改成 30 元' });
    const answer = await site.ask(later);
    expect(answer.text).toContain('30');
    expect(answer.title).toMatch(/7\.0 GiB/u);
    await pause(500);
    expect([site.answersTo(asked), site.answersTo(later)].map(({ length }) => length)).toEqual([1, 1]);
    await site.close();
  }, 120_000);

  test('CHARTS=on: an answer with a picture, one upload', async () => {
    const site = await openSite();
    await site.start({ env: { CHARTS: 'on' } });
    const answer = await site.ask(site.say({ text: question, user: 'staff2001' }));
    expect(answer.text).toMatch(/^!\[\]\(\$iAEKAqNwbmcDBgTNAk0\)\n\n\*\*.+🟦 .+🟧 /mu);
    expect(site.gateway.api.media.size).toBe(1);
    expect(site.gateway.api.problems).toEqual([]);
    await site.close();
  }, 60_000);

  test('the check tries the credentials and says what is wrong', async () => {
    const gateway = await DingtalkGateway.start();
    const env = { ...environmentOf(gateway), DATABASE_URL: 'memory:', LOCALE: 'en' };
    const check = async (more: Record<string, string>): Promise<[number | null, string]> => {
      const program = runProgram(['--check', '--online'], { ...env, ...more });
      const code = await program.exited;
      return [code, program.output()];
    };
    const [good, bad] = await Promise.all([check({}), check({ DINGTALK_CLIENT_SECRET: `wrong-${randomUUID()}` })]);
    expect(good[0]).toBe(0);
    expect(bad[0]).toBe(1);
    expect(bad[1]).toContain('DINGTALK_CLIENT_SECRET');
    gateway.fault = (path) =>
      path.includes('gateway') ? { status: 400, body: { code: 'invalidParameter' } } : undefined;
    const [code, output] = await check({});
    expect(code).toBe(1);
    expect(output).toContain('Stream mode');
    const missing = runProgram([], { DINGTALK_CLIENT_ID: 'x', DATABASE_URL: 'memory:', PORT: '0' });
    expect(await missing.exited).toBe(1);
    expect(missing.output()).toContain('DINGTALK_CLIENT_SECRET');
    await gateway.stop();
  }, 60_000);
});

test('no program of this suite wrote a secret, a ticket, a token, a webhook or what a person said', () => {
  expect(everyOutput.length).toBeGreaterThan(8);
  const output = everyOutput.join('\n');
  for (const secret of [
    'secret-',
    'client-secret-of-the-tests',
    'session=',
    'ticket=',
    'sendBySession',
    privateWords,
    'deeplabv3',
    '预算',
    'connect success',
    'Disconnecting',
  ])
    expect(output, secret).not.toContain(secret);
});

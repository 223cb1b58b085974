import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eventually } from '../../fakes/eventually.ts';
import { socketTransport } from '../../fakes/slack-driver.ts';
import { type Bench, openBench } from './harness.ts';

const folder = join(import.meta.dirname, '../../fixtures/slack-payloads');
const read = (file: string): object => z.looseObject({}).parse(JSON.parse(readFileSync(join(folder, file), 'utf8')));

/** `answer`: reaches the inbox. `silent`: acknowledged, nothing else. `forget`: the installation is gone, the token is tried. */
type Reaction = 'answer' | 'silent' | 'forget' | 'help' | 'prompts';

/** What each delivery must lead to, sent in this order to one bot that knows no thread at first. */
const reactions: Readonly<Record<string, Reaction>> = {
  'event.app_context_changed.json': 'silent',
  'event.app_home_opened.messages-tab.json': 'prompts',
  'event.app_home_opened.org-install.json': 'prompts',
  'event.app_mention.json': 'answer',
  'event.app_mention.slack-connect.json': 'answer',
  'event.app_mention.with-file.json': 'answer',
  'event.app_mention.workspace-team1.json': 'answer',
  'event.app_mention.workspace-team2.json': 'answer',
  'event.app_uninstalled.json': 'forget',
  'event.assistant_thread_context_changed.json': 'silent',
  'event.assistant_thread_started.json': 'silent',
  'event.bot_message.classic.json': 'silent',
  'event.file_share.json': 'silent',
  'event.member_joined_channel.bot.json': 'silent',
  // Its mention came before.
  'event.message.channel-mention-twin.json': 'silent',
  'event.message.im-2.json': 'answer',
  'event.message.im-agent-app_context.json': 'answer',
  'event.message.im-system-uslack.json': 'silent',
  'event.message.im-thread-assistant.json': 'answer',
  'event.message.im.json': 'answer',
  'event.message.other-bot.json': 'silent',
  'event.message.own-bot-thread-reply-2.json': 'silent',
  'event.message.own-bot-thread-reply.json': 'silent',
  'event.message.pasted-table.json': 'silent',
  'event.message.thread-reply-2.json': 'silent',
  'event.message.thread-reply-3.json': 'silent',
  // In the thread of that mention.
  'event.message.thread-reply.json': 'answer',
  'event.message_changed.assistant_app_thread.json': 'silent',
  'event.message_changed.other-bot.json': 'silent',
  'event.message_changed.own-bot-2.json': 'silent',
  'event.message_changed.own-bot.json': 'silent',
  'event.message_changed.unfurl.json': 'silent',
  'event.message_changed.user.json': 'silent',
  'event.message_deleted.json': 'silent',
  'event.reaction_added.json': 'silent',
  'event.thread_broadcast.json': 'silent',
  'event.tokens_revoked.json': 'forget',
  'skeleton.event.app_rate_limited.json': 'silent',
  'skeleton.event.app_uninstalled.json': 'forget',
  'command.slash-empty-text.json': 'help',
  'command.slash-enterprise.json': 'help',
  'command.slash-with-text.json': 'help',
  'skeleton.command.json': 'help',
  'interaction.block_actions.button-in-thread.json': 'silent',
  'interaction.block_actions.button.json': 'silent',
  'interaction.block_actions.ephemeral.json': 'silent',
  'interaction.block_actions.native-table.json': 'silent',
  'interaction.block_actions.opens-modal.json': 'silent',
  'interaction.block_actions.radio_buttons.json': 'silent',
  'interaction.block_actions.static_select.json': 'silent',
  'interaction.block_suggestion.json': 'silent',
  'interaction.shortcut.global.json': 'silent',
  'interaction.shortcut.message.json': 'silent',
  'interaction.view_closed.json': 'silent',
  'interaction.view_submission.ephemeral.json': 'silent',
  'interaction.view_submission.from-slash.json': 'silent',
  'interaction.view_submission.json': 'silent',
  'interaction.view_submission.private_metadata.json': 'silent',
  'interaction.view_submission.response_urls.json': 'silent',
  'interaction.view_submission.slack-connect.json': 'silent',
};

/** Interactions of another app, turned into ours: the same payload must work with our identifiers. */
const ours: Readonly<Record<string, (payload: object) => object>> = {
  'interaction.block_actions.button.json': (payload) => withAction(payload, { value: 'batch 4' }),
  'interaction.block_actions.button-in-thread.json': (payload) => withAction(payload, { value: 'batch 4' }),
  'interaction.block_actions.ephemeral.json': (payload) => withAction(payload, { value: 'batch 4' }),
  'interaction.block_actions.native-table.json': (payload) => withAction(payload, { value: 'batch 4' }),
  'interaction.block_actions.static_select.json': (payload) => withAction(payload, {}),
  'interaction.shortcut.message.json': (payload) => ({ ...payload, callback_id: 'gpu_size_from_message' }),
  'command.slash-with-text.json': (payload) => ({ ...payload, command: '/gpu-size' }),
  'command.slash-enterprise.json': (payload) => ({ ...payload, command: '/gpu-size' }),
};

function withAction(payload: object, changes: object): object {
  const { actions } = z.looseObject({ actions: z.array(z.looseObject({})) }).parse(payload);
  return {
    ...payload,
    actions: [{ ...actions[0], action_id: 'choice:0', block_id: 'c|G7K2|1700000000.000100', ...changes }],
  };
}

const socketFrames = [
  'socket.events_api.app_mention.json',
  'socket.events_api.json',
  'socket.interactive.json',
  'socket.slash_commands.json',
  'socket.hello.json',
  'socket.disconnect.warning.json',
];
const webApi = readdirSync(folder).filter((file) => /^(webapi|skeleton)\./u.test(file) && !(file in reactions));
const special = [
  'http.url_verification.json',
  'http.signature-vector.json',
  'http.request-headers.retry.json',
  'index.json',
  'README.md',
];

test('the tables name every recorded payload', () => {
  const named = [...Object.keys(reactions), ...socketFrames, ...webApi, ...special];
  expect(readdirSync(folder).sort()).toEqual(named.sort());
});

describe.each(['http', 'socket'] as const)('recorded deliveries over %s', (mode) => {
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench(mode);
  });
  afterAll(async () => {
    expect(bench.logs.filter((line) => line.startsWith('error'))).toEqual([]);
    await bench.stop();
  });
  const send = (file: string, payload: object) => {
    if (file.includes('command')) return bench.slack.command(z.record(z.string(), z.coerce.string()).parse(payload));
    return file.startsWith('interaction') ? bench.slack.interaction(payload) : bench.slack.event(payload);
  };

  test.each(Object.entries(reactions))('%s → %s', async (file, reaction) => {
    const before = {
      accepted: bench.accepted.length,
      prompts: bench.server.store.prompts.length,
      calls: bench.server.calls.length,
    };
    const outcome = await send(file, read(file));
    await bench.settled();
    expect(outcome.acked).toBe(true);
    expect(bench.accepted.length - before.accepted).toBe(reaction === 'answer' ? 1 : 0);
    if (reaction === 'help') expect(outcome.response).toMatchObject({ response_type: 'ephemeral' });
    else expect(outcome.response).toBeUndefined();
    if (reaction === 'prompts')
      await eventually('prompts', () => bench.server.store.prompts.length === before.prompts + 1);
    if (reaction === 'silent') expect(bench.server.calls.slice(before.calls)).toEqual([]);
    // The check's last call, so that none of it falls into the next delivery.
    const checked = mode === 'http' ? 'auth.test' : 'apps.connections.open';
    if (reaction === 'forget')
      await eventually('check', () => bench.server.calls.slice(before.calls).some(({ method }) => method === checked));
  });

  test.each(Object.entries(ours))('%s with our identifiers reaches the inbox', async (file, change) => {
    const before = bench.accepted.length;
    expect((await send(file, change(read(file)))).acked).toBe(true);
    expect(bench.accepted.length).toBe(before + 1);
    await bench.settled();
  });
});

test('mention and twin as recorded are one message; the reply below is a follow-up', async () => {
  const bench = await openBench('http');
  for (const file of [
    'event.message.channel-mention-twin.json',
    'event.app_mention.json',
    'event.message.thread-reply.json',
  ]) {
    await bench.slack.event(read(file));
  }
  expect(bench.accepted.map(({ message }) => message.text)).toEqual(['1', '2']);
  expect(new Set(bench.accepted.map(({ message }) => message.conversationId)).size).toBe(1);
  await bench.stop();
});

test('recorded frames of Socket Mode', async () => {
  const bench = await openBench('socket');
  const frames = socketFrames.map((file) => JSON.stringify(read(file)));
  for (const frame of frames) bench.server.broadcast(frame);
  await eventually('renewed connection', () => bench.server.opened.length === 2);
  await eventually('the mention', () => bench.accepted.length === 1);
  await eventually('one connection', () => bench.server.connections.length === 1);
  expect((await socketTransport(bench.server).event(bench.make.mention('unet'))).acked).toBe(true);
  await bench.stop();
});

test('url_verification, the published signature and the recorded retry headers', async () => {
  const bench = await openBench('http');
  const challenge = read('http.url_verification.json');
  expect((await bench.slack.event(challenge)).response).toEqual({ challenge: Reflect.get(challenge, 'challenge') });
  const event = bench.make.mention('unet');
  const { headers } = z
    .looseObject({ headers: z.record(z.string(), z.string()).optional() })
    .parse(read('http.request-headers.retry.json'));
  const retry = Object.fromEntries(
    Object.entries(headers ?? {}).filter(([name]) => name.toLowerCase().startsWith('x-slack-retry')),
  );
  await bench.slack.event(event);
  expect((await bench.slack.event(event, { headers: retry, retry: 1 })).acked).toBe(true);
  expect(bench.accepted).toHaveLength(1);
  await bench.stop();
});

const exchange = z.looseObject({
  request: z.looseObject({ url: z.string() }),
  response: z.looseObject({ status: z.number(), body: z.unknown() }),
});

/** Recorded and blanked answers of the Web API, as the answer to the call that the product makes: never an exception. */
test.each(webApi)('%s as an answer of the Web API', async (file) => {
  const bench = await openBench('socket', { start: false });
  const recorded = exchange.safeParse(read(file)).data;
  const method = recorded?.request.url.replace(/^.*\/api\//u, '') ?? file.replace(/^skeleton\.|\.json$/gu, '');
  const body = JSON.stringify(recorded === undefined ? read(file) : recorded.response.body);
  bench.server.failure = (called) => (called === method ? { body } : undefined);
  const started = await bench.adapter.start().then(
    () => 'started',
    (error: unknown) => error,
  );
  if (file === 'webapi.auth.test.not_authed.json')
    expect(started).toMatchObject({ code: 'platform-refused', message: expect.stringContaining('not_authed') });
  else expect(started).toBe('started');
  if (started === 'started' && bench.adapter.status() === 'connected') {
    await bench.slack.event(bench.make.homeOpened('home'));
    await bench.slack.event(bench.make.homeOpened('messages'));
    await bench.slack.event(bench.make.mention('unet'));
    expect((await bench.slack.command(bench.make.command(''))).acked).toBe(true);
    await bench.settled();
    await bench.adapter.profileLocale?.(bench.accepted[0]?.address ?? {});
  }
  if (file === 'webapi.views.open.invalid_arguments.json') {
    await eventually('apology', () =>
      bench.server.store.messages.find(({ text }) => text.startsWith('That did not work')),
    );
  }
  await bench.stop();
});

import { EventEmitter, once } from 'node:events';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { eventually } from '../../fakes/eventually.ts';
import { fakeWorkspace } from '../../fakes/slack-workspace.ts';
import { type Bench, openBench } from './harness.ts';

const view = z.looseObject({
  callback_id: z.string().optional(),
  private_metadata: z.string().optional(),
  title: z.looseObject({ text: z.string() }),
});
const good = { model: 'segformer b2', size: '512 x 1024', batch: '8', budget: '15 CNY/hour' };

describe.each(['socket', 'http'] as const)('forms and tabs over %s', (mode) => {
  let bench: Bench;
  beforeEach(async () => {
    bench = await openBench(mode, { prefill: { model: 'unet', batch: 'many' } });
  });
  afterEach(async () => {
    expect(bench.server.unknownMethods).toEqual([]);
    expect(bench.server.refusals.filter(({ error }) => error === 'invalid_arguments')).toEqual([]);
    await bench.stop();
  });
  const opened = () => eventually('form', () => bench.server.store.views.find(({ kind }) => kind === 'modal')?.view);

  test('an empty command opens the form with what is known', async () => {
    expect(await bench.slack.command(bench.make.command(''))).toMatchObject({ acked: true, response: undefined });
    const form = view.parse(await opened());
    expect(form.callback_id).toBe('gpu_size_form');
    expect(JSON.stringify(form)).toContain('"initial_value":"unet"');
    expect(JSON.stringify(form)).not.toContain('"initial_value":"many"');
    expect(form.private_metadata).not.toContain('-secret');
  });

  test('the form says what to correct, field by field', async () => {
    await bench.slack.command(bench.make.command(''));
    const form = await opened();
    const wrong = { model: '123', size: 'big', batch: '0', budget: 'cheap' };
    const outcome = await bench.slack.interaction(bench.make.submit(form, wrong));
    expect(outcome.response).toMatchObject({ response_action: 'errors' });
    const errors = z.object({ errors: z.record(z.string(), z.string()) }).parse(outcome.response).errors;
    expect(Object.keys(errors).sort()).toEqual(['batch', 'budget', 'model', 'size']);
    expect(errors['size']).toContain('512x512');
    expect(bench.accepted).toEqual([]);
  });

  test.each([
    [{ ...good }, 'segformer b2 512x1024 batch 8, budget 15 CNY/hour'],
    [{ ...good, size: '５１２', budget: null }, 'segformer b2 512x512 batch 8'],
    [{ ...good, budget: '每小时十元' }, 'segformer b2 512x1024 batch 8, 预算 每小时十元'],
  ])('a good form becomes one message: %o', async (values, text) => {
    await bench.slack.command(bench.make.command(''));
    const outcome = await bench.slack.interaction(bench.make.submit(await opened(), values));
    expect(outcome).toMatchObject({ acked: true, response: undefined });
    await bench.settled();
    expect(bench.accepted.map(({ message }) => message.text)).toEqual([text]);
    expect(bench.server.store.messages[0]).toMatchObject({ channel: 'C00FAKECHAN1', onlyFor: 'U00FAKEUSER1' });
  });

  test('the global shortcut opens the form; its answer lands in the direct messages', async () => {
    await bench.slack.interaction(bench.make.shortcut('gpu_size_open'));
    await bench.slack.interaction(bench.make.submit(await opened(), good));
    await bench.settled();
    expect(bench.server.store.messages[0]).toMatchObject({ channel: 'D00FAKEUSER1', onlyFor: undefined });
    await bench.slack.event(bench.make.message('batch 4', { channel: 'D00FAKEUSER1' }));
    expect(new Set(bench.accepted.map(({ message }) => message.conversationId)).size).toBe(1);
  });

  test('the message shortcut answers in the thread of that message', async () => {
    const target = { ts: '1700000010.000100', text: 'we train &lt;unet&gt; at 512x512' };
    expect((await bench.slack.interaction(bench.make.messageShortcut('gpu_size_from_message', target))).acked).toBe(
      true,
    );
    await bench.settled();
    expect(bench.accepted[0]?.message.text).toBe('we train <unet> at 512x512');
    expect(bench.server.store.messages[0]).toMatchObject({ threadTs: target.ts, onlyFor: undefined });
  });

  test('that thread is then open for the asker alone', async () => {
    const thread = '1700000010.000300';
    await bench.slack.interaction(
      bench.make.messageShortcut('gpu_size_from_message', { ts: thread, text: 'unet 512' }),
    );
    await bench.slack.event(bench.make.message('batch 4', { thread }));
    await bench.slack.event(bench.make.message('lunch?', { thread, user: 'U00FAKEUSER2' }));
    expect(bench.accepted.map(({ message }) => message.text)).toEqual(['unet 512', 'batch 4']);
    expect(new Set(bench.accepted.map(({ message }) => message.conversationId)).size).toBe(1);
  });

  test('where the bot is no member, the message shortcut answers the asker alone', async () => {
    const target = { ts: '1700000010.000200', text: 'unet 512' };
    const payload = bench.make.messageShortcut('gpu_size_from_message', target, { channel: 'C00OTHERCHAN' });
    await bench.slack.interaction(payload);
    await bench.settled();
    expect(bench.server.store.messages[0]).toMatchObject({ channel: 'C00OTHERCHAN', onlyFor: 'U00FAKEUSER1' });
  });

  test('the home tab shows recent estimates, whose button asks again', async () => {
    expect((await bench.slack.event(bench.make.homeOpened('home'))).acked).toBe(true);
    const home = await eventually('home', () => bench.server.store.views.find(({ kind }) => kind === 'home'));
    expect(home.user).toBe('U00FAKEUSER1');
    expect(JSON.stringify(home.view)).toContain('unet 512: 8 GiB');
    await bench.slack.interaction(
      bench.make.homePress({ type: 'button', action_id: 'again', value: 'unet 512x512 batch 8' }),
    );
    await bench.settled();
    expect(bench.server.store.messages[0]).toMatchObject({
      channel: 'D00FAKEUSER1',
      text: 'heard: unet 512x512 batch 8',
    });
    await bench.slack.interaction(bench.make.homePress({ type: 'button', action_id: 'open_form' }));
    await opened();
  });

  test('the messages tab gets suggested prompts', async () => {
    await bench.slack.event(bench.make.homeOpened('messages'));
    const [set] = await eventually(
      'prompts',
      () => bench.server.store.prompts.length > 0 && bench.server.store.prompts,
    );
    expect(set?.channel).toBe('D00FAKEUSER1');
    expect(set?.prompts).toHaveLength(2);
  });

  test('surfaces follow the language of the profile', async () => {
    const speaker = { user: 'U00CHINESE01' };
    await bench.slack.command(bench.make.command('', speaker));
    expect(view.parse(await opened()).title.text).toBe('估算显存');
    const help = await bench.slack.command(bench.make.command('help', speaker));
    expect(JSON.stringify(help.response)).toContain('用法');
    await bench.slack.command(bench.make.command('unet', speaker));
    const address = bench.accepted[0]?.address ?? {};
    expect(await bench.adapter.profileLocale?.(address)).toBe('zh');
    expect(bench.server.calls.filter(({ method }) => method === 'users.info')).toHaveLength(1);
  });

  test('a courtesy without its scope is no error', async () => {
    const [workspace] = bench.server.store.workspaces;
    if (workspace !== undefined) workspace.scopes = ['chat:write', 'im:history'];
    expect((await bench.slack.event(bench.make.homeOpened('messages'))).acked).toBe(true);
    await bench.slack.command(bench.make.command('unet', { user: 'U00CHINESE01' }));
    await bench.settled();
    expect(await bench.adapter.profileLocale?.(bench.accepted[0]?.address ?? {})).toBeUndefined();
    expect(bench.server.store.messages).toHaveLength(1);
  });

  test('an expired trigger is told to the asker', async () => {
    const command = { ...bench.make.command(''), trigger_id: 'old' };
    await bench.slack.command(command);
    await eventually('apology', () =>
      bench.server.store.messages.find(({ text }) => text.startsWith('That did not work')),
    );
  });
});

test.each(['socket', 'http'] as const)(
  'a tab and a form are acknowledged before they are shown over %s',
  async (mode) => {
    const events = new EventEmitter();
    const bench = await openBench(mode, { known: once(events, 'known').then(() => undefined) });
    expect((await bench.slack.event(bench.make.homeOpened('home'))).acked).toBe(true);
    expect((await bench.slack.interaction(bench.make.shortcut('gpu_size_open'))).acked).toBe(true);
    expect(bench.server.store.views).toEqual([]);
    events.emit('known');
    await eventually('both', () => bench.server.store.views.length === 2);
    await bench.stop();
  },
);

test.each(['socket', 'http'] as const)('what could not be stored is apologised for over %s', async (mode) => {
  const bench = await openBench(mode);
  await bench.slack.event(bench.make.mention('unet'));
  await bench.settled();
  const [answer] = bench.server.store.messages;
  if (answer === undefined) throw new Error('no answer');
  bench.broken = true;
  const sorry = 'That did not work';
  const command = await bench.slack.command(bench.make.command('unet'));
  expect(JSON.stringify(command.response)).toContain(sorry);
  const press = { type: 'button', action_id: 'choice:0', block_id: 'c|G7K2|x', value: 'batch 4' };
  expect((await bench.slack.interaction(bench.make.press(answer, press))).acked).toBe(true);
  await eventually('whisper', () => bench.server.store.messages.find(({ text }) => text.includes(sorry)));
  await bench.slack.command(bench.make.command(''));
  const form = await eventually('form', () => bench.server.store.views[0]?.view);
  const submitted = await bench.slack.interaction(bench.make.submit(form, good));
  expect(submitted.response).toMatchObject({
    response_action: 'errors',
    errors: { model: expect.stringContaining(sorry) },
  });
  await bench.stop();
});

test('what nobody listens for is acknowledged without waiting', async () => {
  const bench = await openBench('http');
  const unknown = [
    {
      type: 'block_actions',
      team: { id: 'T00FAKE00AA' },
      user: { id: 'U1' },
      actions: [{ type: 'button', action_id: 'other', block_id: 'b' }],
    },
    { type: 'view_closed', team: { id: 'T00FAKE00AA' }, user: { id: 'U1' }, view: { id: 'V', callback_id: 'x' } },
    { type: 'message_action', team: { id: 'T00FAKE00AA' }, user: { id: 'U1' }, callback_id: 'x', message: {} },
    {
      type: 'block_suggestion',
      team: { id: 'T00FAKE00AA' },
      user: { id: 'U1' },
      action_id: 'x',
      block_id: 'b',
      value: '',
    },
    { type: 'something_new' },
  ];
  for (const payload of unknown) {
    const outcome = await bench.slack.interaction(payload);
    expect(outcome.status).toBe(200);
  }
  await bench.stop();
});

test('an organisation-wide installation is one tenant', async () => {
  const workspace = fakeWorkspace({ enterprise: 'E00ORG', orgWide: true });
  const bench = await openBench('http', { workspaces: [workspace] });
  const org = { enterprise: 'E00ORG', orgWide: true };
  await bench.slack.event(bench.make.mention('one', org));
  await bench.slack.command(bench.make.command('two', { ...org, team: 'T_ANOTHER' }));
  expect(new Set(bench.accepted.map(({ message }) => message.conversationId.split(':')[1]))).toEqual(
    new Set(['E00ORG']),
  );
  expect(new Set(bench.accepted.map(({ message }) => message.userId))).toEqual(new Set(['slack:E00ORG:U00FAKEUSER1']));
  await bench.stop();
});

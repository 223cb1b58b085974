import { createHash } from 'node:crypto';
import { z } from 'zod';
import { answerKey } from './deliver.ts';
import type { Desk, Reaction } from './desk.ts';
import { escapeText, slackLimits } from './limits.ts';
import {
  type Delivery,
  kindOf,
  placeOf,
  plainText,
  readPersonMessage,
  type SlackAddress,
  slackAddress,
  userIdOf,
  workspaceOf,
} from './receive.ts';
import { decodeControlId } from './render.ts';
import { detailsView, homeView, readForm } from './views.ts';
import { call, postResponse } from './web.ts';

type Handler = (desk: Desk, body: Delivery) => Promise<Reaction>;

/** Whatever is not in this table is acknowledged and forgotten. */
const handlers: ReadonlyMap<string, Handler> = new Map([
  ['message', onMessage],
  ['app_mention', onMessage],
  ['app_home_opened', onHome],
  ['app_uninstalled', onRemoval],
  ['tokens_revoked', onRemoval],
  ['command', onCommand],
  ['shortcut gpu_size_open', onShortcut],
  ['message_action gpu_size_from_message', onMessageShortcut],
  ['view_submission gpu_size_form', onForm],
  ['block_actions', onPress],
]);

/** @throws AppError `platform-refused` when the app is not installed where it comes from; any error of the store. */
export async function react(desk: Desk, body: Delivery): Promise<Reaction> {
  const handle = handlers.get(kindOf(body));
  if (handle === undefined) return {};
  if (handle !== onRemoval) await desk.workspaces.clientFor(workspaceOf(body));
  return handle(desk, body);
}

/** The same for the same request only: a replay is recognised by it. */
const keyOf = (body: Delivery): string =>
  createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 32);

async function onMessage(desk: Desk, body: Delivery): Promise<Reaction> {
  const message = readPersonMessage(body, desk.workspaces.botUser());
  if (message === undefined) return {};
  const { team, channel, ts, text, hasFiles, isDirect } = message;
  const threadTs = message.threadTs ?? ts;
  // Threads do not wait for each other.
  return desk.inOrder(`${team}/${isDirect ? channel : `${channel}/${threadTs}`}`, async () => {
    const thread = await desk.resolveThread(message);
    if (thread === undefined) return {};
    const address = slackAddress.parse({ ...message, thread, threadTs });
    if (text === '' && hasFiles) return { afterwards: () => desk.tell(address, ({ textOnly }) => textOnly) };
    return desk.say({ address, text, key: `${channel}:${ts}` });
  });
}

const homeEvent = z.looseObject({ user: z.string(), channel: z.string(), tab: z.string() });

async function onHome(desk: Desk, body: Delivery): Promise<Reaction> {
  const { user, channel, tab } = homeEvent.parse(body.event);
  const address = slackAddress.parse({ ...workspaceOf(body), user, channel, isDirect: true, thread: user });
  const show = async (): Promise<void> => {
    const [client, texts] = await Promise.all([desk.workspaces.clientFor(address), desk.textsFor(address)]);
    if (tab === 'home') {
      const recent = await desk.context.recentEstimates(userIdOf(address), 10);
      await client.views.publish({ user_id: user, view: homeView(texts, recent) });
    } else {
      const prompts = texts.suggestedPrompts.slice(0, slackLimits.suggestedPrompts).map((prompt) => ({ ...prompt }));
      await client.assistant.threads.setSuggestedPrompts({ channel_id: channel, prompts });
    }
  };
  return { afterwards: () => desk.courtesy(tab, show) };
}

const revocation = z.looseObject({ tokens: z.looseObject({ bot: z.array(z.unknown()).nullish() }) });

/** Revoked tokens of people alone are none of ours. */
async function onRemoval(desk: Desk, body: Delivery): Promise<Reaction> {
  const { data } = revocation.safeParse(body.event);
  if (data === undefined || data.tokens.bot?.length) await desk.removed(workspaceOf(body), kindOf(body));
  return {};
}

const isHelp = (text: string): boolean => /^(help|h|\?|？|帮助)$/iu.test(text);

async function onCommand(desk: Desk, body: Delivery): Promise<Reaction> {
  const address = { ...placeOf(body, desk.seal.close), route: 'respond' as const, ephemeral: true };
  const text = plainText(body.text);
  if (body.command !== '/gpu-size' || isHelp(text)) {
    const { help, helpInThreads } = await desk.textsFor(address);
    return { response: { response_type: 'ephemeral', text: escapeText(`${help}\n${helpInThreads}`) } };
  }
  if (text === '') return { afterwards: () => desk.openForm(body.trigger_id, address) };
  return desk.say({ address, text, key: keyOf(body) });
}

async function onShortcut(desk: Desk, body: Delivery): Promise<Reaction> {
  return { afterwards: () => desk.openForm(body.trigger_id, placeOf(body, desk.seal.close)) };
}

/** Reads the message and answers in its thread, which from then on is open for the asker. */
async function onMessageShortcut(desk: Desk, body: Delivery): Promise<Reaction> {
  const place = placeOf(body, desk.seal.close);
  const ts = body.message?.ts ?? body.message_ts ?? '';
  const threadTs = body.message?.thread_ts ?? ts;
  const text = plainText(body.message?.text ?? '');
  const asked = { ...place, ts, threadTs, text, hasFiles: false, mentionsUs: true, addressesOther: false };
  const thread = (await desk.resolveThread(asked)) ?? threadTs;
  return desk.say({ address: { ...place, threadTs, thread }, text, key: keyOf(body) });
}

async function onForm(desk: Desk, body: Delivery): Promise<Reaction> {
  const address = slackAddress.parse(JSON.parse(body.view?.private_metadata ?? ''));
  const form = readForm(body.view?.state?.values, await desk.textsFor(address));
  if ('errors' in form) return { response: { response_action: 'errors', errors: form.errors } };
  return desk.say({ address, text: form.text, key: keyOf(body) });
}

async function onPress(desk: Desk, body: Delivery): Promise<Reaction> {
  const [pressed] = body.actions;
  if (pressed === undefined) return {};
  const place = placeOf(body, desk.seal.close);
  const { container, message } = body;
  const { thread = place.user, code = '' } = decodeControlId(pressed.block_id) ?? {};
  /** The message that the control stands in, and the conversation that the message belongs to. */
  const address: SlackAddress = {
    ...place,
    thread,
    threadTs: container?.thread_ts ?? message?.thread_ts ?? null,
    updateTs: container?.message_ts ?? message?.ts ?? null,
    ephemeral: container?.is_ephemeral === true,
  };
  const action = pressed.action_id;
  const value = pressed.selected_option?.value ?? pressed.value ?? '';
  if (action.startsWith('choice')) {
    const estimateCode = code === '' ? undefined : code;
    return desk.say({ address: { ...address, route: 'update' }, text: value, key: keyOf(body), estimateCode });
  }
  if (action === 'again') return desk.say({ address: place, text: value, key: keyOf(body) });
  if (action === 'open_form') return { afterwards: () => desk.openForm(body.trigger_id, place) };
  if (code === '') return {};
  return { afterwards: () => onAnswer(desk, { action, address, code, value, trigger: body.trigger_id }) };
}

/** What the buttons under an answer need; `shared` where only the asker sees it: see `deliverReply`. */
const kept = z.object({
  shared: z.object({ text: z.string(), blocks: z.array(z.unknown()) }).optional(),
  details: z.array(z.unknown()),
});

interface AnswerPress {
  readonly action: string;
  readonly address: SlackAddress;
  readonly code: string;
  readonly value: string;
  readonly trigger: string;
}

/** Details, sharing and feedback of one answer. */
async function onAnswer(desk: Desk, { action, address, code, value, trigger }: AnswerPress): Promise<unknown> {
  const { context, workspaces } = desk;
  if (action === 'feedback') {
    await context.feedback(userIdOf(address), code, value === 'up');
    return desk.tell(address, ({ thanks }) => thanks);
  }
  return desk.attempt(address, action, async () => {
    const found = kept.safeParse((await context.store.get(answerKey(address, code)))?.value).data;
    const url = desk.responseUrl(address);
    if (action === 'share' && found?.shared !== undefined && url !== undefined) {
      return postResponse(url, { ...found.shared, response_type: 'in_channel', replace_original: false });
    }
    const view = detailsView(await desk.textsFor(address), found?.details ?? []);
    const client = await workspaces.clientFor(address);
    return call('views.open', client.apiCall('views.open', { trigger_id: trigger, view }));
  });
}

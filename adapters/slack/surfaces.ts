import type { Reaction } from '../intake.ts';
import { fieldAt, listAt, textAt } from '../wire.ts';
import { answerKey } from './deliver.ts';
import type { Desk } from './desk.ts';
import { escapeText, slackLimits } from './limits.ts';
import {
  keyOf,
  kindOf,
  placeKeyOf,
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
import { postResponse } from './web.ts';

type Handler = (desk: Desk, body: unknown) => Promise<Reaction>;

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
export async function react(desk: Desk, body: unknown): Promise<Reaction> {
  const handle = handlers.get(kindOf(body));
  if (handle === undefined) return {};
  if (handle !== onRemoval) await desk.workspaces.clientFor(workspaceOf(body));
  return handle(desk, body);
}

/** By it Slack allows one view to be opened, within three seconds. */
const triggerOf = (body: unknown): string => textAt(body, 'trigger_id') ?? '';

async function onMessage(desk: Desk, body: unknown): Promise<Reaction> {
  const message = readPersonMessage(body, desk.workspaces.botUser());
  if (message === undefined) return {};
  const { place, channel, ts, text, hasFiles, isDirect } = message;
  const threadTs = message.threadTs ?? ts;
  // Threads do not wait for each other.
  return desk.inOrder(isDirect ? place : `${place}/${threadTs}`, async () => {
    const thread = await desk.resolveThread(message);
    if (thread === undefined) return {};
    const address = slackAddress.parse({ ...message, thread, threadTs });
    if (text === '' && hasFiles) return { afterwards: () => desk.tell(address, ({ textOnly }) => textOnly) };
    return desk.say({ address, text, key: `${channel}:${ts}` });
  });
}

async function onHome(desk: Desk, body: unknown): Promise<Reaction> {
  const [user = '', channel = '', tab = ''] = ['user', 'channel', 'tab'].map((name) => textAt(body, `event.${name}`));
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

/** Revoked tokens of people alone are none of ours. */
async function onRemoval(desk: Desk, body: unknown): Promise<Reaction> {
  const ofPeople = fieldAt(body, 'event.tokens') !== undefined && listAt(body, 'event.tokens.bot').length === 0;
  if (!ofPeople) await desk.removed(workspaceOf(body), kindOf(body));
  return {};
}

const isHelp = (text: string): boolean => /^(help|h|\?|？|帮助)$/iu.test(text);

async function onCommand(desk: Desk, body: unknown): Promise<Reaction> {
  const address = { ...placeOf(body, desk.seal.close), route: 'respond' as const, ephemeral: true };
  const text = plainText(textAt(body, 'text') ?? '');
  if (textAt(body, 'command') !== '/gpu-size' || isHelp(text)) {
    const { help, helpInThreads } = await desk.textsFor(address);
    return { response: { response_type: 'ephemeral', text: escapeText(`${help}\n${helpInThreads}`) } };
  }
  if (text === '') return { afterwards: () => desk.openForm(triggerOf(body), address) };
  return desk.say({ address, text, key: keyOf(body) });
}

async function onShortcut(desk: Desk, body: unknown): Promise<Reaction> {
  return { afterwards: () => desk.openForm(triggerOf(body), placeOf(body, desk.seal.close)) };
}

/** Reads the message and answers in its thread, which from then on is open for the asker. */
async function onMessageShortcut(desk: Desk, body: unknown): Promise<Reaction> {
  const address = placeOf(body, desk.seal.close);
  const ts = textAt(body, 'message.ts', 'message_ts') ?? '';
  const threadTs = textAt(body, 'message.thread_ts') ?? ts;
  const asked = { ...address, ts, threadTs, mentionsUs: true, addressesOther: false };
  const thread =
    (await desk.resolveThread({ ...asked, place: placeKeyOf(address), userId: userIdOf(address) })) ?? threadTs;
  const text = plainText(textAt(body, 'message.text') ?? '');
  return desk.say({ address: { ...address, threadTs, thread }, text, key: keyOf(body) });
}

async function onForm(desk: Desk, body: unknown): Promise<Reaction> {
  const address = slackAddress.parse(JSON.parse(textAt(body, 'view.private_metadata') ?? ''));
  const form = readForm(fieldAt(body, 'view.state.values'), await desk.textsFor(address));
  if ('errors' in form) return { response: { response_action: 'errors', errors: form.errors } };
  return desk.say({ address, text: form.text, key: keyOf(body) });
}

async function onPress(desk: Desk, body: unknown): Promise<Reaction> {
  const place = placeOf(body, desk.seal.close);
  const [pressed] = listAt(body, 'actions');
  const control = textAt(pressed, 'action_id') ?? '';
  const value = textAt(pressed, 'selected_option.value', 'value') ?? '';
  const { thread = place.user, code = '' } = decodeControlId(textAt(pressed, 'block_id') ?? '') ?? {};
  /** The message that the control stands in, and the conversation that the message belongs to. */
  const address: SlackAddress = {
    ...place,
    thread,
    threadTs: textAt(body, 'container.thread_ts', 'message.thread_ts') ?? null,
    updateTs: textAt(body, 'container.message_ts', 'message.ts') ?? null,
    ephemeral: fieldAt(body, 'container.is_ephemeral') === true,
  };
  const key = keyOf(body);
  if (control.startsWith('choice'))
    return desk.say({ address: { ...address, route: 'update' }, text: value, key, estimateCode: code });
  if (control === 'again') return desk.say({ address: place, text: value, key });
  if (control === 'open_form') return { afterwards: () => desk.openForm(triggerOf(body), place) };
  if (code === '') return {};
  if (control === 'feedback')
    return { afterwards: () => onFeedback(desk, address, { code, isHelpful: value === 'up' }) };
  const press = { code, isShare: control === 'share', trigger: triggerOf(body) };
  return { afterwards: () => desk.attempt(address, control, () => onAnswer(desk, address, press)) };
}

async function onFeedback(
  desk: Desk,
  address: SlackAddress,
  said: { code: string; isHelpful: boolean },
): Promise<void> {
  await desk.context.feedback(userIdOf(address), said.code, said.isHelpful);
  await desk.tell(address, ({ thanks }) => thanks);
}

interface AnswerPress {
  readonly code: string;
  readonly isShare: boolean;
  readonly trigger: string;
}

/** Shares an answer that only the asker saw, or shows its details: see `deliverReply`. */
async function onAnswer(desk: Desk, address: SlackAddress, { code, isShare, trigger }: AnswerPress): Promise<void> {
  const kept = await desk.answers.find(answerKey(address, code));
  const url = desk.seal.open(address.response ?? '');
  if (isShare && kept?.shared !== undefined && url !== undefined) {
    return postResponse(url, { ...kept.shared, response_type: 'in_channel', replace_original: false });
  }
  await desk.openView(trigger, address, detailsView(await desk.textsFor(address), kept?.details ?? []));
}

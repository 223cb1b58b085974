import { decodeControlId } from '../controls.ts';
import type { Reaction } from '../intake.ts';
import type { Reception } from '../reception.ts';
import type { Seal } from '../seal.ts';
import { fieldAt, listAt, textAt } from '../wire.ts';
import {
  keyOf,
  kindOf,
  placeOf,
  plainText,
  readPersonMessage,
  type SlackAddress,
  slackAddress,
  type Workspace,
  workspaceOf,
} from './receive.ts';
import type { Workspaces } from './workspaces.ts';

export interface Desk {
  readonly reception: Reception<SlackAddress>;
  readonly seal: Seal;
  readonly workspaces: Workspaces;
  /** Somebody removed the app. */
  readonly removed: (workspace: Workspace, event: string) => Promise<void>;
}

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

/** With it one view can be opened within three seconds. */
const triggerOf = (body: unknown): string => textAt(body, 'trigger_id') ?? '';

async function onMessage({ reception, workspaces }: Desk, body: unknown): Promise<Reaction> {
  const written = readPersonMessage(body, workspaces.botUser());
  return written === undefined ? {} : reception.message(written);
}

async function onHome({ reception, seal }: Desk, body: unknown): Promise<Reaction> {
  return reception.opened(placeOf(body, seal.close), textAt(body, 'event.tab') === 'home' ? 'home' : 'messages');
}

/** Revoked tokens of people alone are none of ours. */
async function onRemoval({ removed }: Desk, body: unknown): Promise<Reaction> {
  const ofPeople = fieldAt(body, 'event.tokens') !== undefined && listAt(body, 'event.tokens.bot').length === 0;
  if (!ofPeople) await removed(workspaceOf(body), kindOf(body));
  return {};
}

/** The answer is for the asker alone. To a command that is not ours the answer is help. */
async function onCommand({ reception, seal }: Desk, body: unknown): Promise<Reaction> {
  const place: SlackAddress = { ...placeOf(body, seal.close), route: 'respond', ephemeral: true };
  const text = textAt(body, 'command') === '/gpu-size' ? plainText(textAt(body, 'text') ?? '') : 'help';
  return reception.command({ place, text, key: keyOf(body) }, triggerOf(body));
}

async function onShortcut({ reception, seal }: Desk, body: unknown): Promise<Reaction> {
  return reception.openForm(placeOf(body, seal.close), triggerOf(body));
}

/** Reads the message and answers in its thread, which from then on is open for the asker. */
async function onMessageShortcut({ reception, seal }: Desk, body: unknown): Promise<Reaction> {
  const ts = textAt(body, 'message.ts', 'message_ts') ?? '';
  const threadTs = textAt(body, 'message.thread_ts') ?? ts;
  const said = {
    place: placeOf(body, seal.close),
    text: plainText(textAt(body, 'message.text') ?? ''),
    key: keyOf(body),
  };
  return reception.message({ ...said, ts, threadTs, mentionsUs: true, addressesOther: false, hasFiles: false });
}

async function onForm({ reception }: Desk, body: unknown): Promise<Reaction> {
  const address = slackAddress.parse(JSON.parse(textAt(body, 'view.private_metadata') ?? ''));
  return reception.form(address, keyOf(body), (name) => textAt(body, `view.state.values.${name}.value.value`));
}

async function onPress({ reception, seal }: Desk, body: unknown): Promise<Reaction> {
  const anew = placeOf(body, seal.close);
  const [pressed] = listAt(body, 'actions');
  const { thread = anew.user, code = '' } = decodeControlId(textAt(pressed, 'block_id') ?? '') ?? {};
  /** The message that the control stands in, and the conversation that the message belongs to. */
  const here: SlackAddress = {
    ...anew,
    thread,
    route: 'update',
    threadTs: textAt(body, 'container.thread_ts', 'message.thread_ts') ?? null,
    updateTs: textAt(body, 'container.message_ts', 'message.ts') ?? null,
    ephemeral: fieldAt(body, 'container.is_ephemeral') === true,
  };
  const name = textAt(pressed, 'action_id') ?? '';
  const value = textAt(pressed, 'selected_option.value', 'value') ?? '';
  return reception.press({ name, value, code, key: keyOf(body), trigger: triggerOf(body) }, here, anew);
}

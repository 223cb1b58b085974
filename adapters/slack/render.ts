import type { types } from '@slack/bolt';
import type { Choice, Reply } from '../../src/reply/reply.ts';
import type { SurfaceTexts } from '../adapter.ts';
import { filledBlocks, isShown, takeFitting } from '../layout.ts';
import { clip, clipBytes } from '../text.ts';
import { buttonOf, paragraph, plain, toSlack } from './blocks.ts';
import { escapeText, slackLimits } from './limits.ts';

type KnownBlock = types.KnownBlock;

export interface SlackMessage {
  /** For notifications and screen readers: escaped, verdict first. */
  readonly text: string;
  readonly blocks: readonly KnownBlock[];
}

export interface Rendered {
  readonly message: SlackMessage;
  /** The message without anything to press, for a whole channel to read. */
  readonly shared: SlackMessage;
  /** Behind the details button; empty when everything fits into the message. */
  readonly details: readonly KnownBlock[];
}

/** What the buttons of a message must remember. */
export interface Placement {
  /** Thread part of the conversation that a press continues. */
  readonly thread: string;
  /** Only the asker sees it: offer to share. */
  readonly ephemeral: boolean;
}

const buttonsShown = 5;
/** Room for the buttons, the menu and the feedback under an answer. */
const reservedCharacters = 3_000;
const reservedBlocks = 5;

const charactersOf = (blocks: unknown): number => JSON.stringify(blocks).length;

/** Blocks in order while they fit; what does not fit goes behind the details button. */
function layOut(reply: Reply): { main: KnownBlock[]; details: KnownBlock[] } {
  const filled = filledBlocks(reply);
  const wanted = filled.filter((block) => isShown(reply, block));
  const table = wanted.find(({ kind }) => kind === 'tiers');
  const written = wanted.map((block) => ({ block, blocks: toSlack(block, block === table) }));
  const listed = takeFitting(written, slackLimits.messageBlocks - reservedBlocks, ({ blocks }) => blocks.length);
  const room = slackLimits.messageCharacters - reservedCharacters;
  const main = takeFitting(listed, room, ({ blocks }) => charactersOf(blocks));
  const placed = new Set(main.map(({ block }) => block));
  const rest = filled.filter((block) => !placed.has(block)).flatMap((block) => toSlack(block, false));
  const details = takeFitting(rest.slice(0, slackLimits.viewBlocks), slackLimits.viewCharacters, charactersOf);
  return { main: main.flatMap(({ blocks }) => blocks), details };
}

function menuOf(choices: readonly Choice[], placeholder: string): types.StaticSelect[] {
  const options = choices
    .filter(({ say }) => say.length <= slackLimits.optionValue)
    .slice(0, slackLimits.selectOptions)
    .map(({ label, say }) => ({ text: plain(clip(label, slackLimits.optionText)), value: say }));
  if (options.length === 0) return [];
  return [{ type: 'static_select', action_id: 'choice_menu', placeholder: plain(placeholder), options }];
}

interface Controls {
  readonly reply: Reply;
  readonly placement: Placement;
  readonly hasDetails: boolean;
  readonly texts: SurfaceTexts;
}

function controlsOf({ reply, placement, hasDetails, texts }: Controls): KnownBlock[] {
  const code = reply.estimateCode;
  const id = (name: string): string => encodeControlId(name, code ?? '', placement.thread);
  const choices = reply.choices.filter(({ say }) => say !== '' && say.length <= slackLimits.buttonValue);
  const press = [
    ...choices.slice(0, buttonsShown).map(({ label, say, primary = false }, index) => ({
      ...buttonOf(`choice:${index}`, clip(label, slackLimits.buttonText), say),
      ...(primary ? { style: 'primary' as const } : {}),
    })),
    ...menuOf(choices.slice(buttonsShown), texts.otherCard),
    ...(hasDetails ? [buttonOf('details', texts.details)] : []),
    ...(placement.ephemeral && code !== undefined ? [buttonOf('share', texts.share)] : []),
  ];
  const actions: KnownBlock[] = press.length === 0 ? [] : [{ type: 'actions', block_id: id('c'), elements: press }];
  if (code === undefined || reply.kind !== 'answer') return actions;
  const verdict = (text: string, value: string) => ({ text: plain(text), value });
  const feedback: types.FeedbackButtons = {
    type: 'feedback_buttons',
    action_id: 'feedback',
    positive_button: verdict(texts.helpful, 'up'),
    negative_button: verdict(texts.notHelpful, 'down'),
  };
  return [...actions, { type: 'context_actions', block_id: id('f'), elements: [feedback] }];
}

/** What the controls of a message belong to stands in their `block_id`, which has to be unique there. */
const encodeControlId = (name: string, code: string, thread: string): string => `${name}|${code}|${thread}`;

/** The conversation and the estimate that a pressed control belongs to. */
export function decodeControlId(blockId: string): { readonly code: string; readonly thread: string } | undefined {
  const [, code, thread, ...rest] = blockId.split('|');
  return code === undefined || thread === undefined || rest.length > 0 ? undefined : { code, thread };
}

/** Reply → message within every limit; longer content moves behind the details button, nothing is split. */
export function renderReply(reply: Reply, placement: Placement, texts: SurfaceTexts): Rendered {
  const { main, details } = layOut(reply);
  // Slack refuses a message whose text is blank (`no_text`), also next to blocks.
  const said = reply.fallback.trim() === '' ? '–' : reply.fallback;
  const text = clipBytes(escapeText(said), slackLimits.fallbackBytes).replace(/&\w*…$/u, '…');
  const body = main.length === 0 ? [paragraph(said)] : main;
  const hasDetails = details.length > 0 && reply.estimateCode !== undefined;
  const controls = controlsOf({ reply, placement, hasDetails, texts });
  return { message: { text, blocks: [...body, ...controls] }, shared: { text, blocks: body }, details };
}

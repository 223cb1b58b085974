import type { types } from '@slack/bolt';
import type { Reply } from '../../src/reply/reply.ts';
import type { SurfaceTexts } from '../adapter.ts';
import { type Controls, controlNames, controlsOf, encodeControlId, type Menu } from '../controls.ts';
import { layOut } from '../layout.ts';
import { clipBytes } from '../text.ts';
import { buttonOf, paragraph, plain, toSlack } from './blocks.ts';
import { escapeText, slackLimits } from './limits.ts';
import type { SlackAddress } from './receive.ts';

type KnownBlock = types.KnownBlock;
type ControlId = (kind: string) => string;

export interface SlackMessage {
  /** For notifications and screen readers: escaped, verdict first. */
  readonly text: string;
  readonly blocks: readonly KnownBlock[];
}

interface Rendered {
  readonly message: SlackMessage;
  /** The message without anything to press, for a whole channel to read. */
  readonly shared: SlackMessage;
  /** Behind the details button; empty when everything fits into the message. */
  readonly details: readonly KnownBlock[];
}

/** The conversation that a press continues, and whether only the asker sees the message: then sharing is offered. */
type Placement = Pick<SlackAddress, 'thread' | 'ephemeral'>;

/** Room for what can be pressed under an answer. */
const reserved = { size: 3_000, parts: 5 };
const { viewBlocks, viewCharacters, messageBlocks, messageCharacters } = slackLimits;
const layout = {
  write: toSlack,
  message: { parts: messageBlocks - reserved.parts, size: messageCharacters - reserved.size },
  details: { parts: viewBlocks, size: viewCharacters },
};

const menuOf = ({ name, label, options }: Menu): types.StaticSelect => ({
  type: 'static_select',
  action_id: name,
  placeholder: plain(label),
  options: options.map((option) => ({ text: plain(option.label), value: option.value })),
});

const feedbackOf = ({ helpful, notHelpful }: SurfaceTexts): types.FeedbackButtons => ({
  type: 'feedback_buttons',
  action_id: controlNames.feedback,
  positive_button: { text: plain(helpful), value: 'up' },
  negative_button: { text: plain(notHelpful), value: 'down' },
});

/** The controls as blocks; what they belong to stands in the `block_id`, which has to be unique in the message. */
function writeControls(controls: Controls, texts: SurfaceTexts, id: ControlId): KnownBlock[] {
  const { choices, menu, extras, asksFeedback } = controls;
  const menus = menu === undefined ? [] : [menuOf(menu)];
  const elements = [...choices.map(buttonOf), ...menus, ...extras.map(buttonOf)];
  const actions: KnownBlock[] = [{ type: 'actions', block_id: id('c'), elements }];
  const feedback: KnownBlock[] = [{ type: 'context_actions', block_id: id('f'), elements: [feedbackOf(texts)] }];
  return [...(elements.length === 0 ? [] : actions), ...(asksFeedback ? feedback : [])];
}

/** Reply → message within every limit; longer content moves behind the details button, nothing is split. */
export function renderReply(reply: Reply, { thread, ephemeral }: Placement, texts: SurfaceTexts): Rendered {
  const { main, details } = layOut(reply, layout);
  // Slack refuses a message whose text is blank (`no_text`), also next to blocks.
  const said = reply.fallback.trim() === '' ? '–' : reply.fallback;
  const text = clipBytes(escapeText(said), slackLimits.fallbackBytes).replace(/&\w*…$/u, '…');
  const body = main.length === 0 ? [paragraph(said)] : main;
  const options = { texts, limits: slackLimits, hasDetails: details.length > 0, isPrivate: ephemeral };
  const id: ControlId = (kind) => encodeControlId(kind, reply.estimateCode ?? '', thread);
  const controls = writeControls(controlsOf(reply, options), texts, id);
  return { message: { text, blocks: [...body, ...controls] }, shared: { text, blocks: body }, details };
}

import type { Choice, Reply } from '../src/reply/reply.ts';
import type { RecentEstimate, SurfaceTexts } from './adapter.ts';
import { clip } from './text.ts';

/** Names of what can be pressed; choices are `choice:0`, `choice:1`, … and `choice:menu`. */
export const controlNames = {
  choice: 'choice',
  details: 'details',
  share: 'share',
  feedback: 'feedback',
  again: 'again',
  openForm: 'open_form',
} as const;

export interface Button {
  readonly name: string;
  readonly label: string;
  /** Comes back with the press. */
  readonly value?: string;
  readonly isPrimary?: boolean;
}

/** The value is what a press says. */
export type ChoiceButton = Required<Button>;

export interface Menu {
  readonly name: string;
  /** Shown while nothing is picked. */
  readonly label: string;
  readonly options: readonly { readonly label: string; readonly value: string }[];
}

export interface Controls {
  /** The first choices; the others are in the menu. */
  readonly choices: readonly Button[];
  readonly menu: Menu | undefined;
  /** Details and sharing. */
  readonly extras: readonly Button[];
  /** Whether to ask if the answer helped. */
  readonly asksFeedback: boolean;
}

/** Characters and numbers that a platform's controls may have. */
interface ButtonLimits {
  readonly buttonsShown: number;
  readonly buttonText: number;
  readonly buttonValue: number;
}

export interface ControlLimits extends ButtonLimits {
  readonly optionText: number;
  readonly optionValue: number;
  readonly selectOptions: number;
}

export interface ControlOptions {
  readonly texts: SurfaceTexts;
  readonly limits: ControlLimits;
  readonly hasDetails: boolean;
  /** Only the asker sees the answer: offer to share it. */
  readonly isPrivate: boolean;
}

interface ChoiceButtons {
  readonly buttons: readonly ChoiceButton[];
  /** Those that got none. */
  readonly others: readonly Choice[];
}

/** A button for each of the first choices that a press can say. */
export function choiceButtons(choices: readonly Choice[], limits: ButtonLimits): ChoiceButtons {
  const { buttonsShown, buttonText, buttonValue } = limits;
  const sayable = choices.filter(({ say }) => say !== '' && say.length <= buttonValue);
  const buttons = sayable.slice(0, buttonsShown).map(({ label, say, primary = false }, index) => ({
    name: `${controlNames.choice}:${index}`,
    label: clip(label, buttonText),
    value: say,
    isPrimary: primary,
  }));
  return { buttons, others: sayable.slice(buttonsShown) };
}

/** Asks for an estimate again; undefined where that is more than a press can say. */
export const againButton = ({ say, estimateCode }: RecentEstimate, limits: ButtonLimits): Button | undefined =>
  say === '' || say.length > limits.buttonValue
    ? undefined
    : { name: controlNames.again, label: estimateCode, value: say };

/** What can be pressed under a reply: the first choices, a menu of the others, details, sharing, feedback. */
export function controlsOf(reply: Reply, { texts, limits, hasDetails, isPrivate }: ControlOptions): Controls {
  const { optionText, optionValue, selectOptions } = limits;
  const hasCode = reply.estimateCode !== undefined;
  const { buttons: choices, others } = choiceButtons(reply.choices, limits);
  const options = others
    .filter(({ say }) => say.length <= optionValue)
    .slice(0, selectOptions)
    .map(({ label, say }) => ({ label: clip(label, optionText), value: say }));
  const menu = { name: `${controlNames.choice}:menu`, label: texts.otherCard, options };
  const details = { name: controlNames.details, label: texts.details };
  const share = { name: controlNames.share, label: texts.share };
  return {
    choices,
    menu: options.length === 0 ? undefined : menu,
    extras: [...(hasDetails && hasCode ? [details] : []), ...(isPrivate && hasCode ? [share] : [])],
    asksFeedback: hasCode && reply.kind === 'answer',
  };
}

/** What the controls of a message belong to, in one text: `kind` makes it unique in the message. */
export const encodeControlId = (kind: string, code: string, thread: string): string => `${kind}|${code}|${thread}`;

/** The estimate and the conversation that a pressed control belongs to. */
export function decodeControlId(id: string): { readonly code: string; readonly thread: string } | undefined {
  const [, code, thread, ...rest] = id.split('|');
  return code === undefined || thread === undefined || rest.length > 0 ? undefined : { code, thread };
}

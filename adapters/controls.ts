import type { Reply } from '../src/reply/reply.ts';
import type { SurfaceTexts } from './adapter.ts';
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
export interface ControlLimits {
  readonly buttonsShown: number;
  readonly buttonText: number;
  readonly buttonValue: number;
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

/** What can be pressed under a reply: the first choices, a menu of the others, details, sharing, feedback. */
export function controlsOf(reply: Reply, { texts, limits, hasDetails, isPrivate }: ControlOptions): Controls {
  const { buttonsShown, buttonText, buttonValue, optionText, optionValue, selectOptions } = limits;
  const hasCode = reply.estimateCode !== undefined;
  const sayable = reply.choices.filter(({ say }) => say !== '' && say.length <= buttonValue);
  const choices = sayable.slice(0, buttonsShown).map(({ label, say, primary = false }, index) => ({
    name: `${controlNames.choice}:${index}`,
    label: clip(label, buttonText),
    value: say,
    isPrimary: primary,
  }));
  const options = sayable
    .slice(buttonsShown)
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

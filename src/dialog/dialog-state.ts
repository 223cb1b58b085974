import type { Locale } from '../message.ts';
import type { Ambiguity, Artifact, Intent, SlotName, Slots, Understanding } from '../understanding/understanding.ts';

/** What undo goes back to. */
export interface Step {
  readonly slots: Slots;
  readonly intent: Intent | null;
  readonly compared?: readonly string[];
  readonly otherVersion?: string;
}

/** What is remembered about one conversation between turns. JSON; versioned by the store. */
export interface DialogState {
  /** Version of this shape; older states are upgraded or dropped on read. */
  readonly schema: 1;
  readonly locale: Locale;
  readonly slots: Slots;
  readonly asked: SlotName | null;
  /** How often the asked slot was asked in a row: reason → examples → default. */
  readonly attempts: number;
  /** Slots that the person left to the default ("随便", "no limit"): not asked again. */
  readonly waived: readonly SlotName[];
  readonly intent: Intent | null;
  readonly answered: boolean;
  /** What was held before the last changes, newest last (undo, "the last one"); bounded. */
  readonly history: readonly Step[];
  readonly estimateCode: string | null;
  /** Figures of the failure that was pasted, until its workload is known and answered. */
  readonly failure?: Artifact;
  /** A mention that the person was asked about and that is still open. */
  readonly choice?: Ambiguity;
  /** Networks to set beside each other, as typed, until another question is served. */
  readonly compared?: readonly string[];
  /** The held network as typed, where it is a published one changed: its figures are those of the published one. */
  readonly otherVersion?: string;
}

/** The rule's decision for one turn; the dialog decides, it never computes. */
export type DialogAction =
  | { readonly kind: 'ElicitSlot'; readonly slot: SlotName; readonly attempt: number }
  | { readonly kind: 'ConfirmSlot'; readonly ambiguity: Ambiguity; readonly attempt: number }
  | { readonly kind: 'Answer'; readonly intent: Intent }
  | { readonly kind: 'Help' }
  | { readonly kind: 'Greet' }
  | { readonly kind: 'Decline'; readonly topic: string }
  | { readonly kind: 'Close'; readonly reason: 'reset' | 'undo' | 'nothing-to-undo' };

export interface Turn {
  readonly state: DialogState;
  readonly action: DialogAction;
  readonly understanding: Understanding;
}

import type { IncomingMessage, Locale } from '../src/message.ts';
import type { Address, RecentEstimate, SurfaceTexts } from './adapter.ts';
import type { AnswerOwner, KeptAnswer } from './answers.ts';
import type { FormField } from './form.ts';
import type { Heard } from './threads.ts';

/** What a person said, by whatever surface. */
export interface Said<Place> {
  readonly place: Place;
  readonly text: string;
  /** Unique per event within the tenant, and the same again for a redelivery. */
  readonly key: string;
  /** Of the answer that it is about. */
  readonly estimateCode?: string;
}

/** A message that was written where we listen. */
export interface Written<Place> extends Said<Place>, Pick<Heard, 'ts' | 'threadTs' | 'mentionsUs' | 'addressesOther'> {
  readonly hasFiles: boolean;
}

/** A pressed control. */
export interface Press {
  readonly name: string;
  readonly value: string;
  /** Of the answer that it stands under; empty elsewhere. */
  readonly code: string;
  readonly key: string;
  readonly trigger: string;
}

/** Who is where, in our ids. */
export interface Identity extends AnswerOwner, Pick<Heard, 'user' | 'isDirect'> {
  readonly conversationId: IncomingMessage['conversationId'];
  /** `<adapter>:<tenant>` */
  readonly tenant: string;
}

/** What a platform can show to one person. `Place` is its address: where, by whom, and how an answer goes back. */
export interface Stage<Place extends Address> {
  identify(place: Place): Identity;
  /** The place of the same person in a thread; `thread` is its part of the conversation. */
  inThread(place: Place, root: string, thread: string): Place;
  localeOf(place: Place): Promise<Locale | undefined>;
  /** To this person alone. */
  tell(place: Place, text: string): Promise<unknown>;
  /** The same as body of an acknowledgement, and what to correct in a form. */
  responses: { help(text: string): unknown; corrections(errors: Readonly<Record<string, string>>): unknown };
  /** `trigger`: what the platform wants to see for opening a view. */
  openForm(place: Place, trigger: string, form: Form): Promise<unknown>;
  openDetails(place: Place, trigger: string, details: Details): Promise<unknown>;
  /** Shows an answer to the whole channel; false where that does not go any more. */
  share(place: Place, shared: NonNullable<KeptAnswer['shared']>): Promise<boolean>;
  showHome(place: Place, home: Home): Promise<unknown>;
  /** In the direct messages: what could be asked. */
  showPrompts(place: Place, prompts: SurfaceTexts['suggestedPrompts']): Promise<unknown>;
}

export interface Form {
  readonly texts: SurfaceTexts;
  readonly fields: readonly FormField[];
}

export interface Details {
  readonly texts: SurfaceTexts;
  readonly parts: KeptAnswer['details'];
}

export interface Home {
  readonly texts: SurfaceTexts;
  readonly recent: readonly RecentEstimate[];
}

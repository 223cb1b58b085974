import { AppError } from './errors.ts';

export type Locale = 'zh' | 'en';

declare const brand: unique symbol;
type Brand<T, Name extends string> = T & { readonly [brand]: Name };

/** `<adapter>:<tenant>:<channel>:<thread or user>`, each part percent-encoded. */
export type ConversationId = Brand<string, 'ConversationId'>;

export interface ConversationParts {
  readonly adapter: string;
  readonly tenant: string;
  readonly channel: string;
  /** Thread on platforms with threads, else the person. */
  readonly thread: string;
}

const escapePart = (part: string): string => encodeURIComponent(part.toWellFormed());

export function encodeConversationId(parts: ConversationParts): ConversationId {
  return [parts.adapter, parts.tenant, parts.channel, parts.thread].map(escapePart).join(':') as ConversationId;
}

/** @throws AppError `invalid-input` when the id was not made by `encodeConversationId`. */
export function decodeConversationId(id: string): ConversationParts {
  const [adapter, tenant, channel, thread, ...rest] = id.split(':').map(decodeURIComponent);
  if (
    adapter === undefined ||
    tenant === undefined ||
    channel === undefined ||
    thread === undefined ||
    rest.length > 0
  ) {
    throw new AppError('invalid-input', 'not a conversation id');
  }
  return { adapter, tenant, channel, thread };
}

/** One thing a person said, normalised: platform markup undone, mention of the bot removed. */
export interface IncomingMessage {
  /** Unique per event of the platform: a redelivery carries the same id. Dedupe key. */
  readonly messageId: string;
  readonly conversationId: ConversationId;
  /** `<adapter>:<tenant>:<user>`: rate limit and `forget`. */
  readonly userId: string;
  readonly text: string;
  /** The platform's idea of the person's language; the text itself wins. */
  readonly locale?: Locale;
  /** Code of an earlier estimate that the person quoted or pressed a button of. */
  readonly estimateCode?: string;
  /** Epoch milliseconds. */
  readonly receivedAt: number;
}

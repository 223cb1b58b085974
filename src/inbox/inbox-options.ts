import type { Accepted, AcceptOutcome, Address, Delivery, Logger, Metrics } from '../../adapters/adapter.ts';
import type { AppError } from '../errors.ts';
import type { IncomingMessage } from '../message.ts';
import type { Reply } from '../reply/reply.ts';
import type { InboxStore } from '../state/inbox-store.ts';

export interface Outgoing {
  readonly message: IncomingMessage;
  readonly address: Address;
  readonly reply: Reply;
  readonly delivery: Delivery;
}

export interface InboxLimits {
  /** Messages accepted by this process and not yet answered; beyond it `accept` says `overloaded`. */
  readonly maximumWaiting: number;
  /** Conversations worked on at the same time. */
  readonly concurrency: number;
  /** How long a hold on a conversation lives without renewal: after a crash others wait this long. */
  readonly leaseMs: number;
  /** How often messages of owners that are gone are looked for. */
  readonly pollMs: number;
  /** How long the id of an answered message is remembered. */
  readonly dedupeMs: number;
  /** After this time without reaching the platform a message is given up. */
  readonly giveUpMs: number;
  /** First wait between two deliveries, doubled each time up to 30 s; also between two tries at a store that is away. */
  readonly retryMs: number;
  /** Bytes of one stored message; a longer one is refused with `too-large`. */
  readonly maximumBytes: number;
  /** How long `stop` waits for answers in progress. */
  readonly drainMs: number;
}

export const defaultLimits: InboxLimits = {
  maximumWaiting: 1_000,
  concurrency: 64,
  leaseMs: 15_000,
  pollMs: 1_000,
  dedupeMs: 86_400_000,
  giveUpMs: 3_600_000,
  retryMs: 500,
  maximumBytes: 1_000_000,
  drainMs: 10_000,
};

/**
 * `handle` may be called again for the same message after a crash, so it must be repeatable: keep beside the dialog
 * state the id of the last message and the state before it, and start from that one when the id comes again.
 */
export interface InboxOptions {
  readonly store: InboxStore;
  readonly handle: (message: IncomingMessage, address: Address) => Promise<Reply>;
  /** Routes to the adapter's `deliver`. */
  readonly deliver: (outgoing: Outgoing) => Promise<void>;
  /** What a person is told when `handle` failed for good. */
  readonly apologize: (message: IncomingMessage, error: AppError) => Reply;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly limits?: Partial<InboxLimits>;
}

export interface Inbox {
  /** Finishes what an earlier run left, and keeps looking for what other replicas leave. */
  start(): Promise<void>;
  /** @throws AppError `store-unavailable`, `too-large`. */
  accept(accepted: Accepted): Promise<AcceptOutcome>;
  /** Accepts no more, waits for answers in progress (bounded), gives the rest to others. */
  stop(): Promise<void>;
  /** Messages accepted here and not yet answered. */
  waiting(): number;
}

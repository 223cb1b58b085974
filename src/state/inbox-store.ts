/** One message as it waits: `payload` is JSON of message and address, and is erased once answered. */
export interface InboxEntry {
  /** Dedupe key, unique over all platforms. */
  readonly messageId: string;
  readonly conversationId: string;
  readonly userId: string;
  readonly payload: string;
  /** Epoch milliseconds. */
  readonly acceptedAt: number;
}

/** A hold on one conversation: only its holder answers there, until it gives the hold back or lets it run out. */
export interface Claim {
  readonly conversationId: string;
  /** Names this hold; a later hold on the same conversation has another. */
  readonly claimId: string;
}

/** Under which name holds are taken, and until when (epoch milliseconds). */
export interface Lease {
  /** `InboxStore.owner` of whoever takes them. */
  readonly owner: string;
  readonly claimId: string;
  readonly now: number;
  readonly until: number;
}

/**
 * `claimed`: stored, and the conversation is now held under the given claim id with nothing older waiting.
 * `behind`: the same, but older messages may wait; ask `advance` for the first of them.
 * `queued`: stored; whoever holds the conversation comes to it. `duplicate`: known already.
 */
export type AcceptResult = 'claimed' | 'behind' | 'queued' | 'duplicate';

export type EntryOutcome = 'answered' | 'refused' | 'failed';

export interface Finished extends Claim {
  /** Absent: nothing was finished, only the next entry is asked for. */
  readonly done?: { readonly messageId: string; readonly outcome: EntryOutcome; readonly expiresAt: number };
}

/** `next`: still held, go on with this entry. `released`: nothing waits, the hold is gone. `raced`: ask again. `lost`: somebody else holds it. */
export type Advance =
  | { readonly kind: 'next'; readonly entry: InboxEntry }
  | { readonly kind: 'released' }
  | { readonly kind: 'raced' }
  | { readonly kind: 'lost' };

/** A conversation taken over from an owner that is gone, with its first waiting entry. */
export interface Takeover extends Claim {
  readonly entry: InboxEntry;
}

/**
 * Waiting messages and holds on conversations: the port behind the inbox. Entries of one conversation come out in the
 * order in which they were accepted. Lists go in and out in the same order, so that a backend can batch.
 * Memory, SQLite and PostgreSQL pass one contract suite (`test/contracts/inbox-store-contract.ts`).
 *
 * @throws AppError `store-unavailable` from every method when the backend cannot be reached.
 */
export interface InboxStore {
  /** Epoch milliseconds on the clock that everybody who uses this backend shares; leases are measured on it. */
  now(): number;
  /** Names this opened store as the holder of what it takes; unique over machines, processes and restarts. */
  readonly owner: string;
  accept(entries: readonly InboxEntry[], lease: Lease): Promise<readonly AcceptResult[]>;
  /** Marks entries finished (payload erased, id kept until `expiresAt`) and moves each conversation on. */
  advance(finished: readonly Finished[], now: number): Promise<readonly Advance[]>;
  /** Takes at most `limit` conversations where something waits and no hold is alive. */
  takeOver(lease: Lease, limit: number): Promise<readonly Takeover[]>;
  /**
   * Notes that a message which somebody may have worked on before is handled once more; how often that began without an
   * `endHandling`, this time included. A message that ends its process each time is recognised by it.
   */
  beginHandling(messageId: string): Promise<number>;
  /** The process lives after all: what is left is the delivery. */
  endHandling(messageId: string): Promise<void>;
  /** Prolongs holds; the claims that are still held. */
  renew(claims: readonly Claim[], until: number): Promise<readonly Claim[]>;
  /** Gives holds back although something waits (shutdown). */
  release(claims: readonly Claim[]): Promise<void>;
  /** Messages that wait, over all owners. */
  countWaiting(): Promise<number>;
}

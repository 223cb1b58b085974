import type { Generated } from 'kysely';

export interface EntryTable {
  readonly key: string;
  /** JSON text: PostgreSQL's jsonb would reorder keys and refuse U+0000. */
  readonly value: string;
  /** Unique per write, growing with time. */
  readonly version: number;
  readonly expires_at: number | null;
  readonly user_id: string | null;
}

export interface InboxTable {
  readonly seq: Generated<number>;
  readonly message_id: string;
  readonly conversation_id: string;
  readonly user_id: string;
  /** Null once finished. */
  readonly payload: string | null;
  readonly accepted_at: number;
  readonly takeovers: Generated<number>;
  readonly outcome: string | null;
  /** When a finished entry may go. */
  readonly expires_at: number | null;
}

export interface ClaimTable {
  readonly conversation_id: string;
  readonly claim_id: string;
  readonly owner: string;
  readonly until: number;
  /** Counts what arrived while the claim was held, so that giving it back cannot overlook a message. */
  readonly arrivals: number;
}

export interface Tables {
  entry: EntryTable;
  inbox: InboxTable;
  claim: ClaimTable;
}

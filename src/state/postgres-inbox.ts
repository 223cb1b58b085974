import type pg from 'pg';
import type { AcceptResult, Advance, Claim, Finished, InboxEntry, InboxStore, Lease, Takeover } from './inbox-store.ts';
import { createOwner } from './owner.ts';
import {
  acceptSql,
  advanceSql,
  beginHandlingSql,
  endHandlingSql,
  releaseSql,
  renewSql,
  takeOverSql,
} from './postgres-inbox-sql.ts';

interface EntryRow {
  readonly message_id: string;
  readonly conversation_id: string;
  readonly user_id: string;
  readonly payload: string;
  readonly accepted_at: number;
}

interface AcceptRow {
  readonly message_id: string;
  readonly conversation_id: string;
  readonly seq: number;
  readonly held: boolean;
  readonly behind: boolean;
}

type AdvanceRow = {
  readonly conversation_id: string;
  readonly held: boolean;
  readonly released: boolean;
} & (EntryRow | { readonly message_id: null });

type TakeOverRow = { readonly conversation_id: string } & (EntryRow | { readonly message_id: null });

const toEntry = (row: EntryRow): InboxEntry => ({
  messageId: row.message_id,
  conversationId: row.conversation_id,
  userId: row.user_id,
  payload: row.payload,
  acceptedAt: row.accepted_at,
});

const column = <T, K extends keyof T>(items: readonly T[], key: K): T[K][] => items.map((item) => item[key]);

export interface PostgresInboxOptions {
  readonly pool: pg.Pool;
  readonly now: () => number;
  /** Turns a driver's failure into `store-unavailable`; repeats what the server asks to repeat. */
  readonly guard: <T>(operation: () => Promise<T>) => Promise<T>;
}

/** The inbox in the tables of `migrations/`: one statement, prepared once, for each list. */
export function createPostgresInboxStore({ pool, now, guard }: PostgresInboxOptions): InboxStore {
  const query = async <R extends pg.QueryResultRow>(name: string, text: string, values: unknown[]): Promise<R[]> =>
    (await guard(() => pool.query<R>({ name, text, values }))).rows;

  const accept = async (entries: readonly InboxEntry[], lease: Lease): Promise<readonly AcceptResult[]> => {
    const rows = await query<AcceptRow>('inbox-accept', acceptSql, [
      ...entryColumns(entries),
      lease.claimId,
      lease.owner,
      lease.until,
      lease.now,
    ]);
    return acceptResults(entries, rows);
  };

  const advance = async (finished: readonly Finished[], _now: number): Promise<readonly Advance[]> => {
    const rows = await query<AdvanceRow>('inbox-advance', advanceSql, [
      column(finished, 'conversationId'),
      column(finished, 'claimId'),
      finished.map(({ done }) => done?.messageId ?? null),
      finished.map(({ done }) => done?.outcome ?? null),
      finished.map(({ done }) => done?.expiresAt ?? null),
    ]);
    const byConversation = new Map(rows.map((row) => [row.conversation_id, row]));
    return finished.map(({ conversationId }) => toAdvance(byConversation.get(conversationId)));
  };

  const release = async (claims: readonly Claim[]): Promise<void> => {
    await query('inbox-release', releaseSql, [column(claims, 'conversationId'), column(claims, 'claimId')]);
  };

  const takeOver = async (lease: Lease, limit: number): Promise<readonly Takeover[]> => {
    const values = [lease.claimId, lease.owner, lease.until, lease.now, limit];
    const rows = await query<TakeOverRow>('inbox-take-over', takeOverSql, values);
    const claims = rows.map((row) => ({ conversationId: row.conversation_id, claimId: lease.claimId }));
    await release(claims.filter((_claim, index) => rows[index]?.message_id === null));
    return rows.flatMap((row) =>
      row.message_id === null
        ? []
        : [{ conversationId: row.conversation_id, claimId: lease.claimId, entry: toEntry(row) }],
    );
  };

  return {
    now,
    owner: createOwner(),
    accept,
    advance,
    release,
    takeOver,
    async beginHandling(messageId) {
      const [row] = await query<{ takeovers: number }>('inbox-begin-handling', beginHandlingSql, [messageId]);
      return row?.takeovers ?? 1;
    },
    async endHandling(messageId) {
      await query('inbox-end-handling', endHandlingSql, [messageId]);
    },
    async renew(claims, until) {
      const values = [column(claims, 'conversationId'), column(claims, 'claimId'), until];
      const rows = await query<{ conversation_id: string }>('inbox-renew', renewSql, values);
      const held = new Set(column(rows, 'conversation_id'));
      return claims.filter(({ conversationId }) => held.has(conversationId));
    },
    async countWaiting() {
      const text = 'select count(*)::int as waiting from inbox where payload is not null';
      const [row] = await query<{ waiting: number }>('inbox-waiting', text, []);
      return row?.waiting ?? 0;
    },
  };
}

function entryColumns(entries: readonly InboxEntry[]): unknown[] {
  return [
    column(entries, 'messageId'),
    column(entries, 'conversationId'),
    column(entries, 'userId'),
    column(entries, 'payload'),
    column(entries, 'acceptedAt'),
  ];
}

/** The first new entry of a conversation starts the work there; what comes with it in the same list queues. */
function acceptResults(entries: readonly InboxEntry[], rows: readonly AcceptRow[]): readonly AcceptResult[] {
  const added = new Map(rows.map((row) => [row.message_id, row]));
  const first = new Map<string, number>();
  for (const { conversation_id: id, seq } of rows) first.set(id, Math.min(seq, first.get(id) ?? seq));
  return entries.map(({ messageId }) => {
    const row = added.get(messageId);
    if (row === undefined) return 'duplicate';
    added.delete(messageId);
    if (!row.held || first.get(row.conversation_id) !== row.seq) return 'queued';
    return row.behind ? 'behind' : 'claimed';
  });
}

function toAdvance(row: AdvanceRow | undefined): Advance {
  if (row === undefined || !row.held) return { kind: 'lost' };
  if (row.message_id !== null) return { kind: 'next', entry: toEntry(row) };
  return { kind: row.released ? 'released' : 'raced' };
}

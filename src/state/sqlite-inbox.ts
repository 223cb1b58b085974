import type Database from 'libsql';
import { z } from 'zod';
import type { AcceptResult, Advance, Finished, InboxEntry, InboxStore, Lease, Takeover } from './inbox-store.ts';
import { createOwner } from './owner.ts';
import type { InTransaction } from './sqlite-group.ts';

const Row = z.object({
  seq: z.number(),
  message_id: z.string(),
  conversation_id: z.string(),
  user_id: z.string(),
  payload: z.string(),
  accepted_at: z.number(),
});
const Held = z.object({ claim_id: z.string() }).optional();
const Added = z.object({ seq: z.number() }).optional();
const Count = z.object({ waiting: z.number() });
const Handlings = z.object({ takeovers: z.number() }).optional();
const Stranded = z.array(z.object({ conversation_id: z.string() }));

const toEntry = (row: z.infer<typeof Row>): InboxEntry => ({
  messageId: row.message_id,
  conversationId: row.conversation_id,
  userId: row.user_id,
  payload: row.payload,
  acceptedAt: row.accepted_at,
});

/** The statements are prepared once. */
function prepare(database: Database.Database) {
  return {
    dropExpired: database.prepare('delete from inbox where message_id = ? and payload is null and expires_at <= ?'),
    add: database.prepare(`
      insert into inbox (message_id, conversation_id, user_id, payload, accepted_at) values (?, ?, ?, ?, ?)
      on conflict (message_id) do nothing returning seq`),
    claim: database.prepare(`
      insert into claim (conversation_id, claim_id, owner, until, arrivals) values (?, ?, ?, ?, 0)
      on conflict (conversation_id) do update set
        claim_id = excluded.claim_id, owner = excluded.owner, until = excluded.until where until < ?
      returning claim_id`),
    head: database.prepare(
      'select * from inbox where conversation_id = ? and payload is not null order by seq limit 1',
    ),
    finish: database.prepare(
      'update inbox set payload = null, outcome = ?, expires_at = ? where message_id = ? and payload is not null',
    ),
    holder: database.prepare('select claim_id from claim where conversation_id = ?'),
    release: database.prepare('delete from claim where conversation_id = ? and claim_id = ?'),
    releaseIdle: database.prepare(`
      delete from claim where conversation_id = $1 and claim_id = $2
        and not exists (select 1 from inbox where conversation_id = $1 and payload is not null)`),
    renew: database.prepare('update claim set until = ? where conversation_id = ? and claim_id = ?'),
    stranded: database.prepare(`
      select conversation_id from inbox
      where payload is not null
        and not exists (select 1 from claim where claim.conversation_id = inbox.conversation_id and until >= ?)
      group by conversation_id order by min(seq) limit ?`),
    beginHandling: database.prepare(
      'update inbox set takeovers = takeovers + 1 where message_id = ? returning takeovers',
    ),
    endHandling: database.prepare('update inbox set takeovers = 0 where message_id = ?'),
    waiting: database.prepare('select count(*) as waiting from inbox where payload is not null'),
  };
}

type Statements = ReturnType<typeof prepare>;

function accept(run: Statements, entry: InboxEntry, lease: Lease): AcceptResult {
  const { messageId, conversationId, userId, payload, acceptedAt } = entry;
  const add = () => Added.parse(run.add.get(messageId, conversationId, userId, payload, acceptedAt));
  const isForgotten = () => run.dropExpired.run(messageId, lease.now).changes > 0;
  const added = add() ?? (isForgotten() ? add() : undefined);
  if (added === undefined) return 'duplicate';
  const taken = Held.parse(run.claim.get(conversationId, lease.claimId, lease.owner, lease.until, lease.now));
  if (taken === undefined) return 'queued';
  return Row.parse(run.head.get(conversationId)).seq < added.seq ? 'behind' : 'claimed';
}

function advance(run: Statements, { conversationId, claimId, done }: Finished): Advance {
  if (done !== undefined) run.finish.run(done.outcome, done.expiresAt, done.messageId);
  if (run.releaseIdle.run(conversationId, claimId).changes > 0) return { kind: 'released' };
  if (Held.parse(run.holder.get(conversationId))?.claim_id !== claimId) return { kind: 'lost' };
  return { kind: 'next', entry: toEntry(Row.parse(run.head.get(conversationId))) };
}

function takeOver(run: Statements, lease: Lease, limit: number): Takeover[] {
  const stranded = Stranded.parse(run.stranded.all(lease.now, limit));
  return stranded.map(({ conversation_id: conversationId }) => {
    run.claim.get(conversationId, lease.claimId, lease.owner, lease.until, lease.now);
    const head = Row.parse(run.head.get(conversationId));
    return { conversationId, claimId: lease.claimId, entry: toEntry(head) };
  });
}

export interface SqliteInboxOptions {
  readonly database: Database.Database;
  readonly now: () => number;
  /** Turns a driver's failure into `store-unavailable`. */
  readonly guard: <T>(operation: () => Promise<T>) => Promise<T>;
  readonly together: InTransaction;
}

/** The inbox in the tables of `migrations/`; a list is one transaction, or part of one. */
export function createSqliteInboxStore({ database, now, guard, together }: SqliteInboxOptions): InboxStore {
  const run = prepare(database);
  const inTransaction = <T>(operation: () => T): Promise<T> => guard(() => together(operation));

  return {
    now,
    owner: createOwner(),
    accept: (entries, lease) => inTransaction(() => entries.map((entry) => accept(run, entry, lease))),
    advance: (finished) => inTransaction(() => finished.map((one) => advance(run, one))),
    takeOver: (lease, limit) => inTransaction(() => takeOver(run, lease, limit)),
    beginHandling: (messageId) => guard(async () => Handlings.parse(run.beginHandling.get(messageId))?.takeovers ?? 1),
    endHandling: (messageId) => guard(async () => void run.endHandling.run(messageId)),
    renew: (claims, until) =>
      inTransaction(() =>
        claims.filter(({ conversationId, claimId }) => run.renew.run(until, conversationId, claimId).changes > 0),
      ),
    release: (claims) =>
      inTransaction(() => {
        for (const { conversationId, claimId } of claims) run.release.run(conversationId, claimId);
      }),
    countWaiting: () => guard(async () => Count.parse(run.waiting.get()).waiting),
  };
}

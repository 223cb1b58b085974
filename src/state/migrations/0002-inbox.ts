import { sql } from 'kysely';
import type { FlavouredMigration } from './index.ts';

/**
 * `payload` is null once the message is finished, and its row may go at `expires_at`. `claim.arrivals` counts what
 * arrived while the claim was held, so that giving it back cannot overlook a message. `inbox.takeovers` counts how often
 * a message that was taken over began to be handled and did not come to an end.
 */
export const inbox: FlavouredMigration = ({ autoIncrement }) => ({
  async up(db) {
    await sql`
      create table if not exists inbox (
        seq ${sql.raw(autoIncrement)},
        message_id text not null unique,
        conversation_id text not null,
        user_id text not null,
        payload text,
        accepted_at bigint not null,
        takeovers integer not null default 0,
        outcome text,
        expires_at bigint
      )`.execute(db);
    await sql`create index if not exists inbox_waiting on inbox (conversation_id, seq) where payload is not null`.execute(
      db,
    );
    await sql`create index if not exists inbox_expires_at on inbox (expires_at) where expires_at is not null`.execute(
      db,
    );
    await sql`create index if not exists inbox_user_id on inbox (user_id)`.execute(db);
    await sql`
      create table if not exists claim (
        conversation_id text primary key,
        claim_id text not null,
        owner text not null,
        until bigint not null,
        arrivals bigint not null
      )`.execute(db);
  },
});

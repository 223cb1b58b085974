import { sql } from 'kysely';
import type { FlavouredMigration } from './index.ts';

/**
 * `value` is JSON as text: PostgreSQL's jsonb would reorder keys and refuse U+0000. `version` is unique per write and
 * grows with time.
 */
export const entries: FlavouredMigration = ({ binaryText }) => ({
  async up(db) {
    await sql`
      create table if not exists entry (
        key ${sql.raw(binaryText)} primary key,
        value text not null,
        version bigint not null,
        expires_at bigint,
        user_id text
      )`.execute(db);
    await sql`create index if not exists entry_expires_at on entry (expires_at) where expires_at is not null`.execute(
      db,
    );
    await sql`create index if not exists entry_user_id on entry (user_id) where user_id is not null`.execute(db);
  },
});

import { type Kysely, sql } from 'kysely';
import type { StateStore, WriteOptions } from './state-store.ts';
import type { Tables } from './tables.ts';
import { createVersionClock } from './version-clock.ts';

export interface SqlStateStoreOptions {
  readonly database: Kysely<Tables>;
  readonly now: () => number;
  /** Runs one operation, turning a driver's failure into `store-unavailable`. */
  readonly guard: <T>(operation: () => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

const sweepBatch = 5_000;

/** The greatest code point: every key with the prefix sorts below `prefix + last`. */
const last = '\u{10FFFF}';

/** U+0000 cannot be stored by PostgreSQL, half a surrogate pair by none. */
const storable = (key: string): string => key.toWellFormed().replaceAll('\0', '\uFFFD');

/** `StateStore` over the tables of `migrations/`, on SQLite and PostgreSQL alike. */
export function createSqlStateStore({ database, now, guard, close }: SqlStateStoreOptions): StateStore {
  const nextVersion = createVersionClock(now);
  const row = (value: unknown, options: WriteOptions) => ({
    value: JSON.stringify(value) ?? 'null',
    version: nextVersion(),
    expires_at: options.expiresAt === undefined ? null : Math.floor(options.expiresAt),
    user_id: options.userId === undefined ? null : storable(options.userId),
  });
  const live = () => sql<boolean>`(expires_at is null or expires_at > ${now()})`;

  const insertIfAbsent = async (key: string, value: unknown, options: WriteOptions): Promise<number | undefined> => {
    const values = row(value, options);
    const written = await database
      .insertInto('entry')
      .values({ key: storable(key), ...values })
      .onConflict((conflict) => conflict.column('key').doUpdateSet(values).where('entry.expires_at', '<=', now()))
      .returning('version')
      .executeTakeFirst();
    return written?.version;
  };

  const replace = async (key: string, expected: number, values: ReturnType<typeof row>) => {
    const written = await database
      .updateTable('entry')
      .set(values)
      .where('key', '=', storable(key))
      .where('version', '=', expected)
      .where(live())
      .returning('version')
      .executeTakeFirst();
    return written?.version;
  };

  return {
    get: (key) =>
      guard(async () => {
        const query = database.selectFrom('entry').select(['value', 'version']).where('key', '=', storable(key));
        const found = await query.where(live()).executeTakeFirst();
        return found === undefined ? undefined : { value: JSON.parse(found.value), version: found.version };
      }),
    compareAndSet: (key, expected, value, options = {}) =>
      guard(() => (expected === 0 ? insertIfAbsent(key, value, options) : replace(key, expected, row(value, options)))),
    setIfAbsent: (key, value, options = {}) =>
      guard(async () => (await insertIfAbsent(key, value, options)) !== undefined),
    set: (key, value, options = {}) =>
      guard(async () => {
        const values = row(value, options);
        const insert = database.insertInto('entry').values({ key: storable(key), ...values });
        await insert.onConflict((conflict) => conflict.column('key').doUpdateSet(values)).execute();
      }),
    delete: (key) =>
      guard(async () => {
        await database.deleteFrom('entry').where('key', '=', storable(key)).execute();
      }),
    list: (prefix, limit) =>
      guard(async () => {
        const first = storable(prefix);
        const query = database.selectFrom('entry').select(['key', 'value']).where('key', '>=', first);
        const within = query.where('key', '<', first + last).where(live());
        const found = await within.orderBy('version', 'desc').limit(limit).execute();
        return found.map(({ key, value }) => ({ key, value: JSON.parse(value) }));
      }),
    sweep: (at) => guard(() => sweep(database, at)),
    ping: () =>
      guard(async () => {
        await sql`select 1`.execute(database);
      }),
    close,
  };
}

/** In batches, so that a large backlog holds no lock for long. */
async function sweep(database: Kysely<Tables>, at: number): Promise<number> {
  let removed = 0;
  for (let batch = sweepBatch; batch === sweepBatch; removed += batch) {
    const expired = database.selectFrom('entry').select('key').where('expires_at', '<=', at).limit(sweepBatch);
    const gone = await database
      .deleteFrom('entry')
      .where('key', 'in', expired)
      .where('expires_at', '<=', at)
      .executeTakeFirst();
    batch = Number(gone.numDeletedRows);
  }
  for (let batch = sweepBatch; batch === sweepBatch; removed += batch) {
    const finished = database.selectFrom('inbox').select('seq').where('expires_at', '<=', at).limit(sweepBatch);
    const gone = await database.deleteFrom('inbox').where('seq', 'in', finished).executeTakeFirst();
    batch = Number(gone.numDeletedRows);
  }
  await sql`
    delete from claim where until < ${at}
      and not exists (select 1 from inbox where inbox.conversation_id = claim.conversation_id and payload is not null)
  `.execute(database);
  return removed;
}

/** Removes state and messages of one person: an `IncomingMessage.userId`, or its last part. Returns how many rows. */
export async function forgetUser(database: Kysely<Tables>, user: string): Promise<number> {
  const suffix = `:${storable(user)}`;
  const about = sql<boolean>`(user_id = ${storable(user)}
    or substr(user_id, length(user_id) - ${[...suffix].length - 1}) = ${suffix})`;
  const entries = await database.deleteFrom('entry').where(about).executeTakeFirst();
  const messages = await database.deleteFrom('inbox').where(about).executeTakeFirst();
  return Number(entries.numDeletedRows) + Number(messages.numDeletedRows);
}

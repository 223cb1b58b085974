import { z } from 'zod';
import type { StateStore, WriteOptions } from './state-store.ts';
import { createVersionClock } from './version-clock.ts';

export type SqlValue = string | number | null;

/**
 * Runs one statement, prepared once for each text. Parameters are written `$1`, `$2` … as PostgreSQL has them; SQLite
 * numbers them by first use, so each text must first use them in that order.
 */
export interface SqlRunner {
  get(text: string, values: readonly SqlValue[]): Promise<unknown>;
  all(text: string, values: readonly SqlValue[]): Promise<readonly unknown[]>;
  /** The row that a writing statement returns. */
  write(text: string, values: readonly SqlValue[]): Promise<unknown>;
  /** How many rows were written or removed. */
  change(text: string, values: readonly SqlValue[]): Promise<number>;
}

export interface SqlStateStoreOptions {
  readonly sql: SqlRunner;
  readonly now: () => number;
  /** Runs one operation, turning a driver's failure into `store-unavailable`. */
  readonly guard: <T>(operation: () => Promise<T>) => Promise<T>;
  readonly close: () => Promise<void>;
}

const select = `
  select value, version from entry where key = $1 and (expires_at is null or expires_at > $2)`;
const insert = `
  insert into entry (key, value, version, expires_at, user_id) values ($1, $2, $3, $4, $5)
  on conflict (key) do update set value = excluded.value, version = excluded.version,
    expires_at = excluded.expires_at, user_id = excluded.user_id`;
const insertIfAbsent = `${insert} where entry.expires_at <= $6 returning version`;
const replace = `
  update entry set value = $1, version = $2, expires_at = $3, user_id = $4
  where key = $5 and version = $6 and (expires_at is null or expires_at > $7) returning version`;
const listed = `
  select key, value from entry where key >= $1 and key < $2 and (expires_at is null or expires_at > $3)
  order by version desc limit $4`;
const sweepEntries = `
  delete from entry where key in (select key from entry where expires_at <= $1 limit $2) and expires_at <= $1`;
const sweepInbox = `
  delete from inbox where seq in (select seq from inbox where expires_at <= $1 limit $2)`;
const sweepClaims = `
  delete from claim where until < $1
    and not exists (select 1 from inbox where inbox.conversation_id = claim.conversation_id and payload is not null)`;
const aboutUser = '(user_id = $1 or substr(user_id, length(user_id) - $2) = $3)';

const Found = z.object({ value: z.string(), version: z.number() }).optional();
const Written = z.object({ version: z.number() }).optional();
const Listed = z.array(z.object({ key: z.string(), value: z.string() }));

const sweepBatch = 5_000;

/** The greatest code point: every key with the prefix sorts below `prefix + last`. */
const last = '\u{10FFFF}';

/** U+0000 cannot be stored by PostgreSQL, half a surrogate pair by none. */
const storable = (key: string): string => key.toWellFormed().replaceAll('\0', '\uFFFD');

/** `StateStore` over the tables of `migrations/`, on SQLite and PostgreSQL alike. */
export function createSqlStateStore({ sql, now, guard, close }: SqlStateStoreOptions): StateStore {
  const nextVersion = createVersionClock(now);
  const row = (value: unknown, { expiresAt, userId }: WriteOptions) =>
    [
      JSON.stringify(value) ?? 'null',
      nextVersion(),
      expiresAt === undefined ? null : Math.floor(expiresAt),
      userId === undefined ? null : storable(userId),
    ] as const;
  const add = async (key: string, value: unknown, options: WriteOptions): Promise<number | undefined> => {
    const values = [storable(key), ...row(value, options), now()];
    return Written.parse(await sql.write(insertIfAbsent, values))?.version;
  };

  return {
    get: (key) =>
      guard(async () => {
        const found = Found.parse(await sql.get(select, [storable(key), now()]));
        return found === undefined ? undefined : { value: JSON.parse(found.value), version: found.version };
      }),
    compareAndSet: (key, expected, value, options = {}) =>
      guard(async () => {
        if (expected === 0) return add(key, value, options);
        const values = [...row(value, options), storable(key), expected, now()];
        return Written.parse(await sql.write(replace, values))?.version;
      }),
    setIfAbsent: (key, value, options = {}) => guard(async () => (await add(key, value, options)) !== undefined),
    set: (key, value, options = {}) =>
      guard(async () => {
        await sql.change(insert, [storable(key), ...row(value, options)]);
      }),
    delete: (key) =>
      guard(async () => {
        await sql.change('delete from entry where key = $1', [storable(key)]);
      }),
    list: (prefix, limit) =>
      guard(async () => {
        const first = storable(prefix);
        const found = Listed.parse(await sql.all(listed, [first, first + last, now(), limit]));
        return found.map(({ key, value }) => ({ key, value: JSON.parse(value) }));
      }),
    sweep: (at) => guard(() => sweep(sql, at)),
    ping: () =>
      guard(async () => {
        await sql.get('select 1', []);
      }),
    close,
  };
}

/** In batches, so that a large backlog holds no lock for long. */
async function sweep(sql: SqlRunner, at: number): Promise<number> {
  let removed = 0;
  for (const text of [sweepEntries, sweepInbox]) {
    for (let batch = sweepBatch; batch === sweepBatch; removed += batch) {
      batch = await sql.change(text, [at, sweepBatch]);
    }
  }
  await sql.change(sweepClaims, [at]);
  return removed;
}

/** Removes state and messages of one person: an `IncomingMessage.userId`, or its last part. Returns how many rows. */
export async function forgetUser(sql: SqlRunner, user: string): Promise<number> {
  const suffix = `:${storable(user)}`;
  const values = [storable(user), [...suffix].length - 1, suffix];
  const entries = await sql.change(`delete from entry where ${aboutUser}`, values);
  return entries + (await sql.change(`delete from inbox where ${aboutUser}`, values));
}

import { Kysely, PostgresDialect, sql } from 'kysely';
import pg from 'pg';
import { AppError } from '../errors.ts';
import { migrate } from './migrate.ts';
import { createPostgresInboxStore } from './postgres-inbox.ts';
import { createSqlStateStore, forgetUser, type SqlRunner, type SqlValue } from './sql.ts';
import { createSteadyClock } from './steady-clock.ts';
import type { OpenOptions, Store } from './store.ts';
import { asStoreError } from './store-error.ts';

const poolSize = 8;
const connectMs = 5_000;
const statementMs = 10_000;
/**
 * Deadlock and serialisation failure: the server undid the statement and asks to repeat it. The third: somebody else's
 * schema was dropped while the migrator looked through the tables of all of them.
 */
const repeatable = new Set(['40P01', '40001', '3F000']);
const maximumRepeats = 3;
const clockReadMs = 60_000;
const clockStepMs = 200;

/** `int8` as a number: times and versions stay below 2^53. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 ? Number : pg.types.getTypeParser(oid, format === 'binary' ? 'binary' : 'text'),
};

/**
 * A server for several replicas. `?schema=NAME` in the address keeps the tables in that schema.
 * @throws AppError `store-unavailable`, never with the address, which holds the password.
 */
export async function openPostgresStore(address: string, options: OpenOptions): Promise<Store> {
  const { connectionString, schema, host } = parseAddress(address);
  const where = `PostgreSQL at ${host}`;
  const pool = new pg.Pool({
    connectionString,
    max: poolSize,
    connectionTimeoutMillis: connectMs,
    statement_timeout: statementMs,
    keepAlive: true,
    application_name: 'gpu-size',
    types,
    ...(schema === undefined ? {} : { options: `-c search_path=${schema}` }),
  });
  // A connection that breaks, idle or in use, is replaced on the next use; without listeners it would end the process.
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  const guard = createGuard(where);
  const database = new Kysely<unknown>({ dialect: new PostgresDialect({ pool }) });
  let clock: { now: () => number; stop: () => void };
  try {
    await guard(() => prepareTables(database, schema));
    clock = await startServerClock(pool);
  } catch (error) {
    await database.destroy().catch(() => undefined);
    throw asStoreError(error, where);
  }
  const now = options.now ?? clock.now;
  const close = async (): Promise<void> => {
    clock.stop();
    await database.destroy();
  };
  const runner = createRunner(pool);
  const state = createSqlStateStore({ sql: runner, now, guard, close: () => guard(close) });
  return {
    ...state,
    inbox: createPostgresInboxStore({ pool, now, guard }),
    forget: (user) => guard(() => forgetUser(runner, user)),
  };
}

/** The server prepares each text once for each connection, under a name that the text itself gives. */
function createRunner(pool: pg.Pool): SqlRunner {
  const names = new Map<string, string>();
  const query = (text: string, values: readonly SqlValue[]) => {
    const name = names.get(text) ?? `state-${names.size}`;
    names.set(text, name);
    return pool.query<object>({ name, text, values: [...values] });
  };
  const first = async (text: string, values: readonly SqlValue[]) => (await query(text, values)).rows[0];
  return {
    get: first,
    write: first,
    all: async (text, values) => (await query(text, values)).rows,
    change: async (text, values) => (await query(text, values)).rowCount ?? 0,
  };
}

async function prepareTables(database: Kysely<unknown>, schema: string | undefined): Promise<void> {
  if (schema !== undefined) {
    const name = sql.id(schema);
    // Two replicas that start at once would both find it missing.
    await database.transaction().execute(async (transaction) => {
      await sql`select pg_advisory_xact_lock(hashtext('gpu-size schema'))`.execute(transaction);
      await sql`create schema if not exists ${name}`.execute(transaction);
    });
  }
  const found = await sql<{ name: string | null }>`select current_schema() as name`.execute(database);
  const flavour = { binaryText: 'text collate "C"', autoIncrement: 'bigserial primary key' } as const;
  await migrate(database, flavour, found.rows[0]?.name ?? undefined);
}

/** All replicas measure leases on the server's clock; corrected gently, as quartz drifts by seconds a day. */
async function startServerClock(pool: pg.Pool): Promise<{ now: () => number; stop: () => void }> {
  const read = async (): Promise<number> => {
    const text = 'select (extract(epoch from clock_timestamp()) * 1000)::bigint as now';
    return (await pool.query<{ now: number }>(text)).rows[0]?.now ?? Date.now();
  };
  const clock = createSteadyClock(await read());
  const correct = (): void => {
    read().then(
      (better) => clock.correct(better, clockStepMs),
      () => undefined,
    );
  };
  const timer = setInterval(correct, clockReadMs).unref();
  return { now: clock.now, stop: () => clearInterval(timer) };
}

function parseAddress(address: string) {
  if (!URL.canParse(address)) throw new AppError('invalid-config', 'DATABASE_URL is no valid address');
  const url = new URL(address);
  const schema = url.searchParams.get('schema') ?? undefined;
  if (schema !== undefined && !/^[a-z_][a-z0-9_]{0,62}$/.test(schema)) {
    throw new AppError('invalid-config', 'DATABASE_URL: schema must be a lower-case name');
  }
  url.searchParams.delete('schema');
  return { connectionString: url.toString(), schema, host: url.host === '' ? 'the local socket' : url.host };
}

function createGuard(where: string) {
  return async <T>(operation: () => Promise<T>): Promise<T> => {
    for (let repeats = 0; ; repeats += 1) {
      try {
        return await operation();
      } catch (error) {
        const code = error instanceof pg.DatabaseError ? (error.code ?? '') : '';
        if (!repeatable.has(code) || repeats >= maximumRepeats) throw asStoreError(error, where);
      }
    }
  };
}

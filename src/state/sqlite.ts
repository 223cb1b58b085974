import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Kysely, SqliteDialect } from 'kysely';
import Database from 'libsql';
import { z } from 'zod';
import { migrate } from './migrate.ts';
import { isGone } from './owner.ts';
import { createSqlStateStore, forgetUser, type SqlRunner } from './sql.ts';
import { createGroups, type InTransaction } from './sqlite-group.ts';
import { createSqliteInboxStore } from './sqlite-inbox.ts';
import { createSteadyClock } from './steady-clock.ts';
import type { OpenOptions, Store } from './store.ts';
import { asStoreError } from './store-error.ts';

/** How long a statement waits for another process (a report, a forget) to finish its own. */
const busyTimeoutMs = 5_000;
/** Pages of 4 KiB in the log before it is written into the file: pages that change all the time go there less often. */
const checkpointPages = 4_000;

/**
 * One file for one process. Write-ahead log with `synchronous = normal`: a killed process loses nothing; a power cut may
 * lose the last moments (set `full` in the file for more, at the price of a disk flush for each write).
 * @throws AppError `store-unavailable` that says what is wrong with the file.
 */
export async function openSqliteStore(path: string, options: OpenOptions): Promise<Store> {
  const now = options.now ?? createSteadyClock(Date.now()).now;
  const where = `SQLite ${path}`;
  try {
    const file = resolve(path);
    makeFolder(dirname(file));
    const raw = new Database(file);
    return await openOn(raw, { where, now });
  } catch (error) {
    throw asStoreError(error, where);
  }
}

/** Not `recursive: true`: that never ends where the system refuses with ENOENT, as below /proc (Node 20.20). */
function makeFolder(folder: string): void {
  if (existsSync(folder)) return;
  makeFolder(dirname(folder));
  mkdirSync(folder);
}

async function openOn(raw: Database.Database, { where, now }: { where: string; now: () => number }): Promise<Store> {
  const guard = async <T>(operation: () => Promise<T>): Promise<T> => {
    try {
      return await operation();
    } catch (error) {
      throw asStoreError(error, where);
    }
  };
  try {
    raw.exec(`pragma busy_timeout = ${busyTimeoutMs}`);
    raw.exec('pragma journal_mode = wal');
    raw.exec('pragma synchronous = normal');
    raw.exec(`pragma wal_autocheckpoint = ${checkpointPages}`);
    await upgrade(new Kysely({ dialect: new SqliteDialect({ database: raw }) }));
    dropClaimsOfEndedProcesses(raw);
    const close = async (): Promise<void> => {
      // Leaves everything in the one file, ready to be copied.
      raw.exec('pragma wal_checkpoint(truncate)');
      raw.close();
    };
    const together = createGroups(raw);
    const sql = createRunner(raw, together);
    const state = createSqlStateStore({ sql, now, guard, close: () => guard(close) });
    return {
      ...state,
      inbox: createSqliteInboxStore({ database: raw, now, guard, together }),
      forget: (user) => guard(() => forgetUser(sql, user)),
    };
  } catch (error) {
    raw.close();
    throw error;
  }
}

/** The statements are few; each is prepared when it is first used. */
function createRunner(raw: Database.Database, together: InTransaction): SqlRunner {
  const statements = new Map<string, Database.Statement<unknown[]>>();
  const prepared = (text: string): Database.Statement<unknown[]> => {
    const statement = statements.get(text) ?? raw.prepare(text);
    statements.set(text, statement);
    return statement;
  };
  return {
    get: async (text, values) => prepared(text).get(...values),
    all: async (text, values) => prepared(text).all(...values),
    write: (text, values) => together(() => prepared(text).get(...values)),
    change: (text, values) => together(() => prepared(text).run(...values).changes),
  };
}

/** SQLite's migrator takes no lock: when another process was faster, a second look finds its work done. */
async function upgrade(database: Kysely<unknown>): Promise<void> {
  const flavour = { binaryText: 'text', autoIncrement: 'integer primary key autoincrement' } as const;
  try {
    await migrate(database, flavour);
  } catch {
    await migrate(database, flavour);
  }
}

const Owners = z.array(z.object({ owner: z.string() }));

/** After a crash the next start goes on at once instead of waiting for the leases to run out. */
function dropClaimsOfEndedProcesses(raw: Database.Database): void {
  const owners = Owners.parse(raw.prepare('select distinct owner from claim').all());
  const drop = raw.prepare('delete from claim where owner = ?');
  for (const { owner } of owners) if (isGone(owner)) drop.run(owner);
}

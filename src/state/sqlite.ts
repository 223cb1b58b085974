import { existsSync, mkdirSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { Kysely, SqliteDialect } from 'kysely';
import Database from 'libsql';
import { z } from 'zod';
import { migrate } from './migrate.ts';
import { isGone } from './owner.ts';
import { createSqlStateStore, forgetUser } from './sql.ts';
import { createSqliteInboxStore } from './sqlite-inbox.ts';
import type { OpenOptions, Store } from './store.ts';
import { asStoreError } from './store-error.ts';
import type { Tables } from './tables.ts';

/** How long a statement waits for another process (a report, a forget) to finish its own. */
const busyTimeoutMs = 5_000;

/**
 * One file for one process. Write-ahead log with `synchronous = normal`: a killed process loses nothing; a power cut may
 * lose the last moments (set `full` in the file for more, at the price of a disk flush for each write).
 * @throws AppError `store-unavailable` that says what is wrong with the file.
 */
export async function openSqliteStore(path: string, { now }: OpenOptions): Promise<Store> {
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
    const database = new Kysely<Tables>({ dialect: new SqliteDialect({ database: raw }) });
    await migrate(database, { binaryText: 'text', autoIncrement: 'integer primary key autoincrement' });
    dropClaimsOfEndedProcesses(raw);
    const close = async (): Promise<void> => {
      // Leaves everything in the one file, ready to be copied.
      raw.exec('pragma wal_checkpoint(truncate)');
      await database.destroy();
    };
    const state = createSqlStateStore({ database, now, guard, close: () => guard(close) });
    return {
      ...state,
      inbox: createSqliteInboxStore({ database: raw, guard }),
      forget: (user) => guard(() => forgetUser(database, user)),
    };
  } catch (error) {
    raw.close();
    throw error;
  }
}

const Owners = z.array(z.object({ owner: z.string() }));

/** After a crash the next start goes on at once instead of waiting for the leases to run out. */
function dropClaimsOfEndedProcesses(raw: Database.Database): void {
  const owners = Owners.parse(raw.prepare('select distinct owner from claim').all());
  const drop = raw.prepare('delete from claim where owner = ?');
  for (const { owner } of owners) if (isGone(owner)) drop.run(owner);
}

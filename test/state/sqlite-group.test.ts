import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import Database from 'libsql';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { createGroups, type InTransaction } from '../../src/state/sqlite-group.ts';

let folder: string;
let database: Database.Database;
let other: Database.Database;
let together: InTransaction;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'gpu-size-group-'));
  database = new Database(join(folder, 'a.db'));
  database.exec('pragma journal_mode = wal');
  database.exec('create table item (name text primary key)');
  other = new Database(join(folder, 'a.db'));
  other.exec('pragma busy_timeout = 1');
  together = createGroups(database);
});
afterEach(() => {
  database.close();
  other.close();
  rmSync(folder, { recursive: true, force: true });
});

const add = (name: string): number => database.prepare('insert into item values (?)').run(name).changes;
const seenByOthers = () => other.prepare('select name from item order by rowid').all();

test('work of one turn is done in order, and each piece gets its own result once others see it', async () => {
  const numbers = [1, 2, 3];
  const results = await Promise.all(numbers.map((number) => together(() => number * 10 + add(`n${number}`))));
  expect(results).toEqual([11, 21, 31]);
  expect(seenByOthers()).toMatchObject([{ name: 'n1' }, { name: 'n2' }, { name: 'n3' }]);
});

test('a piece that fails leaves nothing behind and does not harm its neighbours', async () => {
  const bad = (): never => {
    add('half done');
    throw new Error('bad');
  };
  const results = await Promise.allSettled([together(() => add('one')), together(bad), together(() => add('two'))]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(seenByOthers()).toMatchObject([{ name: 'one' }, { name: 'two' }]);
  expect(await together(() => add('later'))).toBe(1);
});

test('a file that another process keeps locked fails the work and is tried anew by the next', async () => {
  database.exec('pragma busy_timeout = 1');
  other.exec('begin immediate');
  await expect(together(() => add('early'))).rejects.toMatchObject({ code: 'SQLITE_BUSY' });
  other.exec('rollback');
  expect(await together(() => add('late'))).toBe(1);
  expect(seenByOthers()).toMatchObject([{ name: 'late' }]);
});

import type { Migration, MigrationProvider } from 'kysely';
import { entries } from './0001-entries.ts';
import { inbox } from './0002-inbox.ts';

/** What differs between the servers; everything else is one text. */
export interface Flavour {
  /** Text that compares byte by byte, as prefix search needs. */
  readonly binaryText: 'text' | 'text collate "C"';
  readonly autoIncrement: 'integer primary key autoincrement' | 'bigserial primary key';
}

export type FlavouredMigration = (flavour: Flavour) => Migration;

/**
 * In order, repeatable (SQLite commits no migration as a whole), and never edited once released: files made by each version are upgraded in `test/state/upgrade.test.ts`.
 */
const history: Readonly<Record<string, FlavouredMigration>> = { '0001-entries': entries, '0002-inbox': inbox };

export function createMigrationProvider(flavour: Flavour): MigrationProvider {
  const migrations = Object.fromEntries(Object.entries(history).map(([name, make]) => [name, make(flavour)]));
  return { getMigrations: async () => migrations };
}

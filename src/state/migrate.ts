import { type Kysely, Migrator } from 'kysely';
import { AppError } from '../errors.ts';
import { createMigrationProvider, type Flavour } from './migrations/index.ts';

/**
 * Brings the tables up to date; several replicas may start at once. Refuses tables of a newer version than this one.
 * `schema`: where the server keeps them, as tables of the same name elsewhere must not be taken for ours.
 */
export async function migrate(database: Kysely<unknown>, flavour: Flavour, schema?: string): Promise<void> {
  const migrator = new Migrator({
    db: database,
    provider: createMigrationProvider(flavour),
    ...(schema === undefined ? {} : { migrationTableSchema: schema }),
  });
  const { error, results } = await migrator.migrateToLatest();
  if (error === undefined) return;
  const message = error instanceof Error ? error.message : '';
  if (/previously executed migration .* is missing/.test(message)) {
    throw new AppError('store-unavailable', 'the database was written by a newer version of gpu-size; start that one', {
      cause: error,
    });
  }
  const failed = results?.find((result) => result.status === 'Error');
  if (failed === undefined) throw error;
  throw new AppError('store-unavailable', `the database could not be upgraded (${failed.migrationName})`, {
    cause: error,
  });
}

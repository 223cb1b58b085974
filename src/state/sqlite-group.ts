import type Database from 'libsql';

/** Runs a piece of synchronous work in a transaction; resolves once it is committed. */
export type InTransaction = <T>(work: () => T) => Promise<T>;

interface Waiting {
  /** Does the work; what is returned hands out the result. */
  readonly run: () => () => void;
  readonly reject: (error: unknown) => void;
}

/**
 * Work that comes in one turn of the event loop shares a transaction: a commit costs more than most of what is in it.
 * When the transaction fails, each piece is tried alone, so that nobody pays for another's failure.
 */
export function createGroups(database: Database.Database): InTransaction {
  const begin = database.prepare('begin immediate');
  const commit = database.prepare('commit');
  const waiting: Waiting[] = [];

  const perform = (group: readonly Waiting[]): void => {
    try {
      begin.run();
      const answers = group.map(({ run }) => run());
      commit.run();
      for (const answer of answers) answer();
    } catch (error) {
      if (database.inTransaction) database.exec('rollback');
      const [first, ...others] = group;
      if (others.length === 0) first?.reject(error);
      else for (const alone of group) perform([alone]);
    }
  };

  return <T>(work: () => T): Promise<T> =>
    new Promise((resolve, reject) => {
      const run = () => {
        const result = work();
        return () => resolve(result);
      };
      waiting.push({ run, reject });
      if (waiting.length === 1) setImmediate(() => perform(waiting.splice(0)));
    });
}

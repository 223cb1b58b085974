import { AppError } from '../errors.ts';

/** What went wrong, by the backend's code, and what an operator does about it. */
const advice: readonly (readonly [RegExp, string])[] = [
  [/^SQLITE_(NOTADB|CORRUPT)/, 'the database file is damaged or is no SQLite file; move it away or restore a backup'],
  [/^SQLITE_FULL|^ENOSPC|^53100/, 'the disk is full; free some space'],
  [/^SQLITE_READONLY|^EROFS|^EACCES|^EPERM/, 'the database file or its folder cannot be written; check owner and mode'],
  [/^SQLITE_CANTOPEN|^ENOENT|^ENOTDIR|^EISDIR/, 'the database file cannot be opened; check the path'],
  [/^SQLITE_(BUSY|LOCKED)/, 'another process keeps the database locked'],
  [/^SQLITE_IOERR|^EIO/, 'the disk reports errors'],
  [/^28/, 'the database refuses the user or password in DATABASE_URL'],
  [/^3D000/, 'the database named in DATABASE_URL does not exist'],
  [
    /^57P0|^53300|^08|^ECONN|^EPIPE|^ETIMEDOUT|^EHOSTUNREACH|^ENOTFOUND|^EAI_AGAIN/,
    'the database server cannot be reached',
  ],
];

/** Wraps a driver's failure; the message names neither values nor credentials. */
export function asStoreError(cause: unknown, where: string): AppError {
  if (cause instanceof AppError) return cause;
  const code = codeOf(cause);
  const what = advice.find(([pattern]) => pattern.test(code))?.[1] ?? 'the database did not answer as it should';
  const details = { backend: where, ...(code === '' ? {} : { code }) };
  return new AppError('store-unavailable', `${where}: ${what}${code === '' ? '' : ` (${code})`}`, { cause, details });
}

function codeOf(cause: unknown): string {
  if (typeof cause !== 'object' || cause === null) return '';
  const code = 'code' in cause && typeof cause.code === 'string' ? cause.code : '';
  // libsql reports failures of opening without a code.
  if (cause instanceof Error && /file is not a database/.test(cause.message)) return 'SQLITE_NOTADB';
  if (cause instanceof Error && /Unable to open connection to local database .*: 14/.test(cause.message)) {
    return 'SQLITE_CANTOPEN';
  }
  if (cause instanceof Error && /timeout exceeded when trying to connect|Connection terminated/.test(cause.message)) {
    return code === '' ? 'ETIMEDOUT' : code;
  }
  return code;
}

import { AppError } from '../errors.ts';
import type { OpenOptions, Store } from './store.ts';

type Open = (address: string, options: OpenOptions) => Promise<Store>;

/** Backends by the scheme of their address, each loaded when it is asked for. */
const backends: Readonly<Record<string, Open>> = {
  memory: async (_address, options) => (await import('./memory-store.ts')).openMemoryStore(options),
  sqlite: async (address, options) => (await import('./sqlite.ts')).openSqliteStore(pathOf(address), options),
  postgres: async (address, options) => (await import('./postgres.ts')).openPostgresStore(address, options),
  postgresql: async (address, options) => (await import('./postgres.ts')).openPostgresStore(address, options),
};

function pathOf(address: string): string {
  const path = address.slice('sqlite:'.length);
  if (path === '')
    throw new AppError('invalid-config', 'DATABASE_URL: `sqlite:` needs a path, as in sqlite:data/gpu-size.db');
  return path.startsWith('//') ? path.slice(2) : path;
}

/**
 * Opens `memory:`, `sqlite:PATH` or `postgres://…`, with its tables brought up to date.
 * @throws AppError `invalid-config` for another address, `store-unavailable` when the backend does not answer.
 */
export async function openStateStore(address: string, options: OpenOptions = {}): Promise<Store> {
  const scheme = /^([a-z]+):/.exec(address)?.[1] ?? '';
  const open = backends[scheme];
  if (open === undefined) {
    throw new AppError('invalid-config', 'DATABASE_URL must be memory:, sqlite:PATH or postgres://USER@HOST/DATABASE');
  }
  return open(address, options);
}

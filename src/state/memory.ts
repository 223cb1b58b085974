import type { StateStore, WriteOptions } from './state-store.ts';
import { createVersionClock } from './version-clock.ts';

interface Entry {
  readonly text: string;
  readonly version: number;
  readonly expiresAt: number | undefined;
  readonly userId: string | undefined;
}

export interface MemoryStateStore extends StateStore {
  /** Removes what is about the people that `matches` tells; returns how many entries. */
  forget(matches: (userId: string) => boolean): number;
}

/** State of one process, gone with it. Beyond `maximumEntries` the least recently written go first. */
export function createMemoryStateStore(now: () => number, maximumEntries = 200_000): MemoryStateStore {
  const entries = new Map<string, Entry>();
  const nextVersion = createVersionClock(now);

  const read = (key: string): Entry | undefined => {
    const entry = entries.get(key);
    if (entry?.expiresAt !== undefined && entry.expiresAt <= now()) return undefined;
    return entry;
  };
  const write = (key: string, value: unknown, options: WriteOptions): number => {
    const text = JSON.stringify(value) ?? 'null';
    const entry = { text, version: nextVersion(), expiresAt: options.expiresAt, userId: options.userId };
    entries.delete(key);
    entries.set(key, entry);
    const eldest = entries.size > maximumEntries ? entries.keys().next() : undefined;
    if (eldest?.done === false) entries.delete(eldest.value);
    return entry.version;
  };
  const removeWhere = (bad: (entry: Entry) => boolean): number => {
    const doomed = [...entries].filter(([, entry]) => bad(entry));
    for (const [key] of doomed) entries.delete(key);
    return doomed.length;
  };

  return {
    async get(key) {
      const entry = read(key);
      return entry === undefined ? undefined : { value: JSON.parse(entry.text), version: entry.version };
    },
    async compareAndSet(key, expected, value, options = {}) {
      return (read(key)?.version ?? 0) === expected ? write(key, value, options) : undefined;
    },
    async setIfAbsent(key, value, options = {}) {
      if (read(key) !== undefined) return false;
      write(key, value, options);
      return true;
    },
    async set(key, value, options = {}) {
      write(key, value, options);
    },
    async delete(key) {
      entries.delete(key);
    },
    async list(prefix, limit) {
      return [...entries.keys()]
        .filter((key) => key.startsWith(prefix) && read(key) !== undefined)
        .map((key) => ({ key, entry: entries.get(key) }))
        .sort((a, b) => (b.entry?.version ?? 0) - (a.entry?.version ?? 0))
        .slice(0, limit)
        .map(({ key, entry }) => ({ key, value: JSON.parse(entry?.text ?? 'null') }));
    },
    sweep: async (at) => removeWhere((entry) => entry.expiresAt !== undefined && entry.expiresAt <= at),
    ping: async () => undefined,
    close: async () => entries.clear(),
    forget: (matches) => removeWhere((entry) => entry.userId !== undefined && matches(entry.userId)),
  };
}

import type { z } from 'zod';
import type { AdapterContext } from './adapter.ts';

interface ShelfOptions<T> {
  /** Before every key: `slack/thread`. */
  readonly name: string;
  /** What an entry must be to count as one. */
  readonly shape: z.ZodType<T>;
  /** How long an entry stays; for good without it. */
  readonly lifeMs?: number;
}

/** An adapter's own entries of one kind in the state store. @throws AppError `store-unavailable` from every method. */
export interface Shelf<T> {
  find(key: string): Promise<T | undefined>;
  /** `userId`: whose entry it is, for `gpu-size forget`. */
  put(key: string, value: T, userId?: string): Promise<void>;
  drop(key: string): Promise<void>;
  /** The newest 1,000 whose key starts so; the others expire. */
  dropAll(prefix: string): Promise<void>;
}

const droppedAtOnce = 1_000;

export function createShelf<T>(
  { store, now }: Pick<AdapterContext, 'store' | 'now'>,
  { name, shape, lifeMs }: ShelfOptions<T>,
): Shelf<T> {
  return {
    async find(key) {
      return shape.safeParse((await store.get(`${name}/${key}`))?.value).data;
    },
    async put(key, value, userId) {
      const expires = lifeMs === undefined ? {} : { expiresAt: now() + lifeMs };
      await store.set(`${name}/${key}`, value, { ...expires, ...(userId === undefined ? {} : { userId }) });
    },
    drop: (key) => store.delete(`${name}/${key}`),
    async dropAll(prefix) {
      const entries = await store.list(`${name}/${prefix}`, droppedAtOnce);
      await Promise.all(entries.map(({ key }) => store.delete(key)));
    },
  };
}

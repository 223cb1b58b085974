/** What an answer is and for how long it holds. */
export interface Remembered<T> {
  readonly value: T;
  readonly lifeMs: number;
}

/** Answers by key while they hold: each is asked for once at a time, a failed one not kept, and all forgotten when they are too many. */
export function createMemory<T>(now: () => number, maximum = 10_000) {
  const kept = new Map<string, { readonly value: Promise<T>; until: number }>();
  return {
    get(key: string, ask: () => Promise<Remembered<T>>): Promise<T> {
      const known = kept.get(key);
      if (known !== undefined && known.until > now()) return known.value;
      if (kept.size >= maximum) kept.clear();
      const asked = ask();
      const entry = { value: asked.then(({ value }) => value), until: Number.POSITIVE_INFINITY };
      kept.set(key, entry);
      asked.then(
        ({ lifeMs }) => {
          entry.until = now() + lifeMs;
        },
        () => {
          entry.until = 0;
        },
      );
      return entry.value;
    },
    drop: (key: string): void => void kept.delete(key),
  };
}

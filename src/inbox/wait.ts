const maximumMs = 30_000;

export interface WaitOptions {
  readonly firstMs: number;
  readonly signal: AbortSignal;
}

/** Waits before the next try, twice as long each time, with jitter; false when the wait was cut short by the end. */
export function createWait({ firstMs, signal }: WaitOptions): (attempt: number) => Promise<boolean> {
  return (attempt) =>
    new Promise((resolve) => {
      if (signal.aborted) return resolve(false);
      const longest = Math.min(maximumMs, firstMs * 2 ** Math.min(attempt - 1, 20));
      const end = (): void => {
        clearTimeout(timer);
        resolve(false);
      };
      const timer = setTimeout(
        () => {
          signal.removeEventListener('abort', end);
          resolve(true);
        },
        longest * (0.5 + Math.random() / 2),
      );
      signal.addEventListener('abort', end, { once: true });
    });
}

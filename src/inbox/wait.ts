import { setTimeout as wait } from 'node:timers/promises';
import { backoff } from '../backoff.ts';

export interface WaitOptions {
  readonly firstMs: number;
  readonly signal: AbortSignal;
}

/** Waits before the next try; false when the wait was cut short by the end. */
export function createWait({ firstMs, signal }: WaitOptions): (attempt: number) => Promise<boolean> {
  return (attempt) =>
    wait(backoff(attempt, { firstMs }), undefined, { signal }).then(
      () => true,
      () => false,
    );
}

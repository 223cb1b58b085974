export interface SteadyClock {
  now(): number;
  /** Moves towards a better time by at most `step` milliseconds, so that nothing jumps. */
  correct(better: number, step: number): void;
}

/**
 * Epoch milliseconds from a starting point and the machine's monotonic counter: setting the machine's clock moves
 * neither leases nor expiries of a running process.
 */
export function createSteadyClock(start: number): SteadyClock {
  let offset = start - performance.now();
  return {
    now: () => Math.floor(offset + performance.now()),
    correct(better, step) {
      const difference = better - (offset + performance.now());
      offset += Math.max(-step, Math.min(step, difference));
    },
  };
}

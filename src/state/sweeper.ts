import type { Logger, Metrics } from '../../adapters/adapter.ts';
import { asAppError } from '../errors.ts';
import type { Store } from './store.ts';

export interface SweeperOptions {
  readonly store: Store;
  readonly logger: Logger;
  readonly metrics: Metrics;
  /** Five minutes when absent. */
  readonly everyMs?: number;
}

export interface Sweeper {
  stop(): Promise<void>;
}

/** Removes what has expired, now and then, so that the store does not grow; replicas may sweep side by side. */
export function startSweeper({ store, logger, metrics, everyMs = 300_000 }: SweeperOptions): Sweeper {
  let current = Promise.resolve();
  const sweep = async (): Promise<void> => {
    try {
      const removed = await store.sweep(store.inbox.now());
      if (removed > 0) logger.info({ removed }, 'expired entries removed');
      metrics.gauge('store_waiting', await store.inbox.countWaiting());
    } catch (error) {
      metrics.count('errors', { code: asAppError(error).code });
      logger.warn({ error }, 'expired entries could not be removed');
    }
  };
  const timer = setInterval(() => {
    current = current.then(sweep);
  }, everyMs);
  timer.unref();
  current = sweep();
  return {
    async stop() {
      clearInterval(timer);
      await current;
    },
  };
}

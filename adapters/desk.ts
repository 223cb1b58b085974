import type { Accepted, AdapterContext } from './adapter.ts';
import { createOrder } from './in-order.ts';
import { createNotices } from './notices.ts';

/** What every platform's messages go through on their way to the inbox. */
export function createDesk({ accept, logger, now }: Pick<AdapterContext, 'accept' | 'logger' | 'now'>) {
  const mayTell = createNotices(now);
  return {
    /** Messages of one conversation reach the inbox in the order in which they came. */
    inOrder: createOrder(),
    /** To the inbox; true when that is full and the person should hear it. @throws AppError `store-unavailable`. */
    turnsAway: async (accepted: Accepted): Promise<boolean> =>
      (await accept(accepted)) === 'overloaded' && mayTell(accepted.message.userId),
    /** Does something whose failure is only noted; whether it worked. */
    async courtesy(what: string, work: () => Promise<unknown>): Promise<boolean> {
      try {
        await work();
        return true;
      } catch (error) {
        logger.info({ error, what }, 'courtesy failed');
        return false;
      }
    },
  };
}

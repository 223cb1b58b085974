import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../src/errors.ts';
import type { Logger } from './adapter.ts';

const drainMs = 4_000;

/** What something that came in leads to: the body of its acknowledgement, and what is done once that is out. */
export interface Reaction {
  readonly response?: unknown;
  readonly afterwards?: () => Promise<unknown>;
}

/** Something that came in and that the platform wants acknowledged. */
export interface Incoming {
  /** Sends the acknowledgement; called once. */
  readonly ack: (response?: unknown) => Promise<void>;
  readonly react: () => Promise<Reaction>;
  /** The platform delivers it again when it is not acknowledged. */
  readonly comesAgain: boolean;
  /** Milliseconds after which it is acknowledged all the same. */
  readonly deadlineMs?: number;
  /** The acknowledgement of what failed and does not come again; it may also tell the person another way. */
  readonly apology?: () => unknown;
}

/**
 * Acknowledges what comes in once it is taken care of, so that a crash loses nothing, and knows what is under way.
 *
 * @throws from `take`, what `react` threw, when the platform is to deliver it again.
 */
export function createIntake(logger: Logger) {
  const underWay = new Set<Promise<void>>();
  const acknowledge = async ({ ack, react, comesAgain, deadlineMs, apology }: Incoming): Promise<void> => {
    let acknowledged = false;
    const once = async (response?: unknown): Promise<void> => {
      if (acknowledged) return;
      acknowledged = true;
      await ack(response);
    };
    const late = deadlineMs && setTimeout(() => void once().catch(() => undefined), deadlineMs);
    try {
      const { response, afterwards } = await react();
      await once(response);
      await afterwards?.();
    } catch (error) {
      // What the platform refuses, such as a tenant that removed us, it refuses the next time too.
      const refused = error instanceof AppError && error.code === 'platform-refused';
      logger[refused ? 'info' : 'error']({ error }, refused ? 'nobody to answer' : 'receiving failed');
      if (comesAgain && !refused && !acknowledged) throw error;
      await once(refused ? undefined : apology?.());
    } finally {
      clearTimeout(late);
    }
  };
  return {
    take(incoming: Incoming): Promise<void> {
      const work = acknowledge(incoming).finally(() => underWay.delete(work));
      underWay.add(work);
      return work;
    },
    /** Waits, at most four seconds, for what is under way. */
    async drain(): Promise<void> {
      await Promise.race([Promise.allSettled(underWay), wait(drainMs, undefined, { ref: false })]);
    },
  };
}

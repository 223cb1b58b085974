import type { Logger } from '../../adapters/adapter.ts';
import type { Advance, Finished } from '../state/inbox-store.ts';
import type { Answering, Work } from './answering.ts';
import type { Hold, Holds } from './holds.ts';
import { createWait } from './wait.ts';

export interface RunnerOptions {
  readonly advance: (finished: Finished) => Promise<Advance>;
  readonly release: (hold: Hold) => Promise<void>;
  readonly answering: Answering;
  readonly holds: Holds;
  readonly logger: Logger;
  readonly retryMs: number;
  readonly dedupeMs: number;
  readonly now: () => number;
  /** A message needs no more work here. */
  readonly finished: (messageId: string) => void;
  /** A conversation went to somebody else with messages waiting. */
  readonly abandoned: (hold: Hold) => void;
}

export interface Runner {
  /** Works through a held conversation until nothing waits there; begins with `first`, else asks for it. */
  start(hold: Hold, first?: Work): void;
  /** Waits until all conversations have come to rest, no longer than `drainMs`; then ends for good. */
  stop(drainMs: number): Promise<void>;
}

/** One loop a held conversation: its messages in order; conversations beside each other. */
export function createRunner(options: RunnerOptions): Runner {
  const { answering, holds, logger } = options;
  const running = new Set<Promise<void>>();
  const over = new AbortController();
  const wait = createWait({ firstMs: options.retryMs, signal: over.signal });

  /** Marks what is done and asks for the next message; insists while the store is away, since the answer is out. */
  const next = async (hold: Hold, done?: Finished['done']): Promise<Work | 'released' | 'lost'> => {
    let finished: Finished = done === undefined ? hold : { ...hold, done };
    for (let attempt = 1; ; attempt += 1) {
      try {
        const advance = await options.advance(finished);
        if (advance.kind === 'next') return { entry: advance.entry, repeated: done === undefined };
        if (advance.kind !== 'raced') return advance.kind;
        finished = hold;
      } catch (error) {
        logger.warn({ error }, 'inbox could not be moved on');
        if (!(await wait(attempt))) return 'lost';
      }
    }
  };

  const giveBack = async (hold: Hold): Promise<void> => {
    await options.release(hold).catch((error: unknown) => logger.warn({ error }, 'claim could not be given back'));
  };

  const work = async (hold: Hold, first: Work | undefined): Promise<void> => {
    for (let current = first ?? (await next(hold)); current !== 'released'; ) {
      const outcome = current === 'lost' ? 'lost' : await answering.answer(hold, current);
      if (current === 'lost' || outcome === 'lost') return options.abandoned(hold);
      if (outcome === 'stopped') return giveBack(hold);
      const { messageId } = current.entry;
      options.finished(messageId);
      current = await next(hold, { messageId, outcome, expiresAt: options.now() + options.dedupeMs });
    }
  };

  return {
    start(hold, first) {
      const run = work(hold, first).finally(() => {
        holds.remove(hold);
        running.delete(run);
      });
      running.add(run);
    },
    async stop(drainMs) {
      const late = setTimeout(() => over.abort(), drainMs);
      const ended = new Promise<void>((resolve) => over.signal.addEventListener('abort', () => resolve()));
      await Promise.race([Promise.all(running), ended]);
      clearTimeout(late);
      over.abort();
    },
  };
}

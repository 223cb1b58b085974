import { randomUUID } from 'node:crypto';
import type { Accepted, AcceptOutcome } from '../../adapters/adapter.ts';
import { AppError, asAppError } from '../errors.ts';
import type { AcceptResult, Advance, Finished, InboxEntry, Lease } from '../state/inbox-store.ts';
import { createAnswering } from './answering.ts';
import { createBatcher } from './batcher.ts';
import { createHolds } from './holds.ts';
import { defaultLimits, type Inbox, type InboxOptions } from './inbox-options.ts';
import { writePayload } from './payload.ts';
import { type Repeated, repeat } from './repeat.ts';
import { createRunner } from './runner.ts';
import { createTurns } from './slots.ts';

const maximumBatch = 200;
const maximumTakeOver = 100;

interface Stored {
  readonly result: AcceptResult;
  readonly lease: Lease;
}

/** The durable hand-over between adapters and the bot: stored before the platform is told, answered exactly once. */
export function createInbox(options: InboxOptions): Inbox {
  const { store, logger, metrics } = options;
  const limits = { ...defaultLimits, ...options.limits };
  const holds = createHolds(store, limits.leaseMs);
  const turns = createTurns();
  const stopping = new AbortController();
  /** Messages accepted here and not yet answered, with their conversation. */
  const open = new Map<string, string>();
  let arriving = 0;
  let looking: Repeated | undefined;

  const newLease = (): Lease => {
    const now = store.now();
    return { owner: store.owner, claimId: randomUUID(), now, until: now + limits.leaseMs };
  };
  const storeEntry = createBatcher<InboxEntry, Stored>(async (entries) => {
    const lease = newLease();
    const results = await store.accept(entries, lease);
    return results.map((result) => ({ result, lease }));
  }, maximumBatch);

  const runner = createRunner({
    advance: createBatcher<Finished, Advance>((finished) => store.advance(finished, store.now()), maximumBatch),
    release: (hold) => store.release([hold]),
    answering: createAnswering({ ...options, limits, holds, turns, signal: stopping.signal }),
    holds,
    logger,
    retryMs: limits.retryMs,
    dedupeMs: limits.dedupeMs,
    now: store.now,
    finished: (messageId) => void open.delete(messageId),
    abandoned: ({ conversationId }) => {
      for (const [messageId, conversation] of open) if (conversation === conversationId) open.delete(messageId);
    },
  });

  const takeOver = async (): Promise<void> => {
    for (let taken = maximumTakeOver; taken === maximumTakeOver; ) {
      if (stopping.signal.aborted || holds.size >= limits.maximumWaiting) return;
      const lease = newLease();
      const found = await store.takeOver(lease, maximumTakeOver);
      for (const { entry, ...claim } of found) {
        metrics.count('takeovers');
        runner.start(holds.add(claim, lease.until), { entry, repeated: true });
      }
      taken = found.length;
    }
  };

  const look = async (): Promise<void> => {
    try {
      metrics.gauge('waiting', open.size);
      await holds.renew();
      await takeOver();
    } catch (error) {
      metrics.count('errors', { code: asAppError(error).code });
      logger.warn({ error }, 'inbox could not be looked through');
    }
  };

  const begin = (entry: InboxEntry, accepted: Accepted, { result, lease }: Stored): void => {
    const { conversationId, messageId } = entry;
    const { claimId, until } = lease;
    if (result !== 'queued' || holds.has(conversationId)) open.set(messageId, conversationId);
    if (result === 'queued') return;
    const hold = holds.add({ conversationId, claimId }, until);
    if (result === 'claimed') runner.start(hold, { entry, accepted, repeated: false });
    else runner.start(hold);
  };

  const keep = async (entry: InboxEntry, accepted: Accepted): Promise<AcceptOutcome> => {
    const stored = await storeEntry(entry);
    if (stored.result === 'duplicate') return 'duplicate';
    begin(entry, accepted, stored);
    return 'accepted';
  };

  return {
    async start() {
      looking = await repeat(look, limits.pollMs);
    },
    waiting: () => open.size + arriving,
    async accept(accepted) {
      turns.arrived();
      const entry = toEntry(accepted, store.now());
      if (Buffer.byteLength(entry.payload) > limits.maximumBytes) {
        throw new AppError('too-large', `a message of more than ${limits.maximumBytes} bytes is not taken`);
      }
      const full = open.size + arriving >= limits.maximumWaiting;
      arriving += 1;
      try {
        const outcome = full || stopping.signal.aborted ? 'overloaded' : await keep(entry, accepted);
        metrics.count(counterOf[outcome], { adapter: entry.conversationId.split(':', 1)[0] ?? '' });
        return outcome;
      } finally {
        arriving -= 1;
      }
    },
    async stop() {
      stopping.abort();
      await looking?.stop();
      await runner.stop(limits.drainMs);
    },
  };
}

const counterOf = { accepted: 'messages', duplicate: 'duplicates', overloaded: 'overloaded' } as const;

/** PostgreSQL stores neither U+0000 nor half a surrogate pair. */
const storable = (id: string): string => id.toWellFormed().replaceAll('\0', '\uFFFD');

function toEntry(accepted: Accepted, acceptedAt: number): InboxEntry {
  const { messageId, conversationId, userId } = accepted.message;
  return {
    messageId: storable(messageId),
    conversationId: storable(conversationId),
    userId: storable(userId),
    payload: writePayload(accepted),
    acceptedAt,
  };
}

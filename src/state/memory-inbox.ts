import type { AcceptResult, Advance, Claim, Finished, InboxEntry, InboxStore, Lease, Takeover } from './inbox-store.ts';
import { createOwner } from './owner.ts';

interface Waiting {
  readonly entry: InboxEntry;
  handlings: number;
}

interface Held {
  claimId: string;
  until: number;
}

export interface MemoryInboxStore extends InboxStore {
  /** Forgets ids of finished messages whose time is over; returns how many. */
  sweep(at: number): number;
  forget(matches: (userId: string) => boolean): number;
}

/** The inbox of one process, gone with it. */
export function createMemoryInboxStore(now: () => number): MemoryInboxStore {
  const waiting = new Map<string, Waiting[]>();
  const known = new Map<string, number | undefined>();
  const claims = new Map<string, Held>();

  const accept = (entry: InboxEntry, lease: Lease): AcceptResult => {
    const expiry = known.get(entry.messageId);
    if (known.has(entry.messageId) && (expiry === undefined || expiry > lease.now)) return 'duplicate';
    known.set(entry.messageId, undefined);
    const queue = waiting.get(entry.conversationId) ?? [];
    waiting.set(entry.conversationId, [...queue, { entry, handlings: 0 }]);
    const held = claims.get(entry.conversationId);
    if (held !== undefined && held.until >= lease.now) return 'queued';
    claims.set(entry.conversationId, { claimId: lease.claimId, until: lease.until });
    return queue.length > 0 ? 'behind' : 'claimed';
  };

  const finish = ({ conversationId, done }: Finished): void => {
    if (done === undefined) return;
    const rest = (waiting.get(conversationId) ?? []).filter(({ entry }) => entry.messageId !== done.messageId);
    known.set(done.messageId, done.expiresAt);
    if (rest.length > 0) waiting.set(conversationId, rest);
    else waiting.delete(conversationId);
  };

  const holds = ({ conversationId, claimId }: Claim): Held | undefined => {
    const held = claims.get(conversationId);
    return held?.claimId === claimId ? held : undefined;
  };

  const advance = (finished: Finished): Advance => {
    finish(finished);
    if (holds(finished) === undefined) return { kind: 'lost' };
    const [head] = waiting.get(finished.conversationId) ?? [];
    if (head !== undefined) return { kind: 'next', entry: head.entry };
    claims.delete(finished.conversationId);
    return { kind: 'released' };
  };

  const takeOver = (lease: Lease, limit: number): Takeover[] => {
    const stranded = [...waiting].filter(([conversationId]) => (claims.get(conversationId)?.until ?? 0) < lease.now);
    return stranded.slice(0, limit).flatMap(([conversationId, [head]]) => {
      if (head === undefined) return [];
      claims.set(conversationId, { claimId: lease.claimId, until: lease.until });
      return [{ conversationId, claimId: lease.claimId, entry: head.entry }];
    });
  };

  const find = (messageId: string): Waiting | undefined =>
    [...waiting.values()].flat().find(({ entry }) => entry.messageId === messageId);

  return {
    now,
    owner: createOwner(),
    accept: async (entries, lease) => entries.map((entry) => accept(entry, lease)),
    advance: async (finished) => finished.map(advance),
    takeOver: async (lease, limit) => takeOver(lease, limit),
    beginHandling: async (messageId) => {
      const found = find(messageId);
      if (found === undefined) return 1;
      found.handlings += 1;
      return found.handlings;
    },
    endHandling: async (messageId) => {
      const found = find(messageId);
      if (found !== undefined) found.handlings = 0;
    },
    renew: async (renewed, until) =>
      renewed.filter((claim) => {
        const held = holds(claim);
        if (held !== undefined) held.until = until;
        return held !== undefined;
      }),
    release: async (released) => {
      for (const claim of released) if (holds(claim) !== undefined) claims.delete(claim.conversationId);
    },
    countWaiting: async () => [...waiting.values()].reduce((sum, queue) => sum + queue.length, 0),
    sweep: (at) => {
      const old = [...known].filter(([, expiry]) => expiry !== undefined && expiry <= at);
      for (const [messageId] of old) known.delete(messageId);
      return old.length;
    },
    forget: (matches) => {
      const before = [...waiting].flatMap(([, queue]) => queue).filter(({ entry }) => matches(entry.userId));
      for (const { entry } of before) {
        finish({ ...entry, claimId: '', done: { messageId: entry.messageId, outcome: 'failed', expiresAt: 0 } });
      }
      return before.length;
    },
  };
}

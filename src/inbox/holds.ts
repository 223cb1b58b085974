import type { Claim, InboxStore } from '../state/inbox-store.ts';

export interface Hold extends Claim {
  /** Up to when it surely lives. */
  until: number;
  lost: boolean;
}

/** The conversations this process holds, kept alive while it works on them. */
export interface Holds {
  add(claim: Claim, until: number): Hold;
  remove(hold: Hold): void;
  has(conversationId: string): boolean;
  readonly size: number;
  all(): readonly Hold[];
  /** Whether the hold is safe to answer under for a while; renews it when it is about to run out. */
  confirm(hold: Hold): Promise<boolean>;
  /** Renews all that have used up a third of their time. */
  renew(): Promise<void>;
}

export function createHolds(store: InboxStore, leaseMs: number): Holds {
  const holds = new Map<string, Hold>();

  const renew = async (old: readonly Hold[]): Promise<void> => {
    if (old.length === 0) return;
    const until = store.now() + leaseMs;
    const kept = new Set(
      (await store.renew(old, until)).map(({ claimId, conversationId }) => `${claimId} ${conversationId}`),
    );
    for (const hold of old) {
      if (kept.has(`${hold.claimId} ${hold.conversationId}`)) hold.until = until;
      else hold.lost = true;
    }
  };

  return {
    add({ conversationId, claimId }, until) {
      const hold = { conversationId, claimId, until, lost: false };
      holds.set(conversationId, hold);
      return hold;
    },
    remove(hold) {
      if (holds.get(hold.conversationId) === hold) holds.delete(hold.conversationId);
    },
    has: (conversationId) => holds.has(conversationId),
    get size() {
      return holds.size;
    },
    all: () => [...holds.values()],
    async confirm(hold) {
      if (!hold.lost && store.now() > hold.until - leaseMs / 3) await renew([hold]);
      return !hold.lost;
    },
    async renew() {
      const due = store.now() + (2 * leaseMs) / 3;
      await renew([...holds.values()].filter((hold) => !hold.lost && hold.until < due));
    },
  };
}

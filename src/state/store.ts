import type { InboxStore } from './inbox-store.ts';
import type { StateStore } from './state-store.ts';

/** State and inbox on one backend. */
export interface Store extends StateStore {
  readonly inbox: InboxStore;
  /** Removes what is stored about a person: an `IncomingMessage.userId`, or the platform's id alone. Returns how many rows. */
  forget(user: string): Promise<number>;
}

export interface OpenOptions {
  /** Clock of leases and expiries; absent: a steady one, PostgreSQL's own where that is the backend. */
  readonly now?: () => number;
}

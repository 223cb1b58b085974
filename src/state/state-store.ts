/** A value with the version that the next write must name. */
export interface Versioned<T> {
  readonly value: T;
  readonly version: number;
}

export interface WriteOptions {
  /** Epoch milliseconds after which the entry counts as absent. */
  readonly expiresAt?: number;
  /** `IncomingMessage.userId` of the person the value is about: `forget` removes it. */
  readonly userId?: string;
}

/**
 * Key-value state with optimistic versions: the port that dialog, adapters and the inbox share.
 * Keys are `<namespace>/<id>`; values are JSON. Memory, SQLite and PostgreSQL pass one contract suite
 * (`test/contracts/state-store-contract.ts`).
 *
 * @throws AppError `store-unavailable` from every method when the backend cannot be reached.
 */
export interface StateStore {
  get(key: string): Promise<Versioned<unknown> | undefined>;
  /** Writes only if the stored version is `expected` (0: absent). Returns the new version, or undefined when somebody else was faster. */
  compareAndSet(key: string, expected: number, value: unknown, options?: WriteOptions): Promise<number | undefined>;
  /** Writes only if absent or expired; true when this call wrote it. */
  setIfAbsent(key: string, value: unknown, options?: WriteOptions): Promise<boolean>;
  /** Unconditional write. */
  set(key: string, value: unknown, options?: WriteOptions): Promise<void>;
  delete(key: string): Promise<void>;
  /** Entries whose key starts with `prefix`, newest write first, at most `limit`. */
  list(prefix: string, limit: number): Promise<readonly { readonly key: string; readonly value: unknown }[]>;
  /** Removes expired entries; returns how many. */
  sweep(now: number): Promise<number>;
  /** Resolves when the backend answers. */
  ping(): Promise<void>;
  close(): Promise<void>;
}

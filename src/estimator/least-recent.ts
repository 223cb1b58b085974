/** A map of at most `capacity` entries; the one that was asked for longest ago goes first. */
export class LeastRecent<K, V> {
  private readonly entries = new Map<K, V>();
  private readonly capacity: number;

  constructor(capacity: number) {
    this.capacity = capacity;
  }

  get(key: K): V | undefined {
    const value = this.entries.get(key);
    if (value === undefined) return undefined;
    this.entries.delete(key);
    this.entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.entries.set(key, value);
    const [oldest] = this.entries.size > this.capacity ? this.entries.keys() : [];
    if (oldest !== undefined) this.entries.delete(oldest);
  }
}

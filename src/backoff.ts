export interface Growth {
  readonly firstMs: number;
  readonly longestMs?: number;
}

/** Milliseconds before the next try: twice as long each time, half of it random so that many do not come back at once. */
export function backoff(failures: number, { firstMs, longestMs = 30_000 }: Growth): number {
  if (failures < 1) return 0;
  const longest = Math.min(longestMs, firstMs * 2 ** (failures - 1));
  return longest * (0.5 + Math.random() / 2);
}

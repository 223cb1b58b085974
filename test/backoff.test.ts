import fc from 'fast-check';
import { expect, test } from 'vitest';
import { backoff } from '../src/backoff.ts';

test('doubles up to the longest pause, at least half of it', () => {
  const growth = fc.record({
    firstMs: fc.integer({ min: 1, max: 5_000 }),
    longestMs: fc.integer({ min: 1, max: 90_000 }),
  });
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5_000 }), growth, (failures, { firstMs, longestMs }) => {
      const longest = Math.min(longestMs, firstMs * 2 ** (failures - 1));
      const pause = backoff(failures, { firstMs, longestMs });
      expect(pause).toBeGreaterThanOrEqual(longest / 2);
      expect(pause).toBeLessThanOrEqual(longest);
    }),
  );
});

test('is nothing without a failure, never more than 30 s by default, and not the same each time', () => {
  expect([-1, 0].map((failures) => backoff(failures, { firstMs: 1_000 }))).toEqual([0, 0]);
  const pauses = Array.from({ length: 20 }, () => backoff(50, { firstMs: 1_000 }));
  expect(Math.max(...pauses)).toBeLessThanOrEqual(30_000);
  expect(new Set(pauses).size).toBeGreaterThan(1);
});

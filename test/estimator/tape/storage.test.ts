import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { elements, itemSize, roundToBlock, storageBytes } from '../../../src/estimator/tape/storage.ts';

describe('bytes', () => {
  test.each([
    ['float', 4],
    ['half', 2],
    ['long', 8],
    ['byte', 1],
  ] as const)('an element of %s has %d', (dtype, bytes) => {
    expect(itemSize(dtype)).toBe(bytes);
    expect(storageBytes([128, 8], dtype)).toBe(1024 * bytes);
  });

  test('are handed out in blocks of 512, with less than one wasted', () => {
    fc.assert(
      fc.property(fc.nat(2 ** 32), (bytes) => {
        const block = roundToBlock(bytes);
        expect(block % 512).toBe(0);
        expect(block - bytes).toBeGreaterThanOrEqual(0);
        expect(block - bytes).toBeLessThan(512);
      }),
    );
    expect(roundToBlock(0)).toBe(0);
    expect(roundToBlock(512)).toBe(512);
    expect(roundToBlock(513)).toBe(1024);
  });

  test('a scalar has one element, an empty tensor none', () => {
    expect(elements([])).toBe(1);
    expect(elements([3, 0, 2])).toBe(0);
    expect(elements([3, 5, 2])).toBe(30);
  });
});

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { type Block, CachingAllocator } from '../../src/estimator/allocator.ts';

const KIB = 1024;
const MIB = 1024 * KIB;

/** Allocates `sizes` at once; what the allocator reserved, in MiB. */
function reserved(sizes: readonly number[], expandable = false): number {
  const allocator = new CachingAllocator(expandable);
  for (const size of sizes) allocator.allocate(size);
  return allocator.reserved / MIB;
}

describe('pools (c10/cuda/CUDACachingAllocator.cpp)', () => {
  test.each([
    [[1], 2],
    [[MIB], 2],
    [[MIB, MIB], 2],
    [[MIB, MIB, 1], 4],
    [[MIB, MIB - 512, 512], 2],
    [[MIB + 1], 20],
    [[10 * MIB - 512], 20],
    [[10 * MIB - 512, 10 * MIB - 512], 20],
    [[10 * MIB], 10],
    [[10 * MIB + 1], 12],
    [[33 * MIB], 34],
    [[512 * KIB, 5 * MIB, 12 * MIB], 2 + 20],
    [[512 * KIB, 5 * MIB, 16 * MIB], 2 + 20 + 16],
  ])('requests of %j bytes reserve %d MiB', (sizes, mib) => {
    expect(reserved(sizes)).toBe(mib);
  });

  test('a request is rounded to 512 B, an empty one to one block', () => {
    const allocator = new CachingAllocator(false);
    expect(allocator.allocate(0).size).toBe(512);
    expect(allocator.allocate(513).size).toBe(1024);
  });

  test('a large rest is split off only above 1 MiB, a small one from 512 B', () => {
    const allocator = new CachingAllocator(false);
    expect(allocator.allocate(19 * MIB).size).toBe(20 * MIB);
    expect(allocator.allocate(21 * MIB).size).toBe(22 * MIB);
    expect(allocator.allocate(21 * MIB - 512).size).toBe(21 * MIB - 512);
    expect(new CachingAllocator(false).allocate(9 * MIB).size).toBe(9 * MIB);
    expect(new CachingAllocator(false).allocate(MIB - 512).size).toBe(MIB - 512);
  });
});

describe('reuse', () => {
  test('takes the smallest free block that is large enough, the lowest address among equals', () => {
    const allocator = new CachingAllocator(false);
    const blocks = [40, 20, 30, 20].map((mib) => allocator.allocate(mib * MIB));
    for (const block of blocks) allocator.free(block);
    expect(allocator.allocate(20 * MIB)).toBe(blocks[1]);
    expect(allocator.allocate(20 * MIB)).toBe(blocks[3]);
    expect(allocator.allocate(25 * MIB).address).toBe(blocks[2]?.address);
    expect(allocator.reserved).toBe(110 * MIB);
  });

  test('small and large pools do not lend to each other', () => {
    const allocator = new CachingAllocator(false);
    allocator.free(allocator.allocate(20 * MIB));
    allocator.allocate(512);
    expect(allocator.reserved).toBe(22 * MIB);
  });

  test('free neighbours merge, in either order', () => {
    for (const order of [
      [0, 1, 2],
      [2, 1, 0],
      [0, 2, 1],
    ]) {
      const allocator = new CachingAllocator(false);
      const parts = [6, 6, 8].map((mib) => allocator.allocate(mib * MIB));
      for (const index of order) {
        const part = parts[index];
        if (part !== undefined) allocator.free(part);
      }
      expect(allocator.allocate(20 * MIB).address).toBe(parts[0]?.address);
      expect(allocator.reserved).toBe(20 * MIB);
    }
  });

  test('segments never merge with each other', () => {
    const allocator = new CachingAllocator(false);
    const blocks = [allocator.allocate(20 * MIB), allocator.allocate(20 * MIB)];
    for (const block of blocks) allocator.free(block);
    allocator.allocate(40 * MIB);
    expect(allocator.reserved).toBe(80 * MIB);
  });
});

describe('expandable segments', () => {
  test('grow by pages of 2 and 20 MiB, and the end of one is used before it grows', () => {
    expect(reserved([1], true)).toBe(2);
    expect(reserved([21 * MIB], true)).toBe(40);
    expect(reserved([21 * MIB, 15 * MIB], true)).toBe(40);
    expect(reserved([21 * MIB, 21 * MIB], true)).toBe(60);
  });

  test('split off every block of 512 B', () => {
    expect(new CachingAllocator(true).allocate(19 * MIB).size).toBe(19 * MIB);
    expect(reserved([20 * MIB - 512 * KIB, MIB + 512], true)).toBe(40);
    expect(reserved([18 * MIB, 2 * MIB], true)).toBe(20);
  });

  test('their end is taken last, since it can grow', () => {
    const allocator = new CachingAllocator(true);
    const [hole] = [40, 20, 5].map((mib) => allocator.allocate(mib * MIB));
    if (hole === undefined) throw new Error('no block');
    allocator.free(hole);
    // 40 MiB free at the start, 15 at the end: the smaller fits, the larger is taken.
    expect(allocator.allocate(10 * MIB).address).toBe(hole.address);
    expect(allocator.allocate(35 * MIB).address).toBeGreaterThan(hole.address + 40 * MIB);
    expect(allocator.reserved).toBe(100 * MIB);
  });

  test('nor is a smaller block taken instead of it', () => {
    const allocator = new CachingAllocator(true);
    const [small, , hole] = [5, 2, 40, 5].map((mib) => allocator.allocate(mib * MIB));
    if (small === undefined || hole === undefined) throw new Error('no blocks');
    for (const block of [small, hole]) allocator.free(block);
    // 5 MiB free, 8 at the end, 40 between: the end would do.
    expect(allocator.allocate(7 * MIB).address).toBe(hole.address);
  });

  test('an end that is all there is gives what is asked for and keeps its pages', () => {
    const allocator = new CachingAllocator(true);
    allocator.free(allocator.allocate(60 * MIB));
    expect(allocator.allocate(10 * MIB).size).toBe(10 * MIB);
    expect(allocator.reserved).toBe(60 * MIB);
  });

  test('a free tail grows to what is asked for', () => {
    const allocator = new CachingAllocator(true);
    allocator.free(allocator.allocate(20 * MIB));
    expect(allocator.allocate(60 * MIB).size).toBe(60 * MIB);
    expect(allocator.reserved).toBe(60 * MIB);
    allocator.allocate(20 * MIB);
    expect(allocator.reserved).toBe(80 * MIB);
  });

  test('growing sizes reuse what smaller ones left, where separate segments cannot', () => {
    const grow = (expandable: boolean): number => {
      const allocator = new CachingAllocator(expandable);
      for (let mib = 20; mib <= 200; mib += 20) allocator.free(allocator.allocate(mib * MIB));
      return allocator.reserved / MIB;
    };
    expect(grow(true)).toBe(200);
    expect(grow(false)).toBe(1100);
  });
});

/** Requests and releases: a size asks, an index frees one of the live blocks. */
const events = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ size: fc.integer({ min: 1, max: 2 * MIB }) }) },
    { weight: 3, arbitrary: fc.record({ size: fc.integer({ min: MIB, max: 64 * MIB }) }) },
    { weight: 4, arbitrary: fc.record({ free: fc.nat(1000) }) },
  ),
  { maxLength: 200 },
);

interface Observed {
  readonly allocator: CachingAllocator;
  readonly live: readonly Block[];
}

function play(list: readonly ({ size: number } | { free: number })[], expandable: boolean): Observed {
  const allocator = new CachingAllocator(expandable);
  const live: Block[] = [];
  for (const event of list) {
    if ('size' in event) {
      const block = allocator.allocate(event.size);
      expect(block.size).toBeGreaterThanOrEqual(event.size);
      live.push(block);
    } else if (live.length > 0) for (const block of live.splice(event.free % live.length, 1)) allocator.free(block);
  }
  return { allocator, live };
}

/** All blocks of the segments that the live ones lie in. */
function segments(live: readonly Block[]): Block[][] {
  const heads = new Set<Block>();
  for (const block of live) {
    let head = block;
    while (head.previous !== null) head = head.previous;
    heads.add(head);
  }
  return [...heads].map((head) => {
    const chain: Block[] = [];
    for (let block: Block | null = head; block !== null; block = block.next) chain.push(block);
    return chain;
  });
}

const sum = (blocks: readonly Block[]): number => blocks.reduce((total, block) => total + block.size, 0);

describe('laws', () => {
  test.each([false, true])('splitting and merging conserve bytes (expandable: %s)', (expandable) => {
    fc.assert(
      fc.property(events, (list) => {
        const { allocator, live } = play(list, expandable);
        expect(allocator.reserved).toBeGreaterThanOrEqual(sum(live));
        const chains = segments(live);
        expect(chains.reduce((total, chain) => total + sum(chain), 0)).toBeLessThanOrEqual(allocator.reserved);
        for (const chain of chains) {
          expect(sum(chain) % (2 * MIB)).toBe(0);
          chain.forEach((block, index) => {
            expect(block.size % 512).toBe(0);
            const next = chain[index + 1];
            if (next === undefined) return;
            expect(next.previous).toBe(block);
            expect(next.address).toBe(block.address + block.size);
            // Two free neighbours would have been merged.
            expect(block.free && next.free).toBe(false);
          });
        }
      }),
      { numRuns: 150 },
    );
  });

  test.each([false, true])('live blocks never overlap (expandable: %s)', (expandable) => {
    fc.assert(
      fc.property(events, (list) => {
        const { live } = play(list, expandable);
        const sorted = live.toSorted((a, b) => a.address - b.address);
        sorted.forEach((block, index) => {
          const next = sorted[index + 1];
          if (next !== undefined && block.pool === next.pool)
            expect(next.address).toBeGreaterThanOrEqual(block.address + block.size);
        });
      }),
      { numRuns: 100 },
    );
  });

  test('after everything is freed an expandable segment takes the same requests again', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 64 * MIB }), { maxLength: 60 }), (sizes) => {
        const allocator = new CachingAllocator(true);
        const first = sizes.map((size) => allocator.allocate(size));
        const once = allocator.reserved;
        for (const block of first.toReversed()) allocator.free(block);
        for (const size of sizes) allocator.allocate(size);
        expect(allocator.reserved).toBe(once);
      }),
      { numRuns: 150 },
    );
  });

  test('requests alone: an expandable segment reserves what was asked, in whole pages', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: MIB + 1, max: 64 * MIB }), { maxLength: 60 }), (sizes) => {
        const total = sizes.reduce((all, size) => all + Math.ceil(size / 512) * 512, 0);
        expect(reserved(sizes, true) * MIB).toBe(Math.ceil(total / (20 * MIB)) * 20 * MIB);
      }),
      { numRuns: 150 },
    );
  });
});

import { roundToBlock } from './tape/storage.ts';

const MIB = 2 ** 20;
/** Constants of c10/cuda/CUDACachingAllocator.cpp (torch 2.13, read 2026-11). */
const SMALL_LIMIT = MIB;
const SMALL_SEGMENT = 2 * MIB;
const MEDIUM_LIMIT = 10 * MIB;
const MEDIUM_SEGMENT = 20 * MIB;
const LARGE_ROUNDING = 2 * MIB;
const SMALL_SPLIT = 512;
const LARGE_SPLIT = MIB;

/** A piece of a segment; neighbours merge when both are free. */
export interface Block {
  size: number;
  address: number;
  free: boolean;
  readonly pool: Pool;
  previous: Block | null;
  next: Block | null;
}

/** Free blocks of one pool, sorted by size, then address: the first that is large enough is the best fit. */
class Pool {
  readonly small: boolean;
  private readonly blocks: Block[] = [];

  constructor(small: boolean) {
    this.small = small;
  }

  /** `tail` can grow, so it counts as larger than any other block. */
  take(size: number, tail: Block | undefined): Block | undefined {
    const first = this.lowerBound(size, -1);
    const at = first + 1 < this.blocks.length && this.blocks[first] === tail ? first + 1 : first;
    return at < this.blocks.length ? this.blocks.splice(at, 1)[0] : undefined;
  }

  put(block: Block): void {
    this.blocks.splice(this.lowerBound(block.size, block.address), 0, block);
  }

  remove(block: Block): void {
    this.blocks.splice(this.lowerBound(block.size, block.address), 1);
  }

  private lowerBound(size: number, address: number): number {
    let low = 0;
    let high = this.blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      const block = this.blocks[middle];
      if (block !== undefined && (block.size < size || (block.size === size && block.address < address)))
        low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

/** PyTorch's caching allocator on one stream: best fit, splitting, merging, no return to the driver. */
export class CachingAllocator {
  reserved = 0;
  private readonly small = new Pool(true);
  private readonly large = new Pool(false);
  private readonly expandable: boolean;
  private address = 0;
  private readonly tails = new Map<Pool, Block>();

  constructor(expandableSegments: boolean) {
    this.expandable = expandableSegments;
  }

  allocate(bytes: number): Block {
    const size = roundToBlock(Math.max(bytes, 1));
    const pool = size <= SMALL_LIMIT ? this.small : this.large;
    const block =
      pool.take(size, this.tails.get(pool)) ?? (this.expandable ? this.extend(pool, size) : this.segment(pool, size));
    block.free = false;
    this.split(block, size);
    return block;
  }

  free(block: Block): void {
    let merged = block;
    const { previous, next } = block;
    if (previous?.free === true) {
      block.pool.remove(previous);
      merged = this.merge(previous, merged);
    }
    if (next?.free === true) {
      block.pool.remove(next);
      merged = this.merge(merged, next);
    }
    merged.free = true;
    block.pool.put(merged);
  }

  private segment(pool: Pool, size: number): Block {
    const total = pool.small
      ? SMALL_SEGMENT
      : size < MEDIUM_LIMIT
        ? MEDIUM_SEGMENT
        : Math.ceil(size / LARGE_ROUNDING) * LARGE_ROUNDING;
    const block: Block = { size: total, address: this.address, free: false, pool, previous: null, next: null };
    this.address += total + LARGE_ROUNDING;
    this.reserved += total;
    return block;
  }

  /** `expandable_segments`: one growing segment per pool; pages are mapped at its end. */
  private extend(pool: Pool, size: number): Block {
    const page = pool.small ? SMALL_SEGMENT : MEDIUM_SEGMENT;
    const tail = this.tails.get(pool) ?? null;
    const reused = tail?.free === true ? tail : null;
    const grown = Math.ceil((size - (reused?.size ?? 0)) / page) * page;
    this.reserved += grown;
    if (reused !== null) {
      pool.remove(reused);
      reused.size += grown;
      return reused;
    }
    const start = tail === null ? (pool.small ? 0 : 2 ** 50) : tail.address + tail.size;
    const block: Block = { size: grown, address: start, free: false, pool, previous: tail, next: null };
    if (tail !== null) tail.next = block;
    this.tails.set(pool, block);
    return block;
  }

  private split(block: Block, size: number): void {
    const rest = block.size - size;
    if (block.pool.small || this.expandable ? rest < SMALL_SPLIT : rest <= LARGE_SPLIT) return;
    const tail: Block = {
      size: rest,
      address: block.address + size,
      free: true,
      pool: block.pool,
      previous: block,
      next: block.next,
    };
    if (block.next !== null) block.next.previous = tail;
    block.next = tail;
    block.size = size;
    if (this.tails.get(block.pool) === block) this.tails.set(block.pool, tail);
    block.pool.put(tail);
  }

  private merge(left: Block, right: Block): Block {
    left.size += right.size;
    left.next = right.next;
    if (right.next !== null) right.next.previous = left;
    if (this.tails.get(right.pool) === right) this.tails.set(right.pool, left);
    return left;
  }
}

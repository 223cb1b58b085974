import { type Block, CachingAllocator } from './allocator.ts';
import { type ReplayOptions, replay } from './replay.ts';
import type { AllocationLog } from './tape/backward-types.ts';
import type { GradBuffer, Storage, Tensor } from './tape/storage.ts';
import type { Tape } from './tape/tape.ts';
import type { Workload } from './workload.ts';

/** One iteration's memory, in the order in which the allocator sees it. */
export interface Iteration {
  readonly t: Tape;
  readonly loss: Tensor;
}

/** Allocations and releases in order: entry `n ≥ 0` allocates slot n, `−1 − n` frees it; `sizes` are the bytes of the slots. */
interface Schedule {
  readonly order: readonly number[];
  readonly sizes: readonly number[];
}

class Recorder {
  readonly order: number[] = [];
  readonly sizes: number[] = [];
  private readonly slots = new Map<Storage | GradBuffer, number>();

  born(key: Storage | GradBuffer): void {
    this.slots.set(key, this.sizes.length);
    this.order.push(this.sizes.length);
    this.sizes.push(key.bytes);
  }

  freed(key: Storage | GradBuffer): void {
    const slot = this.slots.get(key);
    if (slot === undefined) return;
    this.slots.delete(key);
    this.order.push(-1 - slot);
  }
}

/** What autograd frees and keeps in one iteration, as the allocator sees it. */
function scheduleOf({ t, loss }: Iteration, options: ReplayOptions): Schedule {
  const recorder = new Recorder();
  const log: AllocationLog = {
    allocated: (key) => recorder.born(key),
    freed: (key) => recorder.freed(key),
  };
  replay(t, loss, { ...options, log, afterForward: () => recordForward(t, recorder) });
  return recorder;
}

/** Storages without holders die in forward; the others are left to backward. */
function recordForward(t: Tape, recorder: Recorder): void {
  const deaths: Storage[][] = Array.from({ length: t.now + 2 }, () => []);
  for (const storage of t.storages) if (storage.holders === 0) deaths[storage.death]?.push(storage);
  let next = 0;
  for (let operation = 0; operation <= t.now; operation += 1) {
    for (; t.storages[next]?.birth === operation; next += 1) {
      const storage = t.storages[next];
      if (storage !== undefined) recorder.born(storage);
    }
    for (const storage of deaths[operation] ?? []) recorder.freed(storage);
  }
}

/** Iterations after which the reserved memory of a fixed shape no longer grows (traces of physics.md §3.6). */
const ITERATIONS = 3;

/**
 * Reserved memory after a few iterations of `shapes` in turn (one entry: a fixed input size), by replaying every
 * allocation through the caching allocator. Bytes; memory outside of the tapes (weights, optimizer state, gradients
 * that stay, bucket copies) is allocated first.
 */
export function replayReserved(
  shapes: readonly Iteration[],
  w: Workload,
  options: ReplayOptions & { resident: readonly number[]; stepTemporaries: number },
): number {
  const allocator = new CachingAllocator(w.expandableSegments);
  for (const bytes of options.resident) allocator.allocate(bytes);
  const schedules = shapes.map((shape) => scheduleOf(shape, options));
  const count = Math.max(ITERATIONS, shapes.length * 2);
  for (let iteration = 0; iteration < count; iteration += 1) {
    const schedule = schedules[iteration % schedules.length] ?? NOTHING;
    runIteration(allocator, schedule, {
      state: iteration === 0 ? stateSizes(shapes, w) : [],
      temporaries: options.stepTemporaries,
    });
  }
  return allocator.reserved;
}

function stateSizes([first]: readonly Iteration[], w: Workload): number[] {
  if (first === undefined) return [];
  const copies = w.optimizer === 'sgd' ? 1 : 2;
  const trained = first.t.params.filter((param) => param.receivesGradient).map((param) => param.storage.bytes);
  return trained.flatMap((bytes) => new Array<number>(copies).fill(bytes));
}

const NOTHING: Schedule = { order: [], sizes: [] };

function runIteration(
  allocator: CachingAllocator,
  { order, sizes }: Schedule,
  step: { state: readonly number[]; temporaries: number },
): void {
  const blocks: (Block | undefined)[] = new Array(sizes.length);
  for (const entry of order) {
    if (entry >= 0) blocks[entry] = allocator.allocate(sizes[entry] ?? 0);
    else {
      const block = blocks[-1 - entry];
      blocks[-1 - entry] = undefined;
      if (block !== undefined) allocator.free(block);
    }
  }
  for (const bytes of step.state) allocator.allocate(bytes);
  if (step.temporaries > 0) allocator.free(allocator.allocate(step.temporaries));
  for (const block of blocks) if (block !== undefined) allocator.free(block);
}

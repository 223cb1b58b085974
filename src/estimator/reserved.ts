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

interface Event {
  readonly key: Storage | GradBuffer;
  readonly bytes: number;
  readonly born: boolean;
}

/** What autograd frees and keeps in one iteration, as allocator events. */
function eventsOf({ t, loss }: Iteration, options: ReplayOptions): Event[] {
  const backward: Event[] = [];
  const log: AllocationLog = {
    allocated: (key) => backward.push({ key, bytes: key.bytes, born: true }),
    freed: (key) => backward.push({ key, bytes: key.bytes, born: false }),
  };
  const kept = new Set<Storage>();
  replay(t, loss, { ...options, log, afterForward: () => keptStorages(t, kept) });
  return [...forwardEvents(t, kept), ...backward];
}

function keptStorages(t: Tape, kept: Set<Storage>): void {
  for (const storage of t.storages) if (storage.holders > 0) kept.add(storage);
}

function forwardEvents(t: Tape, kept: ReadonlySet<Storage>): Event[] {
  const deaths: Storage[][] = Array.from({ length: t.now + 2 }, () => []);
  for (const storage of t.storages) if (!kept.has(storage)) deaths[storage.death]?.push(storage);
  const events: Event[] = [];
  let next = 0;
  for (let operation = 0; operation <= t.now; operation += 1) {
    for (; t.storages[next]?.birth === operation; next += 1) {
      const storage = t.storages[next];
      if (storage !== undefined) events.push({ key: storage, bytes: storage.bytes, born: true });
    }
    for (const storage of deaths[operation] ?? []) events.push({ key: storage, bytes: storage.bytes, born: false });
  }
  return events;
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
  const schedules = shapes.map((shape) => eventsOf(shape, options));
  const count = Math.max(ITERATIONS, shapes.length * 2);
  for (let iteration = 0; iteration < count; iteration += 1) {
    const events = schedules[iteration % schedules.length] ?? [];
    runIteration(allocator, events, {
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

function runIteration(
  allocator: CachingAllocator,
  events: readonly Event[],
  step: { state: readonly number[]; temporaries: number },
): void {
  const live = new Map<Storage | GradBuffer, Block>();
  for (const event of events) {
    if (event.born) live.set(event.key, allocator.allocate(event.bytes));
    else {
      const block = live.get(event.key);
      live.delete(event.key);
      if (block !== undefined) allocator.free(block);
    }
  }
  for (const bytes of step.state) allocator.allocate(bytes);
  if (step.temporaries > 0) allocator.free(allocator.allocate(step.temporaries));
  for (const block of live.values()) allocator.free(block);
}

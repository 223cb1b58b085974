import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { aliveAt, type ReplayOptions, replay, walkTo } from '../../../src/estimator/replay.ts';
import type { AllocationLog } from '../../../src/estimator/tape/backward-types.ts';
import { type GradBuffer, Storage, type Tensor } from '../../../src/estimator/tape/storage.ts';
import type { Tape } from '../../../src/estimator/tape/tape.ts';
import { newTape } from './harness.ts';
import { lossOf, networks } from './random-network.ts';

/** Everything the backward pass holds, by its own announcements. */
class Ledger implements AllocationLog {
  readonly live = new Set<GradBuffer | Storage>();
  readonly faults: string[] = [];
  current = 0;
  highest = 0;

  open(storages: readonly Storage[]): void {
    for (const storage of storages) this.allocated(storage);
  }

  allocated(key: GradBuffer | Storage): void {
    if (this.live.has(key)) this.faults.push('made twice');
    this.live.add(key);
    this.current += key.bytes;
    this.highest = Math.max(this.highest, this.current);
  }

  freed(key: GradBuffer | Storage): void {
    if (!this.live.delete(key)) this.faults.push('freed twice');
    this.current -= key.bytes;
    if (this.current < 0) this.faults.push('below zero');
  }
}

const settings = fc.record({
  autocast: fc.constantFrom(null, 'fp16' as const, 'bf16' as const),
  fanInCopies: fc.boolean(),
  residentGradients: fc.boolean(),
});

function run(t: Tape, loss: Tensor, options: ReplayOptions) {
  const ledger = new Ledger();
  const kept = (): Storage[] => t.storages.filter((storage) => storage.holders > 0);
  const replayed = replay(t, loss, { ...options, log: ledger, afterForward: () => ledger.open(kept()) });
  return { ledger, replayed };
}

const bytesOf = (keys: Iterable<{ readonly bytes: number }>): number =>
  [...keys].reduce((sum, { bytes }) => sum + bytes, 0);

describe('every byte that comes also goes', () => {
  test('backward frees what forward kept, once; only gradients of weights and the loss are left', () => {
    fc.assert(
      fc.property(networks, settings, (network, { autocast, ...options }) => {
        const t = newTape({ autocast, fanInCopies: options.fanInCopies });
        const loss = lossOf(t, network);
        const { ledger, replayed } = run(t, loss, options);
        expect(ledger.faults).toEqual([]);
        const left = [...ledger.live].filter((key) => key !== loss.storage);
        expect(left.every((key) => !(key instanceof Storage) && key.parameter)).toBe(true);
        expect(bytesOf(left)).toBe(options.residentGradients ? 0 : replayed.gradientBytes);
      }),
      { numRuns: 400 },
    );
  });

  test('the peak of backward is the highest sum of what was announced', () => {
    fc.assert(
      fc.property(networks, settings, (network, { autocast, ...options }) => {
        const t = newTape({ autocast, fanInCopies: options.fanInCopies });
        const { ledger, replayed } = run(t, lossOf(t, network), options);
        expect(replayed.backward.bytes).toBe(ledger.highest);
        expect(replayed.backward.withKernels).toBe(ledger.highest);
      }),
      { numRuns: 300 },
    );
  });

  test('the peak of forward is the largest sum of storages alive in one operation', () => {
    fc.assert(
      fc.property(networks, settings, (network, { autocast, ...options }) => {
        const t = newTape({ autocast });
        const loss = lossOf(t, network);
        let alive: readonly number[] = [];
        const replayed = replay(t, loss, {
          ...options,
          afterForward: () => {
            alive = t.operationNames.map((_, operation) => bytesOf(aliveAt(t, operation)));
          },
        });
        expect(replayed.forward.bytes).toBe(Math.max(...alive));
        expect(replayed.forward.operation).toBe(t.operationNames[replayed.forward.mark]);
      }),
      { numRuns: 300 },
    );
  });

  test('saved is every kept storage once, however many operations keep it', () => {
    fc.assert(
      fc.property(networks, (network) => {
        const t = newTape();
        const loss = lossOf(t, network);
        const { saved } = replay(t, loss, { fanInCopies: true, residentGradients: false });
        const kept = new Set<Storage>([loss.storage]);
        for (const node of t.nodes) {
          if (!node.reachable) continue;
          if (node.region === null) for (const storage of node.saved) kept.add(storage);
          else for (const storage of outermost(node.region).inputs) kept.add(storage);
        }
        expect(saved).toBe(bytesOf([...kept].filter((storage) => !storage.resident)));
      }),
      { numRuns: 300 },
    );
  });

  test('a second walk stops at the peak with the bytes of the first', () => {
    fc.assert(
      fc.property(networks, settings, (network, { autocast, ...options }) => {
        const t = newTape({ autocast, fanInCopies: options.fanInCopies });
        const loss = lossOf(t, network);
        const { backward } = replay(t, loss, options);
        expect(walkTo(t, loss, { ...options, stopAt: backward.mark }).liveBytes).toBe(backward.withKernels);
      }),
      { numRuns: 300 },
    );
  });
});

function outermost(region: NonNullable<Tape['nodes'][number]['region']>) {
  let outer = region;
  while (outer.parent !== null) outer = outer.parent;
  return outer;
}

describe('laws', () => {
  test('adding gradients in place never needs more than making new ones', () => {
    fc.assert(
      fc.property(networks, (network) => {
        const peak = (fanInCopies: boolean): number => {
          // SiLU and the bias of linear differ for fake tensors; the walk alone is compared.
          const t = newTape({ fanInCopies: true });
          return replay(t, lossOf(t, network), { fanInCopies, residentGradients: false }).backward.bytes;
        };
        expect(peak(false)).toBeLessThanOrEqual(peak(true));
      }),
      { numRuns: 300 },
    );
  });

  test('every gradient arrives: all trained weights that the loss depends on receive one', () => {
    fc.assert(
      fc.property(networks, settings, (network, { autocast, ...options }) => {
        const t = newTape({ autocast });
        const { gradientBytes } = replay(t, lossOf(t, network), options);
        const receiving = t.params.filter((param) => param.receivesGradient);
        expect(receiving.every((param) => param.trainable && param.pending === 0)).toBe(true);
        expect(gradientBytes).toBe(bytesOf(receiving.map((param) => param.storage)));
        expect(receiving.length).toBe(t.params.filter((param) => param.trainable).length);
      }),
      { numRuns: 300 },
    );
  });
});

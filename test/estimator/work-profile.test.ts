import { describe, expect, test } from 'vitest';

import type { EstimateBytes, WorkProfile } from '../../src/estimator/estimate-result.ts';
import { conv2d } from '../../src/estimator/tape/ops-conv.ts';
import { scale } from '../../src/estimator/tape/ops-core.ts';
import type { Tape } from '../../src/estimator/tape/tape.ts';
import { groupWork, workProfile } from '../../src/estimator/work-profile.ts';
import { activation, KIB, newTape } from './tape/harness.ts';

const bytes: EstimateBytes = {
  parameters: 100,
  buffers: 0,
  input: 600,
  target: 0,
  gradients: 100,
  optimizerState: 200,
  ddpBuckets: 0,
  base: 700,
  saved: 0,
  peakForward: 0,
  peakBackward: 0,
  peakStep: 0,
  workspace: 0,
  allocatedPeak: 0,
  reserved: 0,
  device: 0,
  validationPeak: 0,
};

function profile(build: (t: Tape) => void, autocast: 'fp16' | null = null): WorkProfile {
  const t = newTape({ autocast });
  build(t);
  return workProfile(groupWork(t), 100, { bytes, images: 2 });
}

const MAP = [1, 16, 32, 32];

describe('work of an iteration', () => {
  test('operations of one kind and intensity are one group', () => {
    const { groups, launches } = profile((t) => {
      const x = activation(t, MAP);
      conv2d(t, conv2d(t, x, { out: 16, kernel: 1 }), { out: 16, kernel: 1 });
      scale(t, x);
    });
    expect(launches).toBe(3);
    const macs = 2 * 1024 * 16 * 16;
    const moved = 2 * (64 + 64 + 1) * KIB;
    expect(groups).toEqual([
      {
        kind: 'convolution',
        precision: 'fp32',
        count: 2,
        macs,
        bytes: moved,
        backwardMacs: 2 * macs,
        backwardBytes: 2 * moved,
      },
      {
        kind: 'pointwise',
        precision: 'fp32',
        count: 1,
        macs: 0,
        bytes: 128 * KIB,
        backwardMacs: 0,
        backwardBytes: 128 * KIB,
      },
    ]);
  });

  test('types and intensities are kept apart', () => {
    const kinds = profile((t) => {
      const x = activation(t, MAP);
      conv2d(t, x, { out: 16, kernel: 1 });
      conv2d(t, x, { out: 16, kernel: 7, padding: 3 });
      t.withoutAutocast(() => conv2d(t, x, { out: 16, kernel: 1 }));
    }, 'fp16').groups.filter(({ kind }) => kind === 'convolution');
    expect(kinds.map(({ precision, count }) => [precision, count])).toEqual([
      ['half', 1],
      ['half', 1],
      ['fp32', 1],
    ]);
  });

  test('a group loses no work: sums are those of the tape', () => {
    const t = newTape();
    const x = activation(t, MAP);
    t.checkpoint(true, [x], () => conv2d(t, x, { out: 16, kernel: 3, padding: 1 }));
    conv2d(t, x, { out: 64, kernel: 1 });
    scale(t, x);
    t.works.waitingLaunches = 7;
    const { groups, waitingLaunches } = workProfile(groupWork(t), 0, { bytes, images: 1 });
    const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);
    expect(sum(groups.map(({ macs }) => macs))).toBe(t.works.totalMacs);
    expect(sum(groups.map((group) => group.bytes))).toBe(sum(t.works.bytes));
    expect(sum(groups.map((group) => group.count))).toBe(t.works.kinds.length);
    expect(sum(groups.map(({ backwardMacs }) => backwardMacs))).toBe(
      sum(t.works.macs.map((macs, index) => macs * (t.works.products[index] ?? 0))),
    );
    expect(waitingLaunches).toBe(7);
  });

  test('the optimizer reads and writes state, weights and gradients; input is per image', () => {
    expect(profile(() => undefined)).toMatchObject({
      optimizerBytes: 4 * 200 + 3 * 100,
      gradientBytes: 100,
      inputBytesPerImage: 300,
      groups: [],
      launches: 0,
    });
  });
});

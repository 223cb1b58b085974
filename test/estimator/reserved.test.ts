import { describe, expect, test } from 'vitest';

import { estimate } from '../../src/estimator/estimate.ts';
import { replayReserved } from '../../src/estimator/reserved.ts';
import { relu } from '../../src/estimator/tape/ops-activation.ts';
import { conv2d } from '../../src/estimator/tape/ops-conv.ts';
import { mean } from '../../src/estimator/tape/ops-resize.ts';
import { newTape } from './tape/harness.ts';
import { truthRows, workloadOf } from './truth.ts';

const MIB = 2 ** 20;
const w = workloadOf({ model: "smp.Unet('resnet18', classes=2)", imageHeight: 64, imageWidth: 64, batchSize: 1 });

/** Two convolutions on a map of `side`²; 64 channels of fp32. */
function iteration(side: number) {
  const t = newTape();
  const x = t.input([1, 64, side, side]);
  const hidden = relu(t, conv2d(t, x, { out: 64, kernel: 1 }));
  return { t, loss: mean(t, conv2d(t, hidden, { out: 64, kernel: 1 }), [0, 1, 2, 3], false) };
}

const settings = { fanInCopies: true, residentGradients: false, resident: [], stepTemporaries: 0 };

describe('replay through the caching allocator', () => {
  test('a map of 16 MiB: hidden, output, and two gradients at a time', () => {
    // hidden 16 | output 16 (freed, reused by the gradients) | mean's and ReLU's gradients; small pool 2.
    const bytes = replayReserved([iteration(256)], w, settings);
    expect(bytes).toBe((3 * 16 + 2) * MIB);
  });

  test('what is there before the first iteration comes on top', () => {
    const bytes = replayReserved([iteration(256)], w, { ...settings, resident: [30 * MIB, 512] });
    expect(bytes).toBe((3 * 16 + 2 + 30) * MIB);
  });

  test('a second iteration of the same shape reserves nothing more', () => {
    const once = replayReserved([iteration(256)], w, settings);
    expect(replayReserved([iteration(256), iteration(256)], w, settings)).toBe(once);
  });

  test('the optimizer’s state is made after the first step: one tensor a weight for SGD, two for Adam', () => {
    // Weights of 2048×2048: 16 MiB each, on a map of one pixel.
    const wide = () => {
      const t = newTape();
      const x = t.input([1, 2048, 1, 1]);
      return { t, loss: mean(t, conv2d(t, x, { out: 2048, kernel: 1 }), [0, 1, 2, 3], false) };
    };
    const sgd = replayReserved([wide()], { ...w, optimizer: 'sgd' }, settings);
    const adam = replayReserved([wide()], { ...w, optimizer: 'adamw' }, settings);
    // Gradient and state.
    expect(sgd).toBe((16 + 16 + 2) * MIB);
    expect(adam).toBe((16 + 2 * 16 + 2) * MIB);
  });

  test('a frozen weight has no state', () => {
    const t = newTape();
    const x = t.input([1, 2048, 1, 1]);
    const frozen = t.freeze(true, () => conv2d(t, x, { out: 2048, kernel: 1 }));
    const loss = mean(t, conv2d(t, frozen, { out: 1, kernel: 1 }), [0, 1, 2, 3], false);
    expect(replayReserved([{ t, loss }], { ...w, optimizer: 'adamw' }, settings)).toBe(2 * MIB);
  });

  test('temporaries of the step are reserved beside state and gradients', () => {
    const plain = replayReserved([iteration(64)], w, settings);
    const step = replayReserved([iteration(64)], w, { ...settings, stepTemporaries: 100 * MIB });
    expect(step - plain).toBe(100 * MIB);
  });

  test('varying sizes reserve more than the largest alone; an expandable segment less of it', () => {
    const sides = [200, 256, 224, 300, 260];
    const shapes = () => sides.map(iteration);
    const largest = replayReserved([iteration(300)], w, settings);
    const varying = replayReserved(shapes(), w, settings);
    const expandable = replayReserved(shapes(), { ...w, expandableSegments: true }, settings);
    expect(varying).toBeGreaterThan(1.2 * largest);
    expect(expandable).toBeLessThan(varying);
  });
});

/** Overheads of physics.md §3.6, traced through a model of the allocator; ours replays more of the iteration. */
const TRACED = [
  ['deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024', 0.065],
  ['unet-s5-d16_fcn_4xb4-160k_cityscapes-512x1024', 0.077],
  ['segformer_mit-b2_8xb2-160k_ade20k-512x512', 0.125],
] as const;

describe('whole networks', () => {
  const of = (model: string, input: Record<string, unknown> = {}) =>
    estimate(workloadOf({ model, imageHeight: 512, imageWidth: 512, batchSize: 4, ...input })).bytes;

  test.each(TRACED)('%s: reserved is a few percent above allocated', (model, overhead) => {
    const { reserved, allocatedPeak } = of(model);
    const ratio = reserved / allocatedPeak - 1;
    expect(ratio).toBeGreaterThanOrEqual(0);
    expect(ratio).toBeLessThan(overhead + 0.1);
  });

  test('expandable segments reserve less, or little more where a huge matrix finds no hole in the one segment', () => {
    const families = new Map(['traces-mmseg', 'traces-smp'].flatMap(truthRows).map((row) => [row.family, row]));
    for (const [family, row] of [...families].filter((_, index) => index % 4 === 0)) {
      const one = workloadOf(row.input);
      const plain = estimate(one).bytes;
      const expandable = estimate({ ...one, expandableSegments: true }).bytes;
      expect(plain.reserved, family).toBeGreaterThanOrEqual(plain.allocatedPeak);
      expect(expandable.reserved, family).toBeGreaterThanOrEqual(expandable.allocatedPeak);
      expect(expandable.reserved, family).toBeLessThanOrEqual(1.02 * plain.reserved);
    }
  });

  test('varying input sizes reserve much more, mostly given back by expandable segments', () => {
    const model = 'deeplabv3plus_r50-d8_4xb2-40k_cityscapes-512x1024';
    const fixed = of(model);
    const varying = of(model, { multiScale: [0.5, 2] });
    const expandable = of(model, { multiScale: [0.5, 2], expandableSegments: true });
    expect(varying.reserved / varying.allocatedPeak).toBeGreaterThan(fixed.reserved / fixed.allocatedPeak);
    expect(expandable.reserved).toBeLessThanOrEqual(varying.reserved);
    expect(expandable.reserved).toBeGreaterThanOrEqual(expandable.allocatedPeak);
  });
});

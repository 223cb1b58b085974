import { describe, expect, test } from 'vitest';

import { optimizerBytes, stepBytes, trainedWeights } from '../../src/estimator/optimizer.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { newTape } from './tape/harness.ts';
import { workloadOf } from './truth.ts';

/** Two weights with a gradient (4 KiB and 512 B), one without. */
function weights() {
  const t = newTape();
  t.param(1024);
  t.param(1);
  t.param(4096);
  for (const param of t.params.slice(0, 2)) param.receivesGradient = true;
  return trainedWeights(t.params);
}

const P = 4096 + 512;

const base = workloadOf({ model: "smp.Unet('resnet18', classes=2)", imageHeight: 64, imageWidth: 64, batchSize: 1 });
const of = (changes: Partial<Workload>): Workload => ({ ...base, torch: 2.13, ...changes });

/** Copies of the weights with a gradient: state, then temporaries of a step (physics.md §3.1, §6). */
const TABLE = [
  ['sgd', 2.13, 1, 1],
  ['sgd', 1.13, 1, 1],
  ['adam', 2.13, 2, 1],
  ['adam', 2.0, 2, 1],
  ['adam', 1.13, 2, 2],
  ['adamw', 2.13, 2, 1],
  ['adamw', 1.13, 2, 2],
] as const;

describe('optimizers', () => {
  test.each(TABLE)('%s on torch %d keeps %d and makes %d copies', (optimizer, torch, state, copies) => {
    const w = of({ optimizer, torch, optimizerStep: 'foreach' });
    expect(optimizerBytes(weights(), w)).toBe(state * P);
    expect(stepBytes(weights(), w)).toBe(copies * P);
  });

  test.each([
    ['sgd', P, 4096],
    ['adam', 2 * P + 2 * 512, 2 * 4096],
    ['adamw', 2 * P + 2 * 512, 2 * 4096],
  ] as const)('a fused %s step keeps %d and makes nothing, the loop makes %d', (optimizer, state, temporaries) => {
    const fused = of({ optimizer, optimizerStep: 'fused' });
    expect(optimizerBytes(weights(), fused)).toBe(state);
    expect(stepBytes(weights(), fused)).toBe(0);
    expect(stepBytes(weights(), of({ optimizer, optimizerStep: 'for-loop' }))).toBe(temporaries);
  });

  test('the loop of Adam holds the divisor of the weight before', () => {
    const t = newTape();
    for (const size of [1024, 2048, 512]) t.param(size);
    for (const param of t.params) param.receivesGradient = true;
    const w = of({ optimizer: 'adam', optimizerStep: 'for-loop' });
    expect(stepBytes(trainedWeights(t.params), w)).toBe(4096 + 2 * 8192);
  });

  test('nothing trained, nothing kept', () => {
    expect(optimizerBytes(trainedWeights([]), base)).toBe(0);
    expect(stepBytes(trainedWeights([]), of({ optimizerStep: 'for-loop' }))).toBe(0);
  });
});

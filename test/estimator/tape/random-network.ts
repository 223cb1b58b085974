import fc from 'fast-check';

import { activate, softmax } from '../../../src/estimator/tape/ops-activation.ts';
import { conv2d } from '../../../src/estimator/tape/ops-conv.ts';
import { add, addInPlace, multiply } from '../../../src/estimator/tape/ops-core.ts';
import { dropout, maxPool } from '../../../src/estimator/tape/ops-layers.ts';
import { linear } from '../../../src/estimator/tape/ops-linear.ts';
import { batchNorm, layerNorm } from '../../../src/estimator/tape/ops-norm.ts';
import { concat, slice } from '../../../src/estimator/tape/ops-parts.ts';
import { mean, resize } from '../../../src/estimator/tape/ops-resize.ts';
import { contiguous, transpose } from '../../../src/estimator/tape/ops-shape.ts';
import type { Tensor } from '../../../src/estimator/tape/storage.ts';
import type { Tape } from '../../../src/estimator/tape/tape.ts';

const CHANNELS = 8;
const SIDE = 8;

/** One step: works on the newest map, or on it and an earlier one (`other` counts from the end). */
interface Step {
  readonly kind: keyof typeof STEPS;
  readonly other: number;
  /** Steps of a checkpointed region, for the kinds that have one. */
  readonly body: readonly Step[];
}

type Apply = (t: Tape, x: Tensor, other: Tensor, body: readonly Step[]) => Tensor;

/** All keep the shape B×8×8×8. */
const STEPS = {
  conv: (t, x) => conv2d(t, x, { out: CHANNELS, kernel: 3, padding: 1, bias: true }),
  frozenConv: (t, x) => t.freeze(true, () => conv2d(t, x, { out: CHANNELS, kernel: 1 })),
  norm: (t, x) => batchNorm(t, x),
  relu: (t, x) => activate(t, x, 'relu', true),
  silu: (t, x) => activate(t, x, 'silu'),
  add: (t, x, other) => add(t, x, other),
  addInPlace: (t, x, other) => addInPlace(t, x, other),
  multiply: (t, x, other) => multiply(t, x, other),
  dropout: (t, x) => dropout(t, x, 0.1),
  softmax: (t, x) => softmax(t, x),
  concat: (t, x, other) => conv2d(t, concat(t, [x, other], 1), { out: CHANNELS, kernel: 1 }),
  pool: (t, x) => resize(t, maxPool(t, x, { kernel: 2, stride: 2 }), [SIDE, SIDE]),
  tokens: (t, x) => contiguous(t, transpose(t, linear(t, layerNorm(t, transpose(t, x, 1, 3)), CHANNELS), 1, 3)),
  half: (t, x) => concat(t, [slice(t, x, 1, CHANNELS / 2), slice(t, x, 1, CHANNELS / 2)], 1),
  module: (t, x, _other, body) => t.call('module', x, () => runSteps(t, x, body)),
  checkpoint: (t, x, _other, body) => t.checkpoint(true, [x], () => runSteps(t, x, body)),
  reentrant: (t, x, _other, body) => t.checkpointReentrant(true, [x], () => runSteps(t, x, body)),
} satisfies Record<string, Apply>;

function runSteps(t: Tape, x: Tensor, steps: readonly Step[]): Tensor {
  const maps = [x];
  for (const { kind, other, body } of steps) {
    const newest = maps[maps.length - 1] ?? x;
    const apply: Apply = STEPS[kind];
    maps.push(apply(t, newest, maps[maps.length - 1 - (other % maps.length)] ?? x, body));
  }
  return maps[maps.length - 1] ?? x;
}

const PLAIN = [
  'conv',
  'frozenConv',
  'norm',
  'relu',
  'silu',
  'add',
  'addInPlace',
  'multiply',
  'dropout',
  'softmax',
  'concat',
  'pool',
  'tokens',
  'half',
] as const;

const plainStep = fc.record({
  kind: fc.constantFrom(...PLAIN),
  other: fc.nat(4),
  body: fc.constant([]),
});

const nested = fc.record({
  kind: fc.constantFrom('module', 'checkpoint', 'reentrant'),
  other: fc.constant(0),
  body: fc.array(plainStep, { minLength: 1, maxLength: 4 }),
});

/** Small networks over every kind of operation, with modules and checkpointed regions. */
export const networks: fc.Arbitrary<readonly Step[]> = fc.array(
  fc.oneof({ weight: 4, arbitrary: plainStep }, { weight: 1, arbitrary: nested }),
  { minLength: 1, maxLength: 12 },
);

/** Runs a network on an image; the loss is the mean of all scores. */
export function lossOf(t: Tape, steps: readonly Step[]): Tensor {
  const stem = conv2d(t, t.input([2, 3, SIDE, SIDE]), { out: CHANNELS, kernel: 1 });
  return mean(t, runSteps(t, stem, steps), [0, 1, 2, 3], false);
}

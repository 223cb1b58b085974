import { sigmoid } from '../tape/ops-activation.ts';
import { add, multiply, scale, shift } from '../tape/ops-core.ts';
import { indexed } from '../tape/ops-index.ts';
import { crossEntropy } from '../tape/ops-loss.ts';
import { derived, dividedBy } from '../tape/ops-masks.ts';
import { sum } from '../tape/ops-resize.ts';
import { transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { HfMaskTruth } from './hf-mask-matching.ts';

/** Number of objects, at least 1. */
export function objectCount(t: Tape): Tensor {
  const scalar = { shape: [], dtype: 'float' } as const;
  const count = derived(t, 'to', [], scalar);
  const clamped = derived(t, 'clamp', [derived(t, 'div', [count], scalar)], scalar);
  t.keep(count);
  return clamped;
}

/** Cross entropy over all queries; those without an object get the last class. */
export function hfClassLoss(t: Tape, classes: Tensor, truth: HfMaskTruth, weights: Tensor): Tensor {
  const [batch = 1, queries = 1] = classes.shape;
  const labels = truth.map((objects) => derived(t, 'index', [], { shape: [objects.shape[0] ?? 1], dtype: 'long' }));
  const total = truth.reduce((sofar, objects) => sofar + (objects.shape[0] ?? 0), 0);
  const joined = derived(t, 'cat', labels, { shape: [total], dtype: 'long' });
  const target = derived(t, 'full', [], { shape: [batch, queries], dtype: 'long' });
  const loss = crossEntropy(t, transpose(t, classes, 1, 2), target, { weights });
  t.keep(joined);
  return loss;
}

/** Predicted masks that were matched, and their truth: copies, the latter out of a padded batch. */
export function matchedMasks(
  t: Tape,
  masks: Tensor,
  truth: HfMaskTruth,
): { selected: Tensor; wanted: Tensor; held: Tensor } {
  const [, , height = 1, width = 1] = masks.shape;
  const rows = truth.reduce((sofar, objects) => sofar + (objects.shape[0] ?? 0), 0);
  const most = truth.reduce((sofar, objects) => Math.max(sofar, objects.shape[0] ?? 0), 0);
  const [, imageHeight = 1, imageWidth = 1] = truth[0]?.shape ?? [];
  const selected = indexed(t, masks, [rows, height, width]);
  const padded = derived(t, 'zeros', [], { shape: [truth.length, most, imageHeight, imageWidth], dtype: 'float' });
  const held = derived(t, 'ones', [], { shape: [truth.length, imageHeight, imageWidth], dtype: 'byte' });
  const wanted = derived(t, 'index', [padded], { shape: [rows, imageHeight, imageWidth], dtype: 'float' });
  return { selected, wanted, held };
}

/** Dice of n×P logits against labels that need no gradient, summed and divided by the number of objects. */
export function hfDiceLoss(t: Tape, logits: Tensor, labels: Tensor, count: Tensor): Tensor {
  const probability = sigmoid(t, logits);
  const numerator = scale(t, sum(t, multiply(t, probability, labels), [1], false));
  const predicted = sum(t, probability, [1], false);
  const present = derived(t, 'sum', [labels], { shape: predicted.shape, dtype: 'float' });
  const denominator = add(t, predicted, present);
  const overlap = multiply(t, shift(t, numerator), shift(t, denominator), { name: 'div' });
  const each = scale(t, overlap);
  const total = dividedBy(t, sum(t, each, [0], false), count);
  t.keep(probability, numerator, denominator, each);
  return total;
}

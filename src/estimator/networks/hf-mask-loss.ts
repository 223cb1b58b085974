import { sigmoid } from '../tape/ops-activation.ts';
import { add, multiply, scale, shift } from '../tape/ops-core.ts';
import { indexed } from '../tape/ops-index.ts';
import { binaryCrossEntropy, crossEntropy } from '../tape/ops-loss.ts';
import { derived, dividedBy } from '../tape/ops-masks.ts';
import { mean, sum } from '../tape/ops-resize.ts';
import { gridSample } from '../tape/ops-sample.ts';
import { reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { centred, type HfMaskPrediction, type HfMaskTruth, hfMatchByPoints, readAt } from './hf-mask-matching.ts';
import { POINTS } from './mask-matching.ts';

const OVERSAMPLED = 3 * POINTS;
const UNCERTAIN = 0.75 * POINTS;

export interface HfMaskLosses {
  /** In the order of the dict: masks, dice, classes. */
  readonly mask: Tensor;
  readonly dice: Tensor;
  readonly classes: Tensor;
}

/** Losses of one prediction of Mask2Former, OneFormer and EoMT in transformers 5.24; `weights`: of the classes, K+1. */
export function hfMaskLosses(t: Tape, prediction: HfMaskPrediction, truth: HfMaskTruth, weights: Tensor): HfMaskLosses {
  return t.within('criterion', () => {
    hfMatchByPoints(t, prediction, truth);
    const count = objectCount(t);
    const [mask, dice] = pointLosses(t, prediction.masks, truth, count);
    const classes = hfClassLoss(t, prediction.classes, truth, weights);
    t.keep(count, mask, dice);
    return { mask, dice, classes };
  });
}

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

function pointLosses(t: Tape, masks: Tensor, truth: HfMaskTruth, count: Tensor): readonly [Tensor, Tensor] {
  const { selected, wanted, held } = matchedMasks(t, masks, truth);
  const [rows = 1, height = 1, width = 1] = selected.shape;
  const points = uncertainPoints(t, selected);
  const labels = readAt(t, wanted, points);
  const values = gridSample(t, reshape(t, selected, [rows, 1, height, width]), centred(t, points));
  const logits = reshape(t, values, [rows, POINTS]);
  const mask = crossEntropyLoss(t, logits, labels, count);
  const dice = hfDiceLoss(t, logits, labels, count);
  t.keep(selected, wanted, held, points, labels, logits);
  return [mask, dice];
}

function crossEntropyLoss(t: Tape, logits: Tensor, labels: Tensor, count: Tensor): Tensor {
  const map = binaryCrossEntropy(t, logits, labels, false);
  const loss = dividedBy(t, sum(t, mean(t, map, [1], false), [0], false), count);
  t.keep(map);
  return loss;
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

/** The most uncertain of three times as many random points, and a quarter of new ones: R×P×2. */
function uncertainPoints(t: Tape, masks: Tensor): Tensor {
  const [rows = 1] = masks.shape;
  const plane = { shape: [rows, OVERSAMPLED], dtype: 'float' } as const;
  const candidates = derived(t, 'rand', [], { shape: [rows, OVERSAMPLED, 2], dtype: 'float' });
  const values = readAt(t, masks, candidates);
  const uncertainty = derived(t, 'neg', [derived(t, 'abs', [values], plane)], plane);
  t.begin('topk', [uncertainty]);
  t.allocateBytes(4 * rows * UNCERTAIN);
  const best = derived(t, 'add_', [], { shape: [rows, UNCERTAIN], dtype: 'long' });
  const chosen = derived(t, 'index', [candidates, best], { shape: [rows, UNCERTAIN, 2], dtype: 'float' });
  const random = derived(t, 'rand', [], { shape: [rows, POINTS - UNCERTAIN, 2], dtype: 'float' });
  const all = derived(t, 'cat', [chosen, random], { shape: [rows, POINTS, 2], dtype: 'float' });
  t.keep(values, uncertainty, best);
  return all;
}

/** Every loss times its weight in place, kind by kind, then their sum: the last prediction's first. */
export function weightedSum(t: Tape, losses: readonly HfMaskLosses[]): Tensor {
  const order = losses.flatMap(({ mask, dice, classes }) => [mask, dice, classes]);
  const weighted = [...order];
  for (const kind of [2, 0, 1]) {
    for (let index = kind; index < order.length; index += 3) {
      const loss = order[index];
      if (loss !== undefined) weighted[index] = scale(t, loss, { inPlace: true });
    }
  }
  let total: Tensor | undefined;
  for (const loss of weighted) total = total === undefined ? shift(t, loss) : add(t, total, loss);
  if (total === undefined) throw new RangeError('no losses');
  t.keep(...weighted);
  return total;
}

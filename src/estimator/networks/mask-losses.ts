import { sigmoid } from '../tape/ops-activation.ts';
import { add, multiply, scale, shift } from '../tape/ops-core.ts';
import { indexed } from '../tape/ops-index.ts';
import { binaryCrossEntropy, crossEntropy } from '../tape/ops-loss.ts';
import { classWeights, derived, dividedBy, focalLossKernel } from '../tape/ops-masks.ts';
import { square, subtract } from '../tape/ops-reduce.ts';
import { resize, sum } from '../tape/ops-resize.ts';
import { gridSample } from '../tape/ops-sample.ts';
import { reshape } from '../tape/ops-shape.ts';
import { type DType, elements, type Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { type MaskTruth, match, POINTS } from './mask-matching.ts';
import type { MaskPredictions } from './masked-attention-decoder.ts';

/** Random points that are drawn before the most uncertain of them are kept, and how many are. */
const OVERSAMPLED = 3 * POINTS;
const UNCERTAIN = 0.75 * POINTS;

export interface MaskLossOptions {
  /** `points`: Mask2Former, cross entropy and dice on sampled points; `pixels`: MaskFormer, focal loss and dice on whole masks. */
  readonly by: 'points' | 'pixels';
  /** Whose code: targets as int64 copies (mmdet 3.3), or as copies of all objects in the type of the masks (facebookresearch). */
  readonly style: 'mmdet' | 'official';
}

interface Prediction {
  readonly classes: Tensor;
  readonly masks: Tensor;
}

/** Losses of every prediction in the order of the original's dict: the last prediction's first. */
export function maskLosses(
  t: Tape,
  predictions: MaskPredictions,
  truth: MaskTruth,
  options: MaskLossOptions,
): readonly Tensor[] {
  const parts = predictions.classes.map((classes, index) => {
    const masks = predictions.masks[index] ?? classes;
    return t.within('loss', () => predictionLoss(t, { classes, masks }, truth, options));
  });
  t.keep(...truth.masks, ...truth.labels, ...predictions.classes, ...predictions.masks);
  const [last] = parts.slice(-1);
  return [...(last ?? []), ...parts.slice(0, -1).flat()];
}

function predictionLoss(
  t: Tape,
  { classes, masks }: Prediction,
  truth: MaskTruth,
  options: MaskLossOptions,
): readonly Tensor[] {
  const copies = options.style === 'mmdet';
  const matched = match(t, { classes, masks, truth: truth.masks, by: options.by, copies });
  const [batch = 1, queries = 1] = classes.shape;
  const rows = batch * queries;
  const labels = derived(t, 'stack', matched.small, { shape: [rows], dtype: 'long' });
  const labelWeights = derived(t, 'stack', matched.small, { shape: [rows], dtype: 'long' });
  const targets = copies ? joined(t, matched.targets) : padded(t, truth.masks, { queries, dtype: masks.dtype });
  const weights = derived(t, 'stack', matched.small, { shape: [batch, queries], dtype: masks.dtype });
  const perClass = derived(t, 'new_tensor', [], { shape: [classes.shape[2] ?? 1], dtype: classes.dtype });
  const classification = classLoss(t, classes, { labels, labelWeights, perClass });
  const chosen = derived(t, 'gt', [weights], { shape: [batch, queries], dtype: 'byte' });
  const [, , height = 1, width = 1] = masks.shape;
  const selected = indexed(t, masks, [targets.shape[0] ?? 0, height, width], chosen);
  const losses = options.by === 'points' ? pointLosses : pixelLosses;
  const [mask, dice] = losses(t, selected, targets);
  t.keep(...matched.targets, ...matched.small, targets, labels, labelWeights, weights, perClass);
  return [classification, mask, dice];
}

function joined(t: Tape, targets: readonly Tensor[]): Tensor {
  const [, height = 1, width = 1] = targets[0]?.shape ?? [];
  return derived(t, 'cat', targets, { shape: [countOf(targets), height, width], dtype: 'long' });
}

/** Masks of all images in one padded tensor, in the type of the predictions, and the matched ones of them. */
function padded(t: Tape, truth: readonly Tensor[], { queries, dtype }: { queries: number; dtype: DType }): Tensor {
  const [, height = 1, width = 1] = truth[0]?.shape ?? [];
  const shape = [countOf(truth), height, width];
  const nested = derived(t, 'zeros', truth, { shape, dtype: 'byte' });
  const valid = derived(t, 'ones', truth, { shape: [truth.length, height, width], dtype: 'byte' });
  const all = derived(t, 'to', [nested], { shape, dtype });
  const matched = truth.reduce((sum, objects) => sum + Math.min(queries, objects.shape[0] ?? 0), 0);
  const taken = derived(t, 'index', [all], { shape: [matched, height, width], dtype });
  t.keep(nested, valid);
  return taken;
}

function countOf(masks: readonly Tensor[]): number {
  return masks.reduce((sum, objects) => sum + (objects.shape[0] ?? 0), 0);
}

/** Class-weighted cross entropy over all queries, divided by the sum of the weights. */
function classLoss(
  t: Tape,
  classes: Tensor,
  truth: { labels: Tensor; labelWeights: Tensor; perClass: Tensor },
): Tensor {
  const [batch = 1, queries = 1, width = 1] = classes.shape;
  const logits = reshape(t, classes, [batch * queries, width]);
  const picked = derived(t, 'index', [truth.perClass], { shape: [batch * queries], dtype: classes.dtype });
  const total = derived(t, 'sum', [picked], { shape: [], dtype: 'float' });
  const map = crossEntropy(t, logits, truth.labels, {
    reduced: false,
    weights: classWeights(t, width, classes.dtype),
  });
  const rowWeights = derived(t, 'to', [truth.labelWeights], { shape: [batch * queries], dtype: 'float' });
  const weighted = multiply(t, map, rowWeights);
  const average = averaged(t, weighted, total);
  t.keep(map);
  return average;
}

/** `loss.sum() / (factor + eps)`, then the loss's weight. */
function averaged(t: Tape, loss: Tensor, factor?: Tensor): Tensor {
  const axes = loss.shape.map((_, axis) => axis);
  const total = sum(t, loss, axes, false);
  const average =
    factor === undefined
      ? scale(t, total)
      : dividedBy(t, total, derived(t, 'add', [factor], { shape: [], dtype: 'float' }));
  t.keep(loss);
  return scale(t, average);
}

function floating(t: Tape, x: Tensor): Tensor {
  return x.dtype === 'float' ? x : derived(t, 'to', [x], { shape: x.shape, dtype: 'float' });
}

/** `1 − (2a + eps) / (b + c + eps)` on n×P probabilities: keeps probabilities and target. */
function diceLoss(t: Tape, logits: Tensor, target: Tensor): Tensor {
  return t.call('loss_dice', [logits, target], () => {
    const probability = sigmoid(t, logits);
    const wanted = reshape(t, floating(t, target), logits.shape);
    const both = sum(t, multiply(t, probability, wanted), [1], false);
    const predicted = sum(t, probability, [1], false);
    const present = derived(t, 'sum', [wanted], { shape: predicted.shape, dtype: 'float' });
    const numerator = shift(t, scale(t, both));
    const denominator = shift(t, add(t, predicted, present));
    const overlap = multiply(t, numerator, denominator, { name: 'div' });
    const loss = averaged(t, shift(t, overlap));
    t.keep(probability, wanted, both, predicted, present, overlap);
    return loss;
  });
}

/** Losses on the most uncertain of many random points, and some random ones. */
function pointLosses(t: Tape, masks: Tensor, targets: Tensor): readonly [Tensor, Tensor] {
  const [count = 1, height = 1, width = 1] = masks.shape;
  const points = uncertainPoints(t, masks);
  const dense = floating(t, targets);
  const wantedGrid = centred(t, points);
  const wanted = derived(t, 'grid_sampler_2d', [dense, wantedGrid], { shape: [count, POINTS], dtype: 'float' });
  t.keep(wantedGrid);
  const grid = centred(t, points);
  const values = gridSample(t, reshape(t, masks, [count, 1, height, width]), grid);
  const logits = reshape(t, values, [count, POINTS]);
  const dice = diceLoss(t, logits, wanted);
  const mask = binaryLoss(t, reshape(t, logits, [count * POINTS]), wanted);
  t.keep(masks, points, logits, wanted);
  return [mask, dice];
}

/** Coordinates brought from 0…1 to −1…1. */
function centred(t: Tape, points: Tensor): Tensor {
  const [count = 1, sampled = 1] = points.shape;
  const shape = { shape: [count, sampled, 1, 2], dtype: 'float' } as const;
  return derived(t, 'sub', [derived(t, 'mul', [points], shape)], shape);
}

function uncertainPoints(t: Tape, masks: Tensor): Tensor {
  const [count = 1] = masks.shape;
  const plane = { shape: [count, OVERSAMPLED], dtype: 'float' } as const;
  const candidates = derived(t, 'rand', [], { shape: [count, OVERSAMPLED, 2], dtype: 'float' });
  const grid = centred(t, candidates);
  const wide = masks.dtype === 'float' ? masks : derived(t, 'to', [masks], { shape: masks.shape, dtype: 'float' });
  const values = derived(t, 'grid_sampler_2d', [masks, wide, grid], plane);
  const copied = derived(t, 'clone', [values], plane);
  const distance = derived(t, 'abs', [copied], plane);
  const uncertainty = derived(t, 'neg', [distance], plane);
  t.keep(copied);
  t.begin('topk', [uncertainty, values]);
  t.allocateBytes(4 * count * UNCERTAIN);
  const best = derived(t, 'topk', [], { shape: [count, UNCERTAIN], dtype: 'long' });
  const chosen = derived(t, 'index', [candidates, best], { shape: [count, UNCERTAIN, 2], dtype: 'float' });
  const random = derived(t, 'rand', [], { shape: [count, POINTS - UNCERTAIN, 2], dtype: 'float' });
  const all = derived(t, 'cat', [chosen, random], { shape: [count, POINTS, 2], dtype: 'float' });
  t.keep(values, uncertainty, best);
  return all;
}

/** mmdet's binary cross entropy: weights of ones where labels are valid. */
function binaryLoss(t: Tape, logits: Tensor, target: Tensor): Tensor {
  const rows = logits.shape;
  const known = derived(t, 'ge', [target], { shape: rows, dtype: 'byte' });
  const counted = derived(t, 'ne', [target], { shape: rows, dtype: 'byte' });
  const valid = derived(t, 'and', [known, counted], { shape: rows, dtype: 'byte' });
  const weight = derived(t, 'to', [valid], { shape: rows, dtype: 'float' });
  const map = binaryCrossEntropy(t, logits, target, false);
  const weighted = multiply(t, map, weight);
  t.keep(weight);
  return averaged(t, weighted);
}

/** Masks resized to the image, then dice and focal loss. */
function pixelLosses(t: Tape, masks: Tensor, targets: Tensor): readonly [Tensor, Tensor] {
  const [count = 1, height = 1, width = 1] = targets.shape;
  const [, fineHeight = 1, fineWidth = 1] = masks.shape;
  const resized = resize(t, reshape(t, masks, [count, 1, fineHeight, fineWidth]), [height, width]);
  const logits = reshape(t, resized, [count, height * width]);
  const dice = diceLoss(t, logits, targets);
  const column = reshape(t, logits, [count * height * width, 1]);
  const inverse = derived(t, 'rsub', [targets], { shape: [elements(targets.shape)], dtype: 'long' });
  const mask = t.options.fanInCopies ? composedFocalLoss(t, column, inverse) : focalLoss(t, column, inverse);
  t.keep(logits, inverse);
  return [mask, dice];
}

function focalLoss(t: Tape, logits: Tensor, target: Tensor): Tensor {
  return averaged(t, focalLossKernel(t, logits, target));
}

/**
 * Without a device mmdet composes the focal loss from elementary operations on a one-hot target, which traces on fake
 * tensors do too (mmdet 3.3 losses/focal_loss.py, `torch.cuda.is_available()`).
 */
function composedFocalLoss(t: Tape, logits: Tensor, target: Tensor): Tensor {
  const { shape } = logits;
  const like = { shape, dtype: 'float' } as const;
  const [rows = 1] = shape;
  const equal = derived(t, 'eq', [target], { shape: [rows, 2], dtype: 'byte' });
  const hot = derived(t, 'to', [equal], { shape: [rows, 2], dtype: 'long' });
  const probability = sigmoid(t, logits);
  const wanted = derived(t, 'to', [hot], like);
  const first = multiply(t, complement(t, probability), wanted);
  const unwanted = derived(t, 'rsub', [wanted], like);
  const right = add(t, first, multiply(t, probability, unwanted));
  const weightOfWanted = derived(t, 'mul', [wanted], like);
  const rest = derived(t, 'rsub', [wanted], like);
  const weightOfRest = derived(t, 'mul', [rest], like);
  const balance = derived(t, 'add', [weightOfWanted, weightOfRest], like);
  const weight = multiply(t, balance, square(t, right));
  const map = binaryCrossEntropy(t, logits, wanted, false);
  const loss = multiply(t, map, weight);
  t.keep(probability, wanted, right, weight);
  const average = averaged(t, loss);
  t.keep(hot);
  return average;
}

/** `1 − x`: backward negates into new memory. */
function complement(t: Tape, x: Tensor): Tensor {
  return subtract(t, derived(t, 'one', [], { shape: [], dtype: 'float' }), x);
}

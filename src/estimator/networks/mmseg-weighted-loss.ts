import { softmax } from '../tape/ops-activation.ts';
import { byteSize, constant, multiply, scale } from '../tape/ops-core.ts';
import { indexed } from '../tape/ops-index.ts';
import { crossEntropy } from '../tape/ops-loss.ts';
import { mean, sum } from '../tape/ops-resize.ts';
import { reshape } from '../tape/ops-shape.ts';
import { emitFresh } from '../tape/rules.ts';
import { type BackwardRule, elements, type Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { LossTerm } from './mmseg-loss.ts';

/** Cross entropy with class weights: the mean is taken over the weights of the pixels. */
export const weightedCrossEntropy: LossTerm = (t, logits, label) => {
  const [batch = 1, classes = 1] = logits.shape;
  const weights = constant(t, 'new_tensor', [classes], 'float');
  const map = crossEntropy(t, logits, label, { reduced: false, weights });
  const perImage = Array.from({ length: batch }, () => constant(t, 'index', label.shape.slice(1), 'float'));
  t.keep(...perImage);
  const stacked = constant(t, 'stack', label.shape, 'float');
  t.keep(...perImage);
  const divisor = constant(t, 'sum', [], 'float');
  const total = sum(
    t,
    map,
    map.shape.map((_, axis) => axis),
    false,
  );
  const average = multiply(t, total, divisor, { name: 'div' });
  t.keep(map, stacked, weights);
  return scale(t, average);
};

/**
 * `OhemCrossEntropy` (MMSegmentation 1.2.2): the softmax that picks hard pixels keeps its graph until the function
 * ends; the pixel losses are indexed three times. All pixels count as hard (upper bound).
 */
export const hardPixelCrossEntropy: LossTerm = (t, logits, label) => {
  const pixels = elements(label.shape);
  const probabilities = softmax(t, logits);
  const weights = constant(t, 'new_tensor', [logits.shape[1] ?? 1], 'float');
  const map = crossEntropy(t, logits, label, { reduced: false, weights });
  const mask = constant(t, 'ne', [pixels], 'byte');
  const copied = constant(t, 'clone', label.shape, 'long');
  constant(t, 'eq', label.shape, 'byte');
  t.begin('index_put_', [copied]);
  const chosen = constant(t, 'gather', label.shape, 'float');
  const masked = constant(t, 'index', [pixels], 'float');
  t.begin('sort', [masked, chosen]);
  const sorted = constant(t, 'sort', [pixels], 'float');
  const order = constant(t, 'sort', [pixels], 'long');
  t.keep(masked, chosen);
  constant(t, 'lt', [], 'byte');
  const valid = indexed(t, reshape(t, map, [pixels]), [pixels], mask);
  const ordered = indexed(t, valid, [pixels], order);
  t.keep(map);
  const hard = constant(t, 'lt', [pixels], 'byte');
  const kept = indexed(t, ordered, [pixels], hard);
  const average = mean(t, kept, [0], false);
  t.keep(kept, probabilities, weights, copied, sorted);
  return scale(t, average);
};

/** `BoundaryLoss` of MMSegmentation 1.2.2: binary cross entropy whose weights balance edges and the rest. */
export const boundaryLoss: LossTerm = (t, logits, label) => {
  const pixels = elements(label.shape);
  const flat = reshape(t, logits, [1, pixels]);
  const truth = constant(t, 'to', [1, pixels], 'float');
  const masks = [constant(t, 'eq', [1, pixels], 'byte'), constant(t, 'eq', [1, pixels], 'byte')];
  const weight = constant(t, 'zeros_like', [1, pixels], 'float');
  const counts = [0, 1, 2].map(() => constant(t, 'sum', [], 'long'));
  t.begin('index_put_', [weight]);
  const loss = weightedBinary(t, flat, truth, weight);
  t.keep(...masks, ...counts);
  return scale(t, loss);
};

function weightedBinary(t: Tape, logits: Tensor, truth: Tensor, weight: Tensor): Tensor {
  t.begin('binary_cross_entropy_with_logits', [logits, truth, weight]);
  const storage = t.allocate([], 'float');
  t.work('pointwise', false, { macs: 0, bytes: 4 * byteSize(logits) });
  const rule: BackwardRule = (walk, node) => {
    const difference = walk.transient(byteSize(logits));
    emitFresh(walk, node, 0);
    walk.release(difference);
  };
  const saved = [logits.storage, truth.storage, weight.storage];
  return t.result(
    { storage, shape: [], dtype: 'float' },
    { name: 'binary_cross_entropy', inputs: [logits], saved, rule },
  );
}

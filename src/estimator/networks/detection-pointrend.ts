import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { linear } from '../tape/ops-linear.ts';
import { binaryCrossEntropy } from '../tape/ops-loss.ts';
import { derived } from '../tape/ops-masks.ts';
import { concat } from '../tape/ops-parts.ts';
import { gridSample } from '../tape/ops-sample.ts';
import { flatten, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { detector, roiAlign } from './mask-rcnn.ts';
import type { Network, Run } from './network.ts';
import { gatherRows, sumOf } from './region-proposals.ts';

/** Side of the coarse masks, and points an object on which the point head is trained (projects/PointRend, detectron2 0.6). */
const COARSE_SIDE = 7;
const POINTS = 14 * 14;
const OVERSAMPLED = 3 * POINTS;
const COARSE_WIDTH = 1024;
const POINT_WIDTH = 256;
const POINT_LAYERS = 3;

/** A 2×2 convolution with stride 2, two layers, and a 7×7 mask of every class. */
function coarseMasks(t: Tape, features: readonly Tensor[], run: Run): Tensor {
  const { w } = run;
  const rois = w.positiveRoisPerImage * w.batchSize;
  const finest = features.slice(0, 1);
  const pooled = roiAlign(t, finest, { rois, side: 2 * COARSE_SIDE });
  const reduced = relu(t, conv2d(t, pooled, { out: pooled.shape[1] ?? 1, kernel: 2, stride: 2, bias: true }), false);
  let hidden = flatten(t, reduced, 1);
  for (let layer = 0; layer < 2; layer += 1) hidden = relu(t, linear(t, hidden, COARSE_WIDTH), false);
  const masks = linear(t, hidden, w.numClasses * COARSE_SIDE ** 2);
  return reshape(t, masks, [rois, w.numClasses, COARSE_SIDE, COARSE_SIDE]);
}

/** B×C×h×w at n points of every object: objects × C × points × 1. */
function sampled(t: Tape, x: Tensor, points: number): Tensor {
  const grid = derived(t, 'sub', [], { shape: [x.shape[0] ?? 1, points, 1, 2], dtype: 'float' });
  return gridSample(t, x, grid);
}

/** The point head: fine features and coarse logits of each point, the latter again before every layer. */
function pointLogits(t: Tape, fine: Tensor, coarse: Tensor, classes: number): Tensor {
  let x = concat(t, [fine, coarse], 1);
  for (let layer = 0; layer < POINT_LAYERS; layer += 1) {
    const hidden = relu(t, conv2d(t, x, { out: POINT_WIDTH, kernel: 1, bias: true }), false);
    x = concat(t, [hidden, coarse], 1);
  }
  return conv2d(t, x, { out: classes, kernel: 1, bias: true });
}

/** Losses of the coarse masks and of sampled points (Kirillov et al. 2020). */
function pointRendLoss(t: Tape, features: readonly Tensor[], run: Run): Tensor {
  const { w } = run;
  const rois = w.positiveRoisPerImage * w.batchSize;
  const coarse = coarseMasks(t, features, run);
  const chosen = gatherRows(t, reshape(t, coarse, [rois * w.numClasses, COARSE_SIDE ** 2]), rois);
  const coarseTarget = derived(t, 'to', [], { shape: chosen.shape, dtype: 'float' });
  const coarseLoss = binaryCrossEntropy(t, chosen, coarseTarget);
  derived(t, 'grid_sampler_2d', [coarse], { shape: [rois, 1, OVERSAMPLED], dtype: 'float' });
  const [finest] = features;
  if (finest === undefined) throw new RangeError('no feature maps');
  const fine = fineFeatures(t, finest, rois);
  const logits = pointLogits(t, fine, sampled(t, coarse, POINTS), w.numClasses);
  const picked = gatherRows(t, reshape(t, logits, [rois * w.numClasses, POINTS]), rois);
  const target = derived(t, 'grid_sampler_2d', [], { shape: picked.shape, dtype: 'float' });
  const pointLoss = binaryCrossEntropy(t, picked, target);
  t.keep(coarse, fine, logits);
  return sumOf(t, [coarseLoss, pointLoss]);
}

/** Fine features are sampled image by image, all objects of one at once: objects × C × points × 1. */
function fineFeatures(t: Tape, map: Tensor, rois: number): Tensor {
  const [batch = 1, channels = 1] = map.shape;
  const points = sampled(t, map, (rois / batch) * POINTS);
  return reshape(t, points, [rois, channels, POINTS, 1]);
}

export const detectionPointRendNetworks: Readonly<Record<string, Network>> = {
  'detectron2/pointrend': detector({ maskLoss: pointRendLoss }),
};

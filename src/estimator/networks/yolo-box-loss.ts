import { logSoftmax, softmax } from '../tape/ops-activation.ts';
import { add, byteSize, multiply, scale, toHalf } from '../tape/ops-core.ts';
import { indexed } from '../tape/ops-index.ts';
import { binaryCrossEntropy } from '../tape/ops-loss.ts';
import { derived, dividedBy } from '../tape/ops-masks.ts';
import { concat, split } from '../tape/ops-parts.ts';
import { subtract } from '../tape/ops-reduce.ts';
import { mean, sum } from '../tape/ops-resize.ts';
import { reshape } from '../tape/ops-shape.ts';
import { emitFresh } from '../tape/rules.ts';
import type { BackwardRule, DType, Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { type Assigned, type Assignment, assign, positivesOf } from './yolo-assigner.ts';
import { BINS } from './yolo-head.ts';

export interface DetectionLosses {
  /** Box, class and distribution loss: scalars. */
  readonly losses: readonly [Tensor, Tensor, Tensor];
  readonly assigned: Assigned;
}

/**
 * Box, class and distribution focal losses of B×A×64 distances and B×A×classes scores (ultralytics 8.4.190,
 * utils/loss.py, `v8DetectionLoss`).
 */
export function detectionLosses(
  t: Tape,
  { distances, scores }: { distances: Tensor; scores: Tensor },
  sizes: Assignment,
): DetectionLosses {
  const { batch, positions } = sizes;
  const { dtype } = scores;
  const constants = { shape: [positions, 2], dtype };
  const anchors = derived(t, 'cat', [], constants);
  const strides = derived(t, 'cat', [], { shape: [positions, 1], dtype });
  const vectors = ['zeros', 'zeros', 'tensor'].map((name) => derived(t, name, [], { shape: [5], dtype: 'float' }));
  const truth = derived(t, 'zeros', [], { shape: [batch, sizes.objects, 5], dtype: 'float' });
  const valid = derived(t, 'sum', [truth], { shape: [batch, sizes.objects, 1], dtype: 'float' });
  const boxes = decode(t, distances, anchors);
  const probabilities = derived(t, 'sigmoid', [scores], { shape: scores.shape, dtype });
  const scaled = derived(t, 'mul', [boxes, strides], { shape: boxes.shape, dtype });
  const widened = dtype === 'float' ? scaled : derived(t, 'to', [scaled], { shape: boxes.shape, dtype: 'float' });
  const centres = derived(t, 'mul', [anchors, strides], constants);
  const assigned = assign(t, probabilities, widened, sizes);
  t.keep(centres);
  const total = derived(t, 'sum', [assigned.scores], { shape: [], dtype: 'float' });
  const { loss: classes, map } = classLoss(t, scores, { assigned, total });
  const wanted = derived(t, 'div', [assigned.boxes, strides], { shape: boxes.shape, dtype: 'float' });
  const [box, bins] = boxLosses(t, { distances, boxes, anchors, wanted, assigned, total }, batch * positivesOf(sizes));
  t.keep(map, boxes, wanted, anchors, strides, truth, valid, total, distances, scores, ...vectors);
  t.keep(assigned.scores, assigned.labels);
  return { losses: [box, classes, bins], assigned };
}

/** Expected distance of each side, then corners: B×A×4. */
function decode(t: Tape, distances: Tensor, anchors: Tensor): Tensor {
  const [batch = 1, positions = 1] = distances.shape;
  const probabilities = softmax(t, reshape(t, distances, [batch, positions, 4, BINS]));
  const expected = reshape(t, timesBins(t, toHalf(t, probabilities)), [batch, positions, 4]);
  const [near, far] = split(t, expected, 2, [2, 2]);
  if (near === undefined || far === undefined) throw new RangeError('two corners');
  const first = subtract(t, anchors, near);
  const second = add(t, anchors, far);
  const corners = concat(t, [first, second], 2);
  t.keep(expected, first, second);
  return corners;
}

/** Product of …×16 with the bins' distances, which are not trained: keeps a 16-bit copy of them; backward spreads the gradient. */
function timesBins(t: Tape, x: Tensor): Tensor {
  const bins = x.dtype === 'float' ? [] : [derived(t, 'to', [], { shape: [BINS], dtype: x.dtype })];
  const shape = x.shape.slice(0, -1);
  t.begin('mv', [x, ...bins]);
  const storage = t.allocate(shape, x.dtype);
  t.work('reduction', x.dtype === 'half', { macs: 0, bytes: byteSize(x) });
  const saved = bins.map((copy) => copy.storage);
  const rule: BackwardRule = (walk, node) => emitFresh(walk, node, 0);
  return t.result({ storage, shape, dtype: x.dtype }, { name: 'mv', inputs: [x], saved, rule });
}

interface Targets {
  readonly assigned: Assigned;
  readonly total: Tensor;
}

/** Binary cross entropy of every class at every position; the map is held until all losses are done. */
function classLoss(t: Tape, scores: Tensor, { assigned, total }: Targets): { loss: Tensor; map: Tensor } {
  const narrow = typed(t, assigned.scores, scores.dtype);
  const map = binaryCrossEntropy(t, scores, typed(t, narrow, 'float'), false);
  t.keep(narrow);
  return { loss: dividedBy(t, sum(t, map, [0, 1, 2], false), total), map };
}

function typed(t: Tape, x: Tensor, dtype: DType): Tensor {
  return x.dtype === dtype ? x : derived(t, 'to', [x], { shape: x.shape, dtype });
}

interface BoxTargets extends Targets {
  readonly distances: Tensor;
  readonly boxes: Tensor;
  readonly anchors: Tensor;
  readonly wanted: Tensor;
}

/** Complete IoU and distribution focal loss of the `rows` positions that belong to objects, weighted by their scores. */
function boxLosses(t: Tape, b: BoxTargets, rows: number): [Tensor, Tensor] {
  const where = derived(t, 'nonzero', [b.assigned.chosen], { shape: [rows, 2], dtype: 'long' });
  const classes = b.assigned.scores.shape[2] ?? 1;
  const picked = derived(t, 'index', [b.assigned.scores, where], { shape: [rows, classes], dtype: 'float' });
  const weight = derived(t, 'sum', [picked], { shape: [rows, 1], dtype: 'float' });
  const overlap = completeIou(t, indexed(t, b.boxes, [rows, 4], where), b.wanted);
  const box = weighted(t, scale(t, overlap), { weight, total: b.total });
  const sides = derived(t, 'cat', [b.anchors, b.wanted], { shape: b.wanted.shape, dtype: 'float' });
  const chosen = indexed(t, b.distances, [rows, 4 * BINS], where);
  const bins = weighted(t, binLoss(t, chosen, sides), { weight, total: b.total });
  t.keep(overlap, sides, where, weight);
  return [box, bins];
}

function weighted(t: Tape, x: Tensor, { weight, total }: { weight: Tensor; total: Tensor }): Tensor {
  return dividedBy(t, sum(t, multiply(t, x, weight), [0, 1], false), total);
}

/** Vectors of one value a box that the complete IoU keeps: in the type of the predictions, and in fp32. */
const IOU_KEEPS = { own: 3, float: 14 } as const;

/** Complete IoU of rows×4 predicted boxes with targets cut from `wanted`: rows×1 in fp32. */
function completeIou(t: Tape, predicted: Tensor, wanted: Tensor): Tensor {
  const [rows = 1] = predicted.shape;
  const target = derived(t, 'index', [wanted], { shape: [rows, 4], dtype: 'float' });
  t.begin('bbox_iou', [predicted, target]);
  const saved = [predicted.storage, target.storage];
  for (let index = 0; index < IOU_KEEPS.own; index += 1) saved.push(t.allocate([rows], predicted.dtype));
  for (let index = 0; index < IOU_KEEPS.float; index += 1) saved.push(t.allocate([rows], 'float'));
  const storage = t.allocate([rows, 1], 'float');
  const rule: BackwardRule = (walk, node) => emitFresh(walk, node, 0);
  return t.result(
    { storage, shape: [rows, 1], dtype: 'float' },
    { name: 'bbox_iou', inputs: [predicted], saved, rule },
  );
}

/** Cross entropy with the two bins beside the target, by distance: rows×1. */
function binLoss(t: Tape, distances: Tensor, sides: Tensor): Tensor {
  const rows = (distances.shape[0] ?? 1) * 4;
  const place = derived(t, 'index', [sides], { shape: [rows / 4, 4], dtype: 'float' });
  const left = derived(t, 'to', [place], { shape: place.shape, dtype: 'long' });
  const right = derived(t, 'add', [left], { shape: place.shape, dtype: 'long' });
  const leftShare = derived(t, 'sub', [right, place], { shape: place.shape, dtype: 'float' });
  const rightShare = derived(t, 'rsub', [leftShare], { shape: place.shape, dtype: 'float' });
  const logits = logSoftmax(t, reshape(t, distances, [rows, BINS]));
  const first = multiply(t, indexed(t, logits, place.shape, left), leftShare);
  const second = multiply(t, indexed(t, logits, place.shape, right), rightShare);
  const result = scale(t, mean(t, add(t, first, second), [1], true));
  t.keep(place, left, right, leftShare, rightShare, logits);
  return result;
}

import { byteSize } from '../tape/ops-core.ts';
import { derived } from '../tape/ops-masks.ts';
import { select } from '../tape/ops-parts.ts';
import { gridSample } from '../tape/ops-sample.ts';
import { reshape } from '../tape/ops-shape.ts';
import type { DType, Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/** Points at which masks are compared (Mask2Former, Cheng et al. 2022, §3.3). */
export const POINTS = 12_544;
/**
 * Small kernels an image and prediction around which the host waits: the cost matrix is copied to the host, matched
 * there and copied back (mmdet 3.3 HungarianAssigner and MaskPseudoSampler, counted in a trace, 2026-11).
 */
const WAITING_LAUNCHES = 60;

/** Ground truth of a batch, an entry an image: n×H×W int64 masks, and the labels of their classes. */
export interface MaskTruth {
  readonly masks: readonly Tensor[];
  readonly labels: readonly Tensor[];
}

/** int64 masks of every image, made from the label map: `unique`, one comparison per class, stacked (MMSegmentation 1.2.2). */
export function truthFromLabels(t: Tape, label: Tensor, count: number): MaskTruth {
  const [batch = 1, , height = 1, width = 1] = label.shape;
  const masks: Tensor[] = [];
  const labels: Tensor[] = [];
  for (let image = 0; image < batch; image += 1) {
    labels.push(derived(t, 'unique', [label], { shape: [count], dtype: 'long' }));
    const equal = Array.from({ length: count }, () =>
      derived(t, 'eq', [label], { shape: [1, height, width], dtype: 'byte' }),
    );
    const stacked = derived(t, 'stack', equal, { shape: [count, height, width], dtype: 'byte' });
    masks.push(derived(t, 'to', [stacked], { shape: [count, height, width], dtype: 'long' }));
    t.keep(...equal);
  }
  return { masks, labels };
}

/** What one prediction's targets are made of. */
interface Matched {
  /** n×H×W int64 masks of every image. */
  readonly targets: readonly Tensor[];
  /** Labels and weights, which live as long as the targets. */
  readonly small: readonly Tensor[];
}

interface Matching {
  readonly classes: Tensor;
  readonly masks: Tensor;
  readonly truth: readonly Tensor[];
  /** How costs are computed: on random points, or on whole masks at the prediction's size. */
  readonly by: 'points' | 'pixels';
  /** mmdet copies matched and other masks for a sampler; the official code only keeps indices. */
  readonly copies: boolean;
}

/** Targets of one prediction: matched image by image on the host (the assignment does not change any size). */
export function match(t: Tape, { classes, masks, truth, by, copies }: Matching): Matched {
  const targets: Tensor[] = [];
  const small: Tensor[] = [];
  const sampled: Tensor[] = [];
  for (const objects of truth) {
    t.works.waitingLaunches += WAITING_LAUNCHES;
    const scores = select(t, classes);
    const predicted = select(t, masks);
    const compared = by === 'points' ? samplePoints(t, predicted, objects) : shrink(t, predicted, objects);
    const assigned = derived(t, 'full', [], { shape: [2, 128], dtype: 'long' });
    costs(t, { scores, compared, by });
    if (copies) {
      sampled.push(...sample(t, predicted, objects));
      targets.push(derived(t, 'index', [objects], matchedPart(objects, predicted)));
    }
    // Labels, label weights and mask weights of 100 queries: 1 KiB, 1 KiB, 512 B.
    small.push(derived(t, 'new_zeros', [], { shape: [320], dtype: 'long' }));
    t.keep(assigned, ...compared.held, compared.prediction, compared.truth);
  }
  t.keep(...sampled, ...targets, ...small);
  return { targets, small };
}

/** At most as many objects are matched as there are queries. */
function matchedPart(objects: Tensor, predicted: Tensor): Shaped {
  const [count = 1, ...area] = objects.shape;
  return { shape: [Math.min(count, predicted.shape[0] ?? count), ...area], dtype: 'long' };
}

interface Compared {
  /** Q×P and n×P. */
  readonly prediction: Tensor;
  readonly truth: Tensor;
  readonly held: readonly Tensor[];
}

/** Both masks at the same random points; the sampled prediction has a graph. */
function samplePoints(t: Tape, predicted: Tensor, objects: Tensor): Compared {
  const points = derived(t, 'rand', [], { shape: [1, POINTS, 2], dtype: 'float' });
  const prediction = pointsOf(t, predicted, points);
  const [count = 1, height = 1, width = 1] = objects.shape;
  const dense = derived(t, 'to', [objects], { shape: [count, height, width], dtype: 'float' });
  const truth = pointsOf(t, dense, points);
  return { prediction, truth, held: [points] };
}

/** `point_sample`: coordinates are repeated for every mask and brought to −1…1. */
function pointsOf(t: Tape, masks: Tensor, points: Tensor): Tensor {
  const [count = 1, height = 1, width = 1] = masks.shape;
  const shape = { shape: [count, POINTS, 1, 2], dtype: 'float' } as const;
  const repeated = derived(t, 'repeat', [points], shape);
  const scaled = derived(t, 'mul', [repeated], shape);
  const grid = derived(t, 'sub', [scaled], shape);
  const values = gridSample(t, reshape(t, masks, [count, 1, height, width]), grid);
  t.keep(repeated);
  return reshape(t, values, [count, POINTS]);
}

/** Ground truth at the size of the prediction, by nearest neighbours. */
function shrink(t: Tape, predicted: Tensor, objects: Tensor): Compared {
  const [count = 1] = objects.shape;
  const [queries = 1, height = 1, width = 1] = predicted.shape;
  const dense = derived(t, 'to', [objects], { shape: objects.shape, dtype: 'float' });
  const small = derived(t, 'upsample_nearest2d', [dense], { shape: [count, height, width], dtype: 'float' });
  const truth = derived(t, 'to', [small], { shape: [count, height * width], dtype: 'long' });
  return { prediction: reshape(t, predicted, [queries, height * width]), truth, held: [] };
}

/** Cost matrices of classes and masks; what their graphs keep lives until they are summed up. */
function costs(t: Tape, c: { scores: Tensor; compared: Compared; by: 'points' | 'pixels' }): void {
  const { scores, compared } = c;
  const probabilities = derived(t, 'softmax', [scores], { shape: scores.shape, dtype: 'float' });
  const [queries = 1] = scores.shape;
  const pairs = [queries, compared.truth.shape[0] ?? 1];
  const kept = [
    probabilities,
    derived(t, 'mul', [probabilities], { shape: pairs, dtype: 'float' }),
    ...(c.by === 'points' ? crossEntropyCost(t, compared) : focalCost(t, compared)),
    ...diceCost(t, compared),
  ];
  derived(t, 'stack', [], { shape: [3, ...pairs], dtype: 'float' });
  t.keep(...kept);
}

function floating(t: Tape, x: Tensor): Tensor {
  return x.dtype === 'float' ? x : derived(t, 'to', [x], { shape: x.shape, dtype: 'float' });
}

interface CostProduct {
  readonly pairs: Tensor;
  /** What the graph keeps: the second factor. */
  readonly kept: Tensor;
}

/** Q×P times P×n, on the 16-bit list of autocast. */
function costProduct(t: Tape, a: Tensor, b: Tensor): CostProduct {
  const dtype: DType = t.autocast ? 'half' : 'float';
  const left = a.dtype === dtype ? a : derived(t, 'to', [a], { shape: a.shape, dtype });
  const right = b.dtype === dtype ? b : derived(t, 'to', [b], { shape: b.shape, dtype });
  const [rows = 1, inner = 1] = a.shape;
  const [columns = 1] = b.shape;
  const pairs = derived(t, 'bmm', [a, b, left, right], { shape: [rows, columns], dtype });
  const bytes = byteSize(left) + byteSize(right);
  t.work('matmul', dtype === 'half', { macs: rows * inner * columns, bytes, products: 0 });
  return { pairs, kept: right };
}

function bothPairs(t: Tape, first: CostProduct, second: CostProduct): Tensor {
  const { shape, dtype } = first.pairs;
  return derived(t, 'add', [first.pairs, second.pairs], { shape, dtype });
}

function crossEntropyCost(t: Tape, { prediction, truth }: Compared): Tensor[] {
  const like = { shape: prediction.shape, dtype: 'float' } as const;
  const ones = derived(t, 'ones_like', [prediction], like);
  const positive = derived(t, 'binary_cross_entropy_with_logits', [prediction, ones], like);
  const zeros = derived(t, 'zeros_like', [prediction], like);
  const negative = derived(t, 'binary_cross_entropy_with_logits', [prediction, zeros], like);
  const first = costProduct(t, positive, truth);
  const inverse = derived(t, 'rsub', [truth], { shape: truth.shape, dtype: 'float' });
  const second = costProduct(t, negative, inverse);
  const cost = bothPairs(t, first, second);
  t.keep(positive, negative);
  return [ones, zeros, first.kept, second.kept, cost];
}

/** Focal loss of every pair: eight maps of all queries that its graph keeps. */
function focalCost(t: Tape, { prediction, truth }: Compared): Tensor[] {
  const targets = floating(t, truth);
  const own = { shape: prediction.shape, dtype: prediction.dtype };
  const wide = { shape: prediction.shape, dtype: 'float' } as const;
  const probability = derived(t, 'sigmoid', [prediction], own);
  const negative = focalTerm(t, probability, { flipped: true, own, wide });
  const positive = focalTerm(t, probability, { flipped: false, own, wide });
  const first = costProduct(t, positive.cost, targets);
  const inverse = derived(t, 'rsub', [targets], { shape: targets.shape, dtype: 'float' });
  const second = costProduct(t, negative.cost, inverse);
  const cost = bothPairs(t, first, second);
  t.keep(positive.cost, negative.cost, targets);
  return [probability, ...negative.kept, ...positive.kept, first.kept, second.kept, cost];
}

interface Shaped {
  readonly shape: readonly number[];
  readonly dtype: DType;
}

/** −log(p + ε)·α·(1 − p)²: logarithm and power are on the fp32 list. */
function focalTerm(
  t: Tape,
  probability: Tensor,
  { flipped, own, wide }: { flipped: boolean; own: Shaped; wide: Shaped },
): { cost: Tensor; kept: Tensor[] } {
  const base = flipped ? derived(t, 'rsub', [probability], own) : probability;
  const shifted = derived(t, 'add', [base], own);
  const widened = floating(t, shifted);
  const logarithm = derived(t, 'log', [widened], wide);
  const negated = derived(t, 'neg', [logarithm], wide);
  const weighted = derived(t, 'mul', [negated], wide);
  const other = flipped ? probability : derived(t, 'rsub', [probability], own);
  const wideOther = floating(t, other);
  const power = derived(t, 'pow', [wideOther], wide);
  const cost = derived(t, 'mul', [weighted, power], wide);
  return { cost, kept: [widened, wideOther, weighted, power] };
}

function diceCost(t: Tape, { prediction, truth }: Compared): Tensor[] {
  const probability = derived(t, 'sigmoid', [prediction], { shape: prediction.shape, dtype: prediction.dtype });
  const targets = floating(t, truth);
  const { kept } = costProduct(t, probability, targets);
  t.keep(targets);
  return [probability, kept];
}

/** MaskPseudoSampler: copies of the matched and of the other predicted masks, and of the matched truth. */
function sample(t: Tape, predicted: Tensor, objects: Tensor): Tensor[] {
  const part = matchedPart(objects, predicted);
  const [count = 1] = part.shape;
  const [queries = 1, height = 1, width = 1] = predicted.shape;
  const dtype = predicted.dtype;
  const matched = derived(t, 'index', [predicted], { shape: [count, height, width], dtype });
  const others = derived(t, 'index', [predicted], { shape: [queries - count, height, width], dtype });
  // Indices of both, flags and the matched objects: 512 B, 1 KiB, 512 B, 512 B.
  const indices = derived(t, 'index', [], { shape: [320], dtype: 'long' });
  const truth = derived(t, 'index', [objects], part);
  return [matched, others, indices, truth];
}

/** Masks of instances as detectors get them: boxes and labels on the device; `mmdetection` brings the masks there itself. */
export function truthOfInstances(t: Tape, objects: InstanceShape): MaskTruth {
  const { images, count, height, width, widened } = objects;
  const labels = Array.from({ length: images }, () => t.target([count], 'long'));
  for (let image = 0; image < images; image += 1) t.target([count, 4], 'float');
  const shape = [count, height, width];
  const masks = labels.map(() => {
    if (!widened) return t.target(shape, 'byte');
    const raw = derived(t, 'to_tensor', [], { shape, dtype: 'byte' });
    return derived(t, 'to', [raw], { shape, dtype: 'long' });
  });
  return { masks, labels };
}

interface InstanceShape {
  readonly images: number;
  readonly count: number;
  readonly height: number;
  readonly width: number;
  /** Bytes become int64 before they are used (MMDetection). */
  readonly widened: boolean;
}

import { derived } from '../tape/ops-masks.ts';
import type { DType, Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/**
 * Boxes cover a tenth of the picture each: so many of all positions lie in a box and are compared with it. (COCO: 7 % in
 * the mean before letterboxing, recalled.) Only transients depend on it.
 */
const COVERED = 0.1;
/** Positions that the assigner gives to an object at most (`tal_topk`, ultralytics 8.4.190, utils/loss.py). */
const POSITIONS_PER_OBJECT = 10;
/** Vectors that the comparison of box pairs holds at once beside the pairs' boxes: its largest moment (utils/metrics.py). */
const PAIR_VECTORS = 14;

/** Sizes of the assignment in one batch. */
export interface Assignment {
  readonly batch: number;
  /** Objects in an image. */
  readonly objects: number;
  /** Positions on all three maps. */
  readonly positions: number;
  readonly classes: number;
}

/** Positions of an image that are trained as objects. */
export function positivesOf({ objects, positions }: Assignment): number {
  return Math.min(positions, POSITIONS_PER_OBJECT * objects);
}

export interface Assigned {
  /** B×A×4, fp32: box of the object that each position belongs to. */
  readonly boxes: Tensor;
  /** B×A×classes, fp32. */
  readonly scores: Tensor;
  /** B×A, bool: positions that belong to an object. */
  readonly chosen: Tensor;
  /** B×A, int64: which object, and of which class. */
  readonly indices: Tensor;
  readonly labels: Tensor;
}

/** Task-aligned assigner, without gradient: what matters for the peak of its transients (ultralytics 8.4.190, utils/tal.py). */
export function assign(t: Tape, scores: Tensor, boxes: Tensor, sizes: Assignment): Assigned {
  const { batch, objects, positions, classes } = sizes;
  const make = (name: string, from: readonly Tensor[], shape: readonly number[], dtype: DType): Tensor =>
    derived(t, name, from, { shape, dtype });
  return t.call('assigner', [scores, boxes], () => {
    const pairs = [batch, objects, positions];
    const inside = make('gt', [], pairs, 'byte');
    const { overlaps, metric } = pairMetrics(t, { scores, boxes, inside }, sizes);
    const counts = make('zeros', [metric], pairs, 'byte');
    make('gt', [counts], pairs, 'byte');
    const chosen = make('sum', [counts, inside], [batch, positions], 'long');
    const best = make('max', [overlaps], [batch, positions], 'long');
    const single = make('scatter', [best, chosen], pairs, 'byte');
    const unique = make('where', [counts, single], pairs, 'byte');
    const flags = make('max', [unique], [batch, positions], 'byte');
    const indices = make('max', [unique], [batch, positions], 'long');
    t.keep(chosen, best, single);
    const offsets = make('add', [indices], [batch, positions], 'long');
    const labels = make('index', [offsets], [batch, positions], 'long');
    const target = make('index', [offsets], [batch, positions, 4], 'float');
    const hot = make('zeros', [labels], [batch, positions, classes], 'byte');
    const kept = make('mul', [hot, flags], [batch, positions, classes], 'byte');
    t.keep(offsets);
    const perObject = [
      make('amax', [metric], [batch, objects], 'float'),
      make('amax', [overlaps], [batch, objects], 'float'),
    ];
    const norm = make('amax', [metric, overlaps, unique], [batch, positions], 'float');
    const weighted = make('mul', [kept, norm], [batch, positions, classes], 'float');
    t.keep(overlaps, metric, unique, kept, norm, ...perObject);
    const mask = make('to', [flags], [batch, positions], 'byte');
    return { boxes: target, scores: weighted, chosen: mask, indices, labels };
  });
}

interface Pairs {
  readonly scores: Tensor;
  readonly boxes: Tensor;
  readonly inside: Tensor;
}

/** Score and overlap of every position with every object whose box it lies in, spread over B×n×A. */
function pairMetrics(
  t: Tape,
  { scores, boxes, inside }: Pairs,
  sizes: Assignment,
): { overlaps: Tensor; metric: Tensor } {
  const { batch, objects, positions } = sizes;
  const count = batch * objects * Math.ceil(COVERED * positions);
  const all = [batch, objects, positions];
  const widened = derived(t, 'mul', [inside], { shape: all, dtype: 'float' });
  const candidates = derived(t, 'to', [widened], { shape: all, dtype: 'byte' });
  const where = derived(t, 'nonzero', [candidates], { shape: [count, 3], dtype: 'long' });
  const picked = derived(t, 'index', [scores, where], { shape: [count], dtype: scores.dtype });
  const truth = derived(t, 'index', [where], { shape: [count, 4], dtype: 'float' });
  const predicted = derived(t, 'index', [boxes, where], { shape: [count, 4], dtype: 'float' });
  const vectors = derived(t, 'bbox_iou', [truth, predicted], { shape: [count, PAIR_VECTORS], dtype: 'float' });
  const values = derived(t, 'clamp', [vectors], { shape: [count], dtype: 'float' });
  const products = derived(t, 'pow', [picked, values], { shape: [count], dtype: 'float' });
  const overlaps = derived(t, 'zeros', [values], { shape: all, dtype: 'float' });
  const metric = derived(t, 'zeros', [products], { shape: all, dtype: 'float' });
  t.keep(widened, candidates, where, picked, values, products);
  return { overlaps, metric };
}

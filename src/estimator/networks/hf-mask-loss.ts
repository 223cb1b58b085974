import { add, scale, shift } from '../tape/ops-core.ts';
import { binaryCrossEntropy } from '../tape/ops-loss.ts';
import { derived, dividedBy } from '../tape/ops-masks.ts';
import { mean, sum } from '../tape/ops-resize.ts';
import { gridSample } from '../tape/ops-sample.ts';
import { reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { hfClassLoss, hfDiceLoss, matchedMasks, objectCount } from './hf-mask-loss-parts.ts';
import type { HfMaskPrediction, HfMaskTruth } from './hf-mask-matching.ts';
import { centred, readAt } from './hf-mask-points.ts';
import { POINTS } from './mask-matching.ts';

const OVERSAMPLED = 3 * POINTS;
const UNCERTAIN = 0.75 * POINTS;

export interface HfMaskLosses {
  /** In the order of the dict: masks, dice, classes. */
  readonly mask: Tensor;
  readonly dice: Tensor;
  readonly classes: Tensor;
}

/** What predictions are compared with. */
export interface HfMaskCriterion {
  readonly truth: HfMaskTruth;
  /** Of the classes: K+1. */
  readonly weights: Tensor;
  readonly match: (t: Tape, prediction: HfMaskPrediction, truth: HfMaskTruth) => void;
}

/** Losses of one prediction of Mask2Former, OneFormer and EoMT in transformers 5.24. */
export function hfMaskLosses(
  t: Tape,
  prediction: HfMaskPrediction,
  { truth, weights, match }: HfMaskCriterion,
): HfMaskLosses {
  return t.within('criterion', () => {
    match(t, prediction, truth);
    const count = objectCount(t);
    const [mask, dice] = pointLosses(t, prediction.masks, truth, count);
    const classes = hfClassLoss(t, prediction.classes, truth, weights);
    t.keep(count, mask, dice);
    return { mask, dice, classes };
  });
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

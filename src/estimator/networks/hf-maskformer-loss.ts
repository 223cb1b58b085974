import { sigmoid } from '../tape/ops-activation.ts';
import { add, multiply, scale } from '../tape/ops-core.ts';
import { binaryCrossEntropy } from '../tape/ops-loss.ts';
import { derived, dividedBy } from '../tape/ops-masks.ts';
import { square } from '../tape/ops-reduce.ts';
import { mean, resize, sum } from '../tape/ops-resize.ts';
import { reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { HfMaskLosses } from './hf-mask-loss.ts';
import { hfClassLoss, hfDiceLoss, matchedMasks, objectCount } from './hf-mask-loss-parts.ts';
import type { HfMaskPrediction, HfMaskTruth } from './hf-mask-matching.ts';
import { costProduct } from './hf-mask-points.ts';

/** Small kernels an image before the host assigns masks: counted in a trace, 2026-11. */
const WAITING_LAUNCHES = 35;

/** Losses of MaskFormer in transformers 5.24: focal and dice on masks resized to the image. */
export function maskFormerLosses(
  t: Tape,
  prediction: HfMaskPrediction,
  truth: HfMaskTruth,
  weights: Tensor,
): HfMaskLosses {
  return t.within('criterion', () => {
    matchByPixels(t, prediction, truth);
    const count = objectCount(t);
    const [mask, dice] = pixelLosses(t, prediction.masks, truth, count);
    const classes = hfClassLoss(t, prediction.classes, truth, weights);
    t.keep(count, mask, dice);
    return { mask, dice, classes };
  });
}

function pixelLosses(t: Tape, masks: Tensor, truth: HfMaskTruth, count: Tensor): readonly [Tensor, Tensor] {
  const { selected, wanted: maps, held } = matchedMasks(t, masks, truth);
  const [rows = 1, height = 1, width = 1] = selected.shape;
  const [, imageHeight = 1, imageWidth = 1] = maps.shape;
  const resized = resize(t, reshape(t, selected, [rows, 1, height, width]), [imageHeight, imageWidth]);
  const logits = reshape(t, resized, [rows, imageHeight * imageWidth]);
  const wanted = reshape(t, maps, logits.shape);
  const mask = focalLoss(t, logits, wanted, count);
  const dice = hfDiceLoss(t, logits, wanted, count);
  t.keep(wanted, held, logits);
  return [mask, dice];
}

/** `ce · (1 − p_t)² · α_t`, written out: every factor is kept. */
function focalLoss(t: Tape, logits: Tensor, wanted: Tensor, count: Tensor): Tensor {
  const like = { shape: logits.shape, dtype: 'float' } as const;
  const probability = sigmoid(t, logits);
  const entropy = binaryCrossEntropy(t, logits, wanted, false);
  const hit = multiply(t, probability, wanted);
  const missed = scale(t, probability);
  const correct = add(t, hit, multiply(t, missed, derived(t, 'rsub', [wanted], like)));
  const focused = multiply(t, entropy, square(t, scale(t, correct)));
  const positive = derived(t, 'mul', [wanted], like);
  const negative = derived(t, 'mul', [derived(t, 'rsub', [wanted], like)], like);
  const balance = derived(t, 'add', [positive, negative], like);
  const loss = multiply(t, focused, balance);
  const total = dividedBy(t, sum(t, mean(t, loss, [1], false), [0], false), count);
  t.keep(probability, entropy, correct, balance, loss);
  return total;
}

/** Variables of one image that live until the next image's replace them. */
interface Costs {
  readonly wanted: Tensor;
  readonly classes: Tensor;
  readonly mask: Tensor;
  readonly dice: Tensor;
  readonly matrix: Tensor;
}

/** Costs on whole masks at the prediction's size, image by image. */
function matchByPixels(t: Tape, prediction: HfMaskPrediction, truth: HfMaskTruth): void {
  let old: Costs | undefined;
  for (const objects of truth) {
    t.works.waitingLaunches += WAITING_LAUNCHES;
    const costs: Costs = costsOf(t, prediction, objects, old);
    t.keep(costs.wanted, costs.classes, costs.mask, costs.dice, costs.matrix);
    old = costs;
  }
}

function costsOf(t: Tape, { classes, masks }: HfMaskPrediction, objects: Tensor, old: Costs | undefined): Costs {
  const replaces = (before: Tensor | undefined): void => (before === undefined ? undefined : t.keep(before));
  const [, queries = 1, width = 1] = classes.shape;
  const [, , height = 1, breadth = 1] = masks.shape;
  const [count = 1] = objects.shape;
  const pairs = { shape: [queries, count], dtype: 'float' } as const;
  const wanted = derived(t, 'upsample_nearest2d', [objects, classes, masks], {
    shape: [count, height * breadth],
    dtype: 'float',
  });
  const probabilities = derived(t, 'softmax', [], { shape: [queries, width], dtype: 'float' });
  const classCost = derived(t, 'neg', [derived(t, 'index', [probabilities], pairs)], pairs);
  replaces(old?.wanted);
  replaces(old?.classes);
  const shape = [queries, height * breadth] as const;
  const mask = focalCost(t, { like: masks, shape, half: masks.dtype === 'half' }, wanted);
  replaces(old?.mask);
  const probability = derived(t, 'sigmoid', [masks], { shape, dtype: masks.dtype });
  const dice = derived(t, 'rsub', [costProduct(t, probability, wanted, [queries, count])], pairs);
  t.keep(probability);
  replaces(old?.dice);
  const matrix = derived(t, 'nan_to_num', [mask, dice, classCost], pairs);
  replaces(old?.matrix);
  t.keep(probabilities);
  return { wanted, classes: classCost, mask, dice, matrix };
}

/** The fp32 list of autocast holds BCE and `pow`: 16-bit logits, ones and probabilities are widened for them. */
function focalCost(
  t: Tape,
  masks: { like: Tensor; shape: readonly [number, number]; half: boolean },
  wanted: Tensor,
): Tensor {
  const { shape, half } = masks;
  const own = { shape, dtype: half ? 'half' : 'float' } as const;
  const wide = { shape, dtype: 'float' } as const;
  const probability = derived(t, 'sigmoid', [masks.like], own);
  const term = (flipped: boolean): { entropy: Tensor; cost: Tensor } => {
    const constant = derived(t, 'ones_like', [], own);
    const casts = half ? [derived(t, 'to', [masks.like], wide), derived(t, 'to', [constant], wide)] : [];
    const entropy = derived(t, 'binary_cross_entropy_with_logits', [constant, ...casts], wide);
    const base = flipped ? derived(t, 'rsub', [probability], own) : probability;
    const raised = half ? derived(t, 'to', [base], wide) : base;
    const power = derived(t, 'pow', [base, raised], wide);
    const cost = derived(t, 'mul', [power, entropy], wide);
    return { entropy, cost };
  };
  const positive = term(true);
  const negative = term(false);
  const pairs = [shape[0], wanted.shape[0] ?? 1] as const;
  const first = costProduct(t, positive.cost, wanted, pairs);
  const inverse = derived(t, 'rsub', [wanted], { shape: wanted.shape, dtype: 'float' });
  const second = costProduct(t, negative.cost, inverse, pairs);
  const sumOfBoth = derived(t, 'add', [first, second], { shape: pairs, dtype: first.dtype });
  const cost = derived(t, 'div', [sumOfBoth], { shape: pairs, dtype: sumOfBoth.dtype });
  t.keep(probability, positive.entropy, positive.cost, negative.entropy, negative.cost);
  return cost;
}

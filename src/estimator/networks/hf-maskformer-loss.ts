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

/** Costs on whole masks at the prediction's size; one image's variables live until the next one's replace them. */
function matchByPixels(t: Tape, { classes, masks }: HfMaskPrediction, truth: HfMaskTruth): void {
  const [, queries = 1, width = 1] = classes.shape;
  const [, , height = 1, breadth = 1] = masks.shape;
  let old: readonly Tensor[] = [];
  for (const objects of truth) {
    t.waitingLaunches += WAITING_LAUNCHES;
    const [count = 1] = objects.shape;
    const pairs = { shape: [queries, count], dtype: 'float' } as const;
    const wanted = derived(t, 'upsample_nearest2d', [objects, classes, masks], {
      shape: [count, height * breadth],
      dtype: 'float',
    });
    t.keep(...old.slice(0, 1));
    const probabilities = derived(t, 'softmax', [], { shape: [queries, width], dtype: 'float' });
    const classCost = derived(t, 'neg', [derived(t, 'index', [probabilities], pairs)], pairs);
    const maskCost = focalCost(
      t,
      { like: masks, shape: [queries, height * breadth], half: masks.dtype === 'half' },
      wanted,
    );
    const probability = derived(t, 'sigmoid', [masks], { shape: [queries, height * breadth], dtype: masks.dtype });
    const product = costProduct(t, probability, wanted, [queries, count]);
    const diceCost = derived(t, 'rsub', [product], pairs);
    t.keep(probability, ...old);
    const matrix = derived(t, 'nan_to_num', [maskCost, diceCost, classCost], pairs);
    old = [wanted, probabilities, classCost, maskCost, diceCost, matrix];
    t.keep(...old);
  }
}

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
    const entropy = derived(t, 'binary_cross_entropy_with_logits', [constant], wide);
    const base = flipped ? derived(t, 'rsub', [probability], own) : probability;
    const power = derived(t, 'pow', [base], wide);
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
  t.keep(probability, positive.entropy, positive.cost, negative.entropy, negative.cost);
  return derived(t, 'div', [sumOfBoth], { shape: pairs, dtype: sumOfBoth.dtype });
}

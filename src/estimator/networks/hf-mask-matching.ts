import { derived } from '../tape/ops-masks.ts';
import { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { costProduct, readAt } from './hf-mask-points.ts';
import { POINTS } from './mask-matching.ts';

export interface HfMaskPrediction {
  /** B×Q×(K+1). */
  readonly classes: Tensor;
  /** B×Q×h×w. */
  readonly masks: Tensor;
}

/** Ground truth of every image: float n×H×W. */
export type HfMaskTruth = readonly Tensor[];

/** Small kernels an image and prediction before the host assigns masks: counted in a trace of Mask2Former, 2026-11. */
export const WAITING_LAUNCHES = 45;

/** What is left over from the previous image in the variables of the loop. */
interface Leftover {
  classCost?: Tensor;
  probabilities?: Tensor;
  truth?: Tensor;
  points?: Tensor;
  spread?: Tensor[];
  prediction?: Tensor;
  costs?: Tensor[];
}

function drop(t: Tape, ...old: readonly (Tensor | undefined)[]): void {
  t.keep(...old.filter((x) => x !== undefined));
}

/**
 * Hungarian matcher of Mask2Former and EoMT in transformers 5.24: image by image, costs on 12,544 random
 * points that are repeated for every query. The variables of one image live until the next one replaces them.
 */
export function hfMatchByPoints(t: Tape, { classes, masks }: HfMaskPrediction, truth: HfMaskTruth): void {
  const [, queries = 1, width = 1] = classes.shape;
  const [, , height = 1, breadth = 1] = masks.shape;
  let old: Leftover = {};
  for (const objects of truth) {
    t.works.waitingLaunches += WAITING_LAUNCHES;
    const [count = 1, imageHeight = 1, imageWidth = 1] = objects.shape;
    const pairs = { shape: [queries, count], dtype: 'float' } as const;
    const probabilities = derived(t, 'softmax', [classes, masks], { shape: [queries, width], dtype: 'float' });
    drop(t, old.probabilities, old.prediction);
    const classCost = derived(t, 'neg', [derived(t, 'index', [probabilities], pairs)], pairs);
    drop(t, old.classCost);
    const target =
      objects.dtype === masks.dtype
        ? objects
        : derived(t, 'to', [objects], { shape: objects.shape, dtype: masks.dtype });
    drop(t, old.truth);
    const points = derived(t, 'rand', [], { shape: [1, POINTS, 2], dtype: 'float' });
    drop(t, old.points);
    const forTruth = derived(t, 'repeat', [points], { shape: [count, POINTS, 2], dtype: 'float' });
    drop(t, old.spread?.[0]);
    const wanted = readAt(t, asShape(target, [count, 1, imageHeight, imageWidth]), forTruth);
    const forQueries = derived(t, 'repeat', [points], { shape: [queries, POINTS, 2], dtype: 'float' });
    drop(t, old.spread?.[1]);
    const predicted = readAt(t, asShape(masks, [queries, 1, height, breadth]), forQueries);
    const maskCost = crossEntropyCost(t, predicted, wanted);
    drop(t, old.costs?.[0]);
    const diceCost = pairwiseDice(t, predicted, wanted);
    drop(t, old.costs?.[1]);
    const matrix = derived(t, 'nan_to_num', [derived(t, 'add', [maskCost, classCost, diceCost], pairs)], pairs);
    drop(t, old.costs?.[2], forTruth, forQueries, points, predicted, wanted, probabilities, classCost);
    old = {
      ...{ probabilities, classCost, points, prediction: predicted, truth: wanted },
      ...{ spread: [forTruth, forQueries], costs: [maskCost, diceCost, matrix] },
    };
  }
  drop(t, old.probabilities, old.classCost, old.points, old.prediction, old.truth);
  drop(t, ...(old.spread ?? []), ...(old.costs ?? []));
}

/** The same memory under another shape, outside of the graph. */
export function asShape(x: Tensor, shape: readonly number[]): Tensor {
  return new Tensor({ storage: x.storage, shape, dtype: x.dtype });
}

/** Binary cross entropy of every query against ones and zeros, spread over the truth by two products. */
export function crossEntropyCost(t: Tape, predicted: Tensor, wanted: Tensor): Tensor {
  const [queries = 1] = predicted.shape;
  const [count = 1] = wanted.shape;
  const like = { shape: predicted.shape, dtype: 'float' } as const;
  const ones = derived(t, 'ones_like', [predicted], like);
  const positive = derived(t, 'binary_cross_entropy_with_logits', [predicted, ones], like);
  const zeros = derived(t, 'zeros_like', [predicted], like);
  const negative = derived(t, 'binary_cross_entropy_with_logits', [predicted, zeros], like);
  const first = costProduct(t, derived(t, 'div', [positive], like), wanted, [queries, count]);
  const share = derived(t, 'div', [negative], like);
  const inverse = derived(t, 'rsub', [wanted], { shape: wanted.shape, dtype: 'float' });
  const second = costProduct(t, share, inverse, [queries, count]);
  const cost = derived(t, 'add', [first, second], { shape: [queries, count], dtype: first.dtype });
  t.keep(positive, negative);
  return cost;
}

export function pairwiseDice(t: Tape, predicted: Tensor, wanted: Tensor): Tensor {
  const [queries = 1] = predicted.shape;
  const [count = 1] = wanted.shape;
  const pairs = { shape: [queries, count], dtype: 'float' } as const;
  const probability = derived(t, 'sigmoid', [predicted], { shape: predicted.shape, dtype: predicted.dtype });
  const numerator = derived(t, 'mul', [costProduct(t, probability, wanted, [queries, count])], pairs);
  const denominator = derived(t, 'add', [probability, wanted], pairs);
  const loss = derived(t, 'rsub', [derived(t, 'div', [numerator, denominator], pairs)], pairs);
  t.keep(probability, numerator, denominator);
  return loss;
}

import { derived } from '../tape/ops-masks.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import {
  asShape,
  crossEntropyCost,
  type HfMaskPrediction,
  type HfMaskTruth,
  pairwiseDice,
  WAITING_LAUNCHES,
} from './hf-mask-matching.ts';
import { readAt } from './hf-mask-points.ts';
import { POINTS } from './mask-matching.ts';

/** Locals that the loop's next round replaces one by one. */
interface Locals {
  readonly classCost: Tensor;
  readonly points: Tensor;
  readonly maskCost: Tensor;
  readonly diceCost: Tensor;
}

/**
 * Hungarian matcher of OneFormer in transformers 5.24. Beside Mask2Former's it leaves autocast for the costs, names no
 * repeated points (they die with the sampling), and reuses the loop's own variables, which the next image replaces first.
 */
export function oneFormerMatch(t: Tape, prediction: HfMaskPrediction, truth: HfMaskTruth): void {
  let old: Locals | undefined;
  for (const objects of truth) {
    t.works.waitingLaunches += WAITING_LAUNCHES;
    old = matchImage(t, prediction, objects, old);
  }
  if (old !== undefined) t.keep(old.classCost, old.points, old.maskCost, old.diceCost);
}

function matchImage(t: Tape, { classes, masks }: HfMaskPrediction, objects: Tensor, old: Locals | undefined): Locals {
  const [, queries = 1, width = 1] = classes.shape;
  const [, , height = 1, breadth = 1] = masks.shape;
  const [count = 1, imageHeight = 1, imageWidth = 1] = objects.shape;
  const pairs = { shape: [queries, count], dtype: 'float' } as const;
  const replaces = (before: Tensor | undefined): void => (before === undefined ? undefined : t.keep(before));
  const probabilities = derived(t, 'softmax', [classes, masks], { shape: [queries, width], dtype: 'float' });
  const classCost = derived(t, 'neg', [derived(t, 'index', [probabilities], pairs)], pairs);
  replaces(old?.classCost);
  const points = derived(t, 'rand', [], { shape: [1, POINTS, 2], dtype: 'float' });
  replaces(old?.points);
  const read = (map: Tensor, shape: readonly [number, number, number, number]): Tensor => {
    const repeated = derived(t, 'repeat', [points], { shape: [shape[0], POINTS, 2], dtype: 'float' });
    return readAt(t, asShape(map, shape), repeated);
  };
  const wanted = read(objects, [count, 1, imageHeight, imageWidth]);
  const predicted = read(masks, [queries, 1, height, breadth]);
  return t.withoutAutocast(() => {
    const maskCost = crossEntropyCost(t, predicted, wanted);
    replaces(old?.maskCost);
    const diceCost = pairwiseDice(t, predicted, wanted);
    replaces(old?.diceCost);
    derived(t, 'nan_to_num', [derived(t, 'add', [maskCost, classCost, diceCost], pairs)], pairs);
    t.keep(probabilities, predicted, wanted, points);
    return { classCost, points, maskCost, diceCost };
  });
}

import { softmax } from '../tape/ops-activation.ts';
import { add, cast, constant, multiply, scale, shift, unary } from '../tape/ops-core.ts';
import { crossEntropy } from '../tape/ops-loss.ts';
import { slice } from '../tape/ops-parts.ts';
import { mean, sum } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { Workload } from '../workload.ts';
import type { Run } from './network.ts';
import type { Stage } from './nnunet-plan.ts';

/** Classes with the background, which is always one. */
export function nnunetHeads(w: Workload): number {
  return Math.max(2, w.numClasses);
}

/** Labels of B×1×h×w for every stage but the deepest, from the image's size down: int16, two bytes as `half`. */
export function nnunetTargets(t: Tape, w: Workload, stages: readonly Stage[]): readonly Tensor[] {
  let [height, width] = [w.imageHeight, w.imageWidth];
  return stages.slice(0, -1).map(({ stride }) => {
    [height, width] = [height / stride[0], width / stride[1]];
    return t.target([w.batchSize, 1, height, width], 'half');
  });
}

/**
 * Loss of `nnUNetTrainer` (nnunetv2 2.8.1): Dice over the batch without background plus cross entropy, at every scale with
 * weights 1, ½, ¼ …; the deepest logits have weight 0. (Under DDP theirs is 1e-6, for under 0.1 % more memory: left out.)
 * The trainer keeps all logits through backward.
 */
export function nnunetLoss(run: Run, logits: readonly Tensor[], targets: readonly Tensor[]): Tensor {
  const { t, w } = run;
  const used = logits.length - 1;
  const terms: Tensor[] = [];
  for (let index = 0; index < used; index += 1) {
    const [predicted, target] = [logits[index], targets[index]];
    if (predicted === undefined || target === undefined) continue;
    terms.push(t.within(`loss.${index}`, () => scale(t, diceAndEntropy(t, predicted, target))));
  }
  const [first = constant(t, 'zeros', [], 'float'), ...others] = terms;
  const loss = others.reduce((total, term) => add(t, total, term), shift(t, first));
  t.keep(...terms, ...logits);
  if (w.outputHeld) holdOutputs(t, logits, used);
  return loss;
}

/** Backward never reaches logits without a weight: what their convolution saved stays with them. */
function holdOutputs(t: Tape, logits: readonly Tensor[], used: number): void {
  for (const output of logits) t.hold(output);
  for (const unused of logits.slice(used)) t.held.push(...(unused.node?.saved ?? []));
}

function diceAndEntropy(t: Tape, logits: Tensor, target: Tensor): Tensor {
  const dice = softDice(t, logits, target);
  const labels = cast(t, target, 'long');
  const entropy = crossEntropy(t, logits, labels);
  const weighted = [scale(t, entropy), scale(t, dice)] as const;
  const total = add(t, ...weighted);
  t.keep(dice, entropy);
  return total;
}

/** `MemoryEfficientSoftDiceLoss`: keeps the softmax result and the one-hot labels, both fp32 and with the background. */
function softDice(t: Tape, logits: Tensor, target: Tensor): Tensor {
  const [, classes = 1] = logits.shape;
  const probabilities = softmax(t, logits);
  const oneHot = oneHotOf(t, target, logits.shape);
  const area = [2, 3];
  const truth = slice(t, oneHot, 1, classes - 1);
  let truthSum = sum(t, truth, area, false);
  const foreground = slice(t, probabilities, 1, classes - 1);
  let intersection = sum(t, multiply(t, foreground, truth), area, false);
  let predictedSum = sum(t, foreground, area, false);
  t.keep(truthSum, intersection);
  intersection = sum(t, intersection, [0], false);
  predictedSum = sum(t, predictedSum, [0], false);
  truthSum = sum(t, truthSum, [0], false);
  const numerator = shift(t, scale(t, intersection));
  const both = shift(t, add(t, truthSum, predictedSum));
  const denominator = unary(t, both, 'clamp_min', { keeps: 'input' });
  const score = mean(t, multiply(t, numerator, denominator, { name: 'div' }), [0], false);
  const loss = scale(t, score);
  t.keep(probabilities, oneHot, truthSum, intersection, predictedSum, score);
  return loss;
}

/** int64 labels are written as ones into zeros. */
function oneHotOf(t: Tape, target: Tensor, shape: readonly number[]): Tensor {
  const zeros = constant(t, 'zeros', shape, 'float');
  const labels = cast(t, target, 'long');
  t.begin('scatter_', [zeros, labels]);
  return zeros;
}

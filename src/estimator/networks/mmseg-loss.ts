import { constant, multiply, scale } from '../tape/ops-core.ts';
import { accuracy, crossEntropy } from '../tape/ops-loss.ts';
import { resize, sum } from '../tape/ops-resize.ts';
import { reshape } from '../tape/ops-shape.ts';
import { elements, type Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { LossName } from '../workload.ts';
import { mmsegDice } from './mmseg-dice.ts';
import { sigmoidCrossEntropy } from './mmseg-sigmoid-loss.ts';

/** What a head adds to the dict of losses: terms of the sum, and figures that are only logged. */
export interface HeadLosses {
  readonly losses: readonly Tensor[];
  readonly accuracies: readonly Tensor[];
}

/** One loss of a head on full-resolution logits. */
export type LossTerm = (t: Tape, resized: Tensor, label: Tensor) => Tensor;

export interface LossOptions {
  readonly loss?: LossName;
  /** Replaces the loss that `loss` names. */
  readonly terms?: readonly LossTerm[];
  /** OHEMPixelSampler: pixels of the highest loss, or of a class probability below a threshold. */
  readonly hardPixels?: 'loss' | 'threshold';
}

/**
 * `BaseDecodeHead.loss_by_feat`: logits resized to the label, losses averaged by hand, accuracy; the logits are held
 * throughout. MMSegmentation 1.2.2.
 */
export function lossByFeature(t: Tape, logits: Tensor, target: Tensor, options: LossOptions = {}): HeadLosses {
  const [batch = 1, , height = 1, width = 1] = target.shape;
  const resized = resize(t, logits, [height, width]);
  const label = reshape(t, target, [batch, height, width]);
  const weight = options.hardPixels === undefined ? undefined : pixelWeights(t, resized, label, options.hardPixels);
  const losses =
    options.terms?.map((term) => term(t, resized, label)) ??
    namedLosses(t, { resized, label, weight }, options.loss ?? 'cross-entropy');
  const correct = accuracy(t, resized, label);
  t.keep(resized, logits, ...(weight === undefined ? [] : [weight]));
  return { losses, accuracies: [correct] };
}

interface LossInputs {
  readonly resized: Tensor;
  readonly label: Tensor;
  readonly weight: Tensor | undefined;
}

function namedLosses(t: Tape, { resized, label, weight }: LossInputs, loss: LossName): Tensor[] {
  const losses: Tensor[] = [];
  if (loss === 'cross-entropy' || loss === 'cross-entropy+dice')
    losses.push(meanCrossEntropy(t, resized, label, weight));
  if (loss === 'bce' || loss === 'dice+bce') losses.push(sigmoidCrossEntropy(t, resized, label, weight));
  if (loss !== 'cross-entropy' && loss !== 'bce') losses.push(mmsegDice(t, resized, label));
  return losses;
}

/** `CrossEntropyLoss`: one value per pixel, optionally weighted, summed and divided by the number of pixels. */
export function meanCrossEntropy(t: Tape, logits: Tensor, label: Tensor, weight?: Tensor): Tensor {
  const map = crossEntropy(t, logits, label, { reduced: false });
  const weighted = weight === undefined ? map : multiply(t, map, weight);
  const average = scale(
    t,
    sum(
      t,
      weighted,
      weighted.shape.map((_, axis) => axis),
      false,
    ),
  );
  t.keep(map, weighted);
  return scale(t, average);
}

/** Weights of one for the pixels that are kept; sorting all of them is often the forward peak. */
function pixelWeights(t: Tape, logits: Tensor, label: Tensor, kind: 'loss' | 'threshold'): Tensor {
  const pixels = elements(label.shape);
  const valid = constant(t, 'ne', label.shape, 'byte');
  const weight = constant(t, 'new_zeros', label.shape, 'float');
  t.begin('index', [weight, valid]);
  const validWeight = constant(t, 'index', [pixels], 'float');
  const sorted = kind === 'loss' ? sortedLosses(t, logits, label, valid) : sortedProbabilities(t, logits, label, valid);
  t.begin('index_put_', [validWeight, valid]);
  t.keep(weight, ...sorted);
  return weight;
}

function sortPixels(t: Tape, x: Tensor): Tensor[] {
  t.begin('sort', [x]);
  return [constant(t, 'sort', x.shape, 'float'), constant(t, 'sort', x.shape, 'long')];
}

function sortedLosses(t: Tape, logits: Tensor, label: Tensor, valid: Tensor): Tensor[] {
  const probabilities = constant(t, 'log_softmax', logits.shape, 'float');
  const map = constant(t, 'nll_loss', label.shape, 'float');
  t.keep(probabilities);
  const scaled = constant(t, 'mul', label.shape, 'float');
  t.keep(map);
  const losses = constant(t, 'add', label.shape, 'float');
  t.keep(scaled);
  const chosen = constant(t, 'index', [elements(label.shape)], 'float');
  const sorted = sortPixels(t, chosen);
  t.keep(chosen, losses, valid);
  return [...sorted, losses];
}

function sortedProbabilities(t: Tape, logits: Tensor, label: Tensor, valid: Tensor): Tensor[] {
  const pixels = elements(label.shape);
  const probabilities = constant(t, 'softmax', logits.shape, 'float');
  const copied = constant(t, 'clone', label.shape, 'long');
  constant(t, 'eq', label.shape, 'byte');
  const chosen = constant(t, 'gather', label.shape, 'float');
  t.keep(probabilities);
  const masked = constant(t, 'index', [pixels], 'float');
  const sorted = sortPixels(t, masked);
  t.keep(masked);
  const again = constant(t, 'index', [pixels], 'float');
  constant(t, 'lt', [pixels], 'byte');
  t.keep(again, chosen, copied, valid);
  return [...sorted, chosen, copied];
}

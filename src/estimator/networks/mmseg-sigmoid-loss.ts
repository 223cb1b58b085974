import { constant, multiply, scale } from '../tape/ops-core.ts';
import { mean } from '../tape/ops-layers.ts';
import { binaryCrossEntropy } from '../tape/ops-loss.ts';
import { elements } from '../tape/storage.ts';
import { mmsegDice } from './mmseg-dice.ts';
import type { LossTerm } from './mmseg-loss.ts';

/**
 * `CrossEntropyLoss(use_sigmoid=True)`: one binary loss per class. The labels become an int64 one-hot map, its float
 * copy and a float map of valid pixels, all as large as the logits (MMSegmentation 1.2.2).
 */
export const sigmoidCrossEntropy: LossTerm = (t, logits, label) => {
  const pixels = elements(label.shape);
  const hot = constant(t, 'new_zeros', logits.shape, 'long');
  const within = [constant(t, 'ge', label.shape, 'byte'), constant(t, 'ne', label.shape, 'byte')];
  const valid = constant(t, 'bitwise_and', label.shape, 'byte');
  t.keep(...within);
  const positions = constant(t, 'nonzero', [pixels, 3], 'long');
  const picked = constant(t, 'index', [pixels], 'long');
  t.begin('index_put_', [hot, picked]);
  const weight = constant(t, 'to', logits.shape, 'float');
  t.keep(valid, positions);
  const truth = constant(t, 'to', logits.shape, 'float');
  const values = binaryCrossEntropy(t, logits, truth, false);
  const weighted = multiply(t, values, weight);
  const average = mean(
    t,
    weighted,
    weighted.shape.map((_, axis) => axis),
    false,
  );
  t.keep(hot, weight, values, weighted);
  return scale(t, average);
};

export const sigmoidDice: LossTerm = (t, logits, label) => mmsegDice(t, logits, label);

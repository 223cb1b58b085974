import { constant, multiply, scale } from '../tape/ops-core.ts';
import { binaryCrossEntropy } from '../tape/ops-loss.ts';
import { mean } from '../tape/ops-resize.ts';
import { reshape } from '../tape/ops-shape.ts';
import { elements, type Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/**
 * `CrossEntropyLoss(use_sigmoid=True)`: one binary loss per class. The labels become an int64 one-hot map, its float
 * copy and a float map of valid pixels, all as large as the logits (MMSegmentation 1.2.2).
 */
export function sigmoidCrossEntropy(t: Tape, logits: Tensor, label: Tensor, pixelWeight?: Tensor): Tensor {
  const one = logits.shape[1] === 1;
  const prediction = one ? reshape(t, logits, label.shape) : logits;
  const { truth, valid, held } = one ? binaryTargets(t, label) : oneHotTargets(t, logits, label);
  const weight = pixelWeight === undefined ? valid : constant(t, 'mul', valid.shape, 'float');
  const values = binaryCrossEntropy(t, prediction, truth, false);
  const weighted = multiply(t, values, weight);
  const axes = weighted.shape.map((_, axis) => axis);
  const average = mean(t, weighted, axes, false);
  t.keep(...held, valid, weight, values, weighted);
  return scale(t, average);
}

interface Targets {
  readonly truth: Tensor;
  /** One where the label counts. */
  readonly valid: Tensor;
  readonly held: readonly Tensor[];
}

function oneHotTargets(t: Tape, logits: Tensor, label: Tensor): Targets {
  const pixels = elements(label.shape);
  const hot = constant(t, 'new_zeros', logits.shape, 'long');
  const counted = validPixels(t, label);
  const positions = constant(t, 'nonzero', [pixels, 3], 'long');
  const picked = constant(t, 'index', [pixels], 'long');
  t.begin('index_put_', [hot, picked]);
  const valid = constant(t, 'to', logits.shape, 'float');
  t.keep(counted, positions);
  return { truth: constant(t, 'to', logits.shape, 'float'), valid, held: [hot] };
}

/** With one output the labels are the targets. */
function binaryTargets(t: Tape, label: Tensor): Targets {
  const counted = validPixels(t, label);
  const valid = constant(t, 'to', label.shape, 'float');
  t.keep(counted);
  return { truth: constant(t, 'to', label.shape, 'float'), valid, held: [] };
}

function validPixels(t: Tape, label: Tensor): Tensor {
  const within = [constant(t, 'ge', label.shape, 'byte'), constant(t, 'ne', label.shape, 'byte')];
  const valid = constant(t, 'bitwise_and', label.shape, 'byte');
  t.keep(...within);
  return valid;
}

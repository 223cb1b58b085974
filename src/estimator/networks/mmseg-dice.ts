import { sigmoid } from '../tape/ops-activation.ts';
import { constant, multiply, scale, shift } from '../tape/ops-core.ts';
import { indexed } from '../tape/ops-index.ts';
import { mean, sum } from '../tape/ops-resize.ts';
import { reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/** `DiceLoss` of MMSegmentation 1.2.2 with its defaults: sigmoid of every class, squared denominator. */
export function mmsegDice(t: Tape, logits: Tensor, label: Tensor): Tensor {
  const [batch = 1, classes = 1, height = 1, width = 1] = logits.shape;
  const hot = oneHot(t, label, classes);
  const active = sigmoid(t, logits);
  const prediction = indexed(t, active, active.shape);
  const flat = reshape(t, prediction, [batch, classes * height * width]);
  const chosen = constant(t, 'index', logits.shape, 'long');
  const truth = constant(t, 'to', flat.shape, 'float');
  t.keep(chosen);
  const overlap = sum(t, multiply(t, flat, truth), [1], false);
  const predicted = shift(t, sum(t, multiply(t, flat, flat), [1], false));
  constant(t, 'mul', flat.shape, 'float');
  const size = constant(t, 'add', [batch], 'float');
  const denominator = addConstant(t, predicted, size);
  const score = multiply(t, scale(t, overlap), denominator, { name: 'div' });
  const average = mean(t, scale(t, score), [0], false);
  t.keep(prediction, truth, overlap, predicted, denominator, score);
  const loss = scale(t, average);
  t.keep(hot, active);
  return loss;
}

function addConstant(t: Tape, x: Tensor, other: Tensor): Tensor {
  t.keep(other);
  return shift(t, x);
}

function oneHot(t: Tape, label: Tensor, classes: number): Tensor {
  const clamped = constant(t, 'clamp', label.shape, 'long');
  const equal = constant(t, 'eq', [...label.shape, classes + 1], 'byte');
  const hot = constant(t, 'to', [...label.shape, classes + 1], 'long');
  t.keep(clamped, equal);
  return hot;
}

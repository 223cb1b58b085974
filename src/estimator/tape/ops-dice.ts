import { logSoftmax } from './ops-activation.ts';
import { add, constant, multiply, scale, shift, toFloat, unary } from './ops-core.ts';
import { mean, sum } from './ops-resize.ts';
import { reshape } from './ops-shape.ts';
import { emitFresh } from './rules.ts';
import { type BackwardRule, elements, Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

/**
 * `DiceLoss` of segmentation_models_pytorch 0.6.0 (losses/dice.py, `soft_tversky_score`): one class against a float
 * target, several against a one-hot of int64 labels. The difference of probabilities and target is kept for its norm.
 */
export function diceLoss(t: Tape, logits: Tensor, target: Tensor): Tensor {
  const [batch = 1, classes = 1] = logits.shape;
  const multiclass = target.shape.length < logits.shape.length;
  const area = elements(logits.shape) / (batch * classes);
  const activated = multiclass ? unary(t, logSoftmax(t, logits), 'exp', { keeps: 'output' }) : logSigmoidExp(t, logits);
  const prediction = reshape(t, activated, [batch, classes, area]);
  const truth = multiclass ? oneHot(t, target, [batch, classes, area]) : target;
  const scores = diceScore(t, prediction, multiclass ? asFloat(t, truth) : reshape(t, truth, [batch, classes, area]));
  const losses = shift(t, scores);
  const present = constant(t, 'sum', [classes], 'long');
  const positive = constant(t, 'gt', [classes], 'byte');
  t.keep(present);
  const mask = constant(t, 'to', [classes], 'float');
  t.keep(positive);
  const weighted = multiply(t, losses, mask, { inPlace: true });
  const loss = mean(t, weighted, [0], false);
  t.keep(prediction, truth, scores, mask, losses);
  return loss;
}

function logSigmoidExp(t: Tape, logits: Tensor): Tensor {
  const logarithm = unary(t, logits, 'log_sigmoid', { keeps: 'input' });
  const probability = unary(t, toFloat(t, logarithm), 'exp', { keeps: 'output' });
  t.keep(logarithm);
  return probability;
}

/** `F.one_hot`: a comparison with all labels, then int64; the result is seen as B×C×area. */
function oneHot(t: Tape, target: Tensor, [batch = 1, classes = 1, area = 1]: readonly number[]): Tensor {
  const labels = constant(t, 'arange', [classes], 'long');
  const shape = [batch, area, classes];
  t.begin('eq', [target, labels]);
  const equal = new Tensor({ storage: t.allocate(shape, 'byte'), shape, dtype: 'byte' });
  const hot = constant(t, 'one_hot', [batch, classes, area], 'long');
  t.keep(labels, equal);
  return hot;
}

function asFloat(t: Tape, hot: Tensor): Tensor {
  t.begin('to', [hot]);
  return new Tensor({ storage: t.allocate(hot.shape, 'float'), shape: hot.shape, dtype: 'float' });
}

/** Tversky score with both weights a half. */
function diceScore(t: Tape, output: Tensor, target: Tensor): Tensor {
  const outputSum = sum(t, output, [0, 2], false);
  const targetSum = sum(t, target, [0, 2], false);
  const difference = norm(t, subtract(t, output, target));
  const both = add(t, outputSum, targetSum);
  const shared = subtract(t, both, difference);
  const intersection = scale(t, shared);
  const falsePositives = subtract(t, outputSum, intersection);
  const falseNegatives = subtract(t, targetSum, intersection);
  const numerator = shift(t, intersection);
  const first = add(t, intersection, scale(t, falsePositives));
  const second = add(t, first, scale(t, falseNegatives));
  const denominator = unary(t, shift(t, second), 'clamp_min', { keeps: 'input' });
  const score = multiply(t, numerator, denominator, { name: 'div' });
  t.keep(output, target, outputSum, targetSum, difference, intersection, falsePositives, falseNegatives);
  return score;
}

/** `a − b`: the gradient goes on to `a`; `b` gets a negated copy. */
function subtract(t: Tape, a: Tensor, b: Tensor): Tensor {
  t.begin('sub', [a, b]);
  const storage = t.allocate(a.shape, a.dtype);
  t.work('pointwise', false, { macs: 0, bytes: 3 * storage.bytes });
  const rule: BackwardRule = (walk, node, grads) => {
    const [left] = node.inputs;
    if (left !== undefined && left.edge !== null && grads[0] !== undefined) walk.emit(0, walk.share(grads[0]));
    emitFresh(walk, node, 1);
  };
  return t.result({ storage, shape: a.shape, dtype: a.dtype }, { name: 'sub', inputs: [a, b], saved: [], rule });
}

/** `vector_norm` of order 1 over batch and area: keeps its input and result; backward makes the signs first. */
function norm(t: Tape, x: Tensor): Tensor {
  const shape = [x.shape[1] ?? 1];
  t.begin('vector_norm', [x]);
  const storage = t.allocate(shape, 'float');
  t.work('reduction', false, { macs: 0, bytes: x.storage.bytes });
  const rule: BackwardRule = (walk, node) => {
    const signs = walk.transient(x.storage.bytes);
    emitFresh(walk, node, 0);
    walk.release(signs);
  };
  return t.result(
    { storage, shape, dtype: 'float' },
    { name: 'vector_norm', inputs: [x], saved: [x.storage, storage], rule },
  );
}

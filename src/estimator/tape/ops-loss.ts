import { logSoftmax } from './ops-activation.ts';
import { byteSize, constant, toFloat } from './ops-core.ts';
import { emitFresh } from './rules.ts';
import { type BackwardRule, elements, type Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

/** Number of pixels (everything but the class axis) of B×C×… logits. */
function pixels(logits: Tensor): number {
  return elements(logits.shape) / (logits.shape[1] ?? 1);
}

/** `reduced`: a mean, else one value per pixel; `weights`: one per class. */
interface LossOptions {
  readonly reduced?: boolean;
  readonly weights?: Tensor | undefined;
}

/** `F.nll_loss` on log-probabilities (fp32 list): keeps them, the target, class weights and the total weight. `reduced`: a mean, else one value per pixel. */
export function nllLoss(
  t: Tape,
  logProbabilities: Tensor,
  target: Tensor,
  { reduced, weights }: { reduced: boolean; weights?: Tensor | undefined },
): Tensor {
  const input = toFloat(t, logProbabilities);
  t.begin('nll_loss', [logProbabilities, input, target]);
  const [batch = 1, , ...rest] = input.shape;
  const shape = reduced ? [] : [batch, ...rest];
  const storage = t.allocate(shape, 'float');
  const totalWeight = t.allocateBytes(4);
  t.work('reduction', false, { macs: 0, bytes: byteSize(target) + storage.bytes });
  const rule: BackwardRule = (walk, node) => emitFresh(walk, node, 0);
  const saved = [input.storage, target.storage, totalWeight, ...(weights === undefined ? [] : [weights.storage])];
  return t.result({ storage, shape, dtype: 'float' }, { name: 'nll_loss', inputs: [input], saved, rule });
}

/** `F.cross_entropy`: 16-bit logits give a 16-bit log-softmax and an fp32 cast of it (6 B a logit). */
export function crossEntropy(t: Tape, logits: Tensor, target: Tensor, options: LossOptions = {}): Tensor {
  const { reduced = true, weights } = options;
  return nllLoss(t, logSoftmax(t, logits, true), target, { reduced, weights });
}

/**
 * `F.binary_cross_entropy_with_logits` with a mean (fp32 list): keeps logits and float target; two full-size temporaries in the
 * kernel, one in backward.
 */
export function binaryCrossEntropy(t: Tape, logits: Tensor, target: Tensor, reduced = true): Tensor {
  const input = toFloat(t, logits);
  t.begin('binary_cross_entropy_with_logits', [logits, input, target]);
  const shape = reduced ? [] : input.shape;
  const storage = t.allocate(shape, 'float');
  if (t.options.kernelTemporaries) t.kernels.add(t.now, 2 * byteSize(input));
  t.work('pointwise', false, { macs: 0, bytes: 3 * byteSize(input) });
  const rule: BackwardRule = (walk, node) => {
    const probabilities = walk.transient(byteSize(input));
    emitFresh(walk, node, 0);
    walk.release(probabilities);
  };
  return t.result(
    { storage, shape, dtype: 'float' },
    { name: 'binary_cross_entropy_with_logits', inputs: [input], saved: [input.storage, target.storage], rule },
  );
}

/**
 * `F.binary_cross_entropy` of probabilities with a mean, which autocast refuses: 16-bit ones are widened. Keeps
 * probabilities and float target; the kernel makes the loss of every pixel before its mean.
 */
export function binaryCrossEntropyOfProbabilities(t: Tape, probabilities: Tensor, target: Tensor): Tensor {
  const input = toFloat(t, probabilities);
  t.begin('binary_cross_entropy', [probabilities, input, target]);
  const storage = t.allocate([], 'float');
  if (t.options.kernelTemporaries) t.kernels.add(t.now, byteSize(input));
  t.work('pointwise', false, { macs: 0, bytes: 3 * byteSize(input) });
  const rule: BackwardRule = (walk, node) => emitFresh(walk, node, 0);
  const saved = [input.storage, target.storage];
  return t.result(
    { storage, shape: [], dtype: 'float' },
    { name: 'binary_cross_entropy', inputs: [input], saved, rule },
  );
}

/**
 * `top-1` accuracy after each MMSegmentation loss; the logits are alive meanwhile, which often makes the forward peak
 * (mmseg/models/losses/accuracy.py, 1.2.2). Returns the scalar, which the dict of losses holds.
 */
export function accuracy(t: Tape, logits: Tensor, target: Tensor): Tensor {
  const count = pixels(logits);
  t.begin('topk', [logits]);
  const values = t.allocateBytes(count * (logits.dtype === 'half' ? 2 : 4));
  const labels = t.allocateBytes(8 * count);
  const equal = constant(t, 'eq', [count], 'byte');
  const valid = constant(t, 'ne', [count], 'byte');
  t.begin('index', [equal, valid]);
  const correct = t.allocateBytes(count);
  const float = constant(t, 'to', [count], 'float');
  const correctSum = constant(t, 'sum', [1], 'float');
  const total = constant(t, 'add', [1], 'float');
  t.keep(float, correctSum);
  const mask = constant(t, 'ne', [count], 'byte');
  t.begin('index', [target, mask]);
  t.allocateBytes(8 * count);
  t.begin('mul_', [logits]);
  for (const storage of [values, labels, correct]) storage.death = t.now;
  t.keep(total);
  return total;
}

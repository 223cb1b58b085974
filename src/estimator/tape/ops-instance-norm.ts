import { byteSize } from './ops-core.ts';
import { repeat } from './ops-reduce.ts';
import { contiguous } from './ops-shape.ts';
import { freshRule, incoming, needsGradient } from './rules.ts';
import { type BackwardRule, roundToBlock, type Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

/**
 * `nn.InstanceNorm2d` without running statistics on B×C×H×W: a batch norm over 1×BC×H×W, whose weights are the C values
 * repeated B times (ATen/native/Normalization.cpp, `instance_norm`, read 2026-11). Keeps input, repeated weight, mean and
 * deviation, in evaluation mode too. Follows the type of its input under autocast.
 */
export function instanceNorm(t: Tape, x: Tensor, options: { affine?: boolean } = {}): Tensor {
  const [batch = 1, channels = 1] = x.shape;
  const affine = options.affine ?? false;
  const vectors = affine ? [t.param(channels), t.param(channels)] : [];
  const weights = vectors.map((vector) => repeat(t, vector, [batch]));
  const input = contiguous(t, x);
  t.begin('instance_norm', [x, input, ...weights]);
  const storage = t.allocate(x.shape, x.dtype);
  const statistics = [t.allocateBytes(4 * batch * channels), t.allocateBytes(4 * batch * channels)];
  t.work('normalization', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) + storage.bytes });
  const saved = [input.storage, ...weights.slice(0, 1).map((weight) => weight.storage), ...statistics];
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype },
    { name: 'instance_norm', inputs: [input, ...weights], saved, rule: freshRule },
  );
}

/**
 * `leaky_relu_` on the result of an instance norm, which is a view: keeps it. Backward copies the gradient into the layout of
 * the viewed memory and works on a clone of it, so two maps live beside the new gradient (CopySlices,
 * torch/csrc/autograd/functions/tensor.cpp, read 2026-11).
 */
export function leakyReluIntoView(t: Tape, x: Tensor): Tensor {
  t.begin('leaky_relu_', [x]);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  const rule: BackwardRule = (walk, node, grads) => {
    if (incoming(grads) === undefined || !needsGradient(node, 0)) return;
    walk.emit(0, walk.fresh(x.shape, x.dtype));
    const clone = walk.transient(roundToBlock(byteSize(x)));
    const result = walk.transient(roundToBlock(byteSize(x)));
    walk.release(clone);
    walk.release(result);
  };
  return t.result(
    { storage: x.storage, shape: x.shape, dtype: x.dtype },
    { name: 'leaky_relu_', inputs: [x], saved: [x.storage], rule },
  );
}

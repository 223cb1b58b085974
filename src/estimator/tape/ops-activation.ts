import { byteSize, cast, multiply, scale, shift, toFloat, unary } from './ops-core.ts';
import { emitFresh, needsGradient, pointwiseRule } from './rules.ts';
import { type BackwardRule, roundToBlock, type Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

export type Activation =
  | 'relu'
  | 'relu6'
  | 'leaky_relu'
  | 'elu'
  | 'gelu'
  | 'silu'
  | 'hardswish'
  | 'hardsigmoid'
  | 'sigmoid'
  | 'tanh'
  | 'none';

/** What each activation keeps, out of place and in place (physics.md §6, torch 2.13). */
const KEEPS = {
  relu: ['output', 'output'],
  relu6: ['input', 'clone'],
  leaky_relu: ['input', 'output'],
  elu: ['input', 'output'],
  gelu: ['input', 'input'],
  silu: ['input', 'clone'],
  hardswish: ['input', 'clone'],
  hardsigmoid: ['input', 'clone'],
  sigmoid: ['output', 'output'],
  tanh: ['output', 'output'],
} as const;

export function activate(t: Tape, x: Tensor, kind: Activation, inPlace = false): Tensor {
  if (kind === 'none') return x;
  if (kind === 'relu6' && inPlace && t.options.rules.relu6KeepsResult)
    return unary(t, x, kind, { keeps: 'output', inPlace });
  if (kind === 'hardswish' && t.options.rules.composedHardswish) return composedHardswish(t, x);
  const keeps = KEEPS[kind][inPlace ? 1 : 0];
  return kind === 'silu' && t.options.fanInCopies
    ? unary(t, x, kind, { keeps, inPlace, rule: composedSilu })
    : unary(t, x, kind, { keeps, inPlace });
}

/** Fake tensors have no SiLU backward kernel: five temporaries of the product rule beside the gradient. */
const composedSilu: BackwardRule = (walk, node, grads) => {
  const [input] = node.inputs;
  const temporaries = input === undefined ? undefined : walk.transient(5 * roundToBlock(byteSize(input)));
  pointwiseRule(walk, node, grads);
  if (temporaries !== undefined) walk.release(temporaries);
};

/** mmcv before torch 1.7: `x * relu6(x + 3) / 6`. */
function composedHardswish(t: Tape, x: Tensor): Tensor {
  return scale(t, multiply(t, x, activate(t, shift(t, x), 'relu6', true)));
}

export const relu = (t: Tape, x: Tensor, inPlace = true): Tensor => activate(t, x, 'relu', inPlace);
export const sigmoid = (t: Tape, x: Tensor, inPlace = false): Tensor => activate(t, x, 'sigmoid', inPlace);
export const gelu = (t: Tape, x: Tensor): Tensor => activate(t, x, 'gelu');

/** `nn.PReLU`: keeps input and weight. */
export function prelu(t: Tape, x: Tensor, parameters: number): Tensor {
  const weight = t.param(parameters);
  const slope = t.autocast ? cast(t, weight, 'half') : weight;
  const input = t.autocast ? cast(t, x, 'half') : x;
  t.begin('prelu', [x, input, slope]);
  const storage = t.allocate(x.shape, input.dtype);
  t.work('pointwise', input.dtype === 'half', { macs: 0, bytes: 2 * byteSize(input) });
  const rule: BackwardRule = (walk, node) => {
    emitFresh(walk, node, 0);
    if (!needsGradient(node, 1)) return;
    const full = walk.fresh(x.shape, input.dtype);
    emitFresh(walk, node, 1);
    walk.release(full.buffer);
  };
  return t.result(
    { storage, shape: x.shape, dtype: input.dtype },
    { name: 'prelu', inputs: [input, slope], saved: [input.storage, slope.storage], rule },
  );
}

/**
 * Softmax in fp32 under autocast. A float16 input is widened inside the kernel, a bfloat16 one by a cast first.
 * Keeps its result; backward of the CUDA kernel multiplies into a temporary of the same size.
 */
export function softmax(t: Tape, x: Tensor): Tensor {
  return softmaxLike(t, x, { name: 'softmax', product: true, keepType: false });
}

/** `keepType`: called with an explicit type (inside `F.cross_entropy`), so 16-bit logits stay 16 bit. */
export function logSoftmax(t: Tape, x: Tensor, keepType = false): Tensor {
  return softmaxLike(t, x, { name: 'log_softmax', product: false, keepType });
}

function softmaxLike(t: Tape, x: Tensor, kind: { name: string; product: boolean; keepType: boolean }): Tensor {
  const widen = t.autocast && x.dtype === 'half' && !kind.keepType;
  if (widen) t.readsHalfType = true;
  const input = widen && t.options.autocast === 'bf16' ? toFloat(t, x) : x;
  const dtype = widen ? 'float' : input.dtype;
  t.begin(kind.name, [x, input]);
  const storage = t.allocate(x.shape, dtype);
  t.work('normalization', dtype === 'half', { macs: 0, bytes: 2 * byteSize(input) });
  const saved = t.options.rules.softmaxKeepsInput ? [input.storage, storage] : [storage];
  const product = kind.product && t.options.kernelTemporaries;
  const rule: BackwardRule = (walk, node) => {
    emitFresh(walk, node, 0);
    if (product) walk.kernelBytes(storage.bytes);
  };
  return t.result(
    { storage, shape: x.shape, dtype, strides: x.strides },
    { name: kind.name, inputs: [input], saved, rule },
  );
}

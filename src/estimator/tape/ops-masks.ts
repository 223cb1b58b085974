import { byteSize, cast, productsOf, toFloat, toHalf } from './ops-core.ts';
import { emitFresh, freshRule } from './rules.ts';
import { type BackwardRule, type DType, Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

/** Data without a gradient that is computed from `inputs`: targets, masks, point coordinates. */
export function derived(
  t: Tape,
  name: string,
  inputs: readonly Tensor[],
  result: { shape: readonly number[]; dtype: DType },
): Tensor {
  t.begin(name, inputs);
  return new Tensor({ storage: t.allocate(result.shape, result.dtype), shape: result.shape, dtype: result.dtype });
}

/** `torch.baddbmm(mask, a, b)`: scores with an additive mask that needs no gradient; keeps both factors. */
export function maskedProduct(t: Tape, mask: Tensor, a: Tensor, b: Tensor): Tensor {
  const added = toHalf(t, mask);
  const left = toHalf(t, a);
  const right = toHalf(t, b);
  const [batch = 1, rows = 1, inner = 1] = left.shape;
  const columns = right.shape[2] ?? 1;
  t.begin('baddbmm', [mask, a, b, added, left, right]);
  const shape = [batch, rows, columns];
  const storage = t.allocate(shape, left.dtype);
  t.work('matmul', left.dtype === 'half', {
    products: productsOf(left, right),
    macs: batch * rows * columns * inner,
    bytes: byteSize(left) + byteSize(right) + byteSize(added) + storage.bytes,
  });
  const saved = [];
  if (right.requiresGrad) saved.push(left.storage);
  if (left.requiresGrad) saved.push(right.storage);
  return t.result(
    { storage, shape, dtype: left.dtype },
    { name: 'baddbmm', inputs: [left, right], saved, rule: freshRule },
  );
}

/** `x.masked_fill(mask, 0)` with a mask of bytes: keeps the mask. */
export function maskedFill(t: Tape, x: Tensor, mask: Tensor): Tensor {
  t.begin('masked_fill', [x, mask]);
  const storage = t.allocate(x.shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype },
    { name: 'masked_fill', inputs: [x], saved: [mask.storage], rule: freshRule },
  );
}

export interface DeformableSampling {
  /** B×N×h×d. */
  readonly value: Tensor;
  /** B×N×h×L×P×2 in 0…1. */
  readonly locations: Tensor;
  /** B×N×h×L×P. */
  readonly weights: Tensor;
  /** Level sizes and starts, which are kept too. */
  readonly geometry: readonly Tensor[];
}

/**
 * mmcv's CUDA kernel of multi-scale deformable attention (mmcv/ops/multi_scale_deform_attn.py, 2.1): locations and
 * weights are cast to the type of the value inside; keeps the five inputs. Gives B×N×(h·d).
 */
export function deformableSampling(t: Tape, { value, locations, weights, geometry }: DeformableSampling): Tensor {
  const [batch = 1, , heads = 1, size = 1] = value.shape;
  const places = narrowed(t, locations, value.dtype);
  const factors = narrowed(t, weights, value.dtype);
  t.begin('ms_deform_attn', [value, locations, weights, places, factors, ...geometry]);
  const shape = [batch, locations.shape[1] ?? 1, heads * size];
  const storage = t.allocate(shape, value.dtype);
  // Four corners a point; timed as resampling of all points.
  t.work('resample', value.dtype === 'half', { macs: 0, bytes: 4 * size * byteSize(factors) + storage.bytes });
  const saved = [value, places, factors, ...geometry].map((kept) => kept.storage);
  return t.result(
    { storage, shape, dtype: value.dtype },
    { name: 'ms_deform_attn', inputs: [value, locations, weights], saved, rule: samplingRule },
  );
}

function narrowed(t: Tape, x: Tensor, dtype: DType): Tensor {
  return x.dtype === dtype ? x : derived(t, 'to', [x], { shape: x.shape, dtype });
}

/** All three gradients in the type of the value, then casts of those whose input was wider. */
const samplingRule: BackwardRule = (walk, node) => {
  const dtype = node.outputs[0]?.dtype ?? 'float';
  const made = node.inputs.map((input) => walk.fresh(input.shape, dtype));
  made.forEach((grad, index) => {
    if (node.inputs[index]?.dtype === dtype) walk.emit(index, grad);
    else {
      emitFresh(walk, node, index);
      walk.release(grad.buffer);
    }
  });
};

/** Division by (or product with) data that needs no gradient and is kept: pixel counts, normalisers. */
export function dividedBy(t: Tape, x: Tensor, divisor: Tensor): Tensor {
  t.begin('div', [x, divisor]);
  const storage = t.allocate(x.shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype },
    { name: 'div', inputs: [x], saved: [divisor.storage], rule: freshRule },
  );
}

/**
 * `F.cross_entropy(reduction='none')` on rows of classes with class weights: the weights are widened too where the
 * logits are 16 bit.
 */
export function classWeights(t: Tape, classes: number, dtype: DType): Tensor {
  const weights = derived(t, 'new_tensor', [], { shape: [classes], dtype });
  return dtype === 'float' ? weights : cast(t, weights, 'float');
}

/** mmcv's CUDA kernel of the sigmoid focal loss: keeps logits and int64 target; backward multiplies in place. */
export function focalLossKernel(t: Tape, logits: Tensor, target: Tensor): Tensor {
  const input = toFloat(t, logits);
  t.begin('sigmoid_focal_loss', [logits, input, target]);
  const storage = t.allocate(input.shape, input.dtype);
  t.work('pointwise', false, { macs: 0, bytes: 2 * byteSize(input) + byteSize(target) });
  return t.result(
    { storage, shape: input.shape, dtype: input.dtype },
    { name: 'sigmoid_focal_loss', inputs: [input], saved: [input.storage, target.storage], rule: freshRule },
  );
}

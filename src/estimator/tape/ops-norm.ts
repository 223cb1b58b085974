import { preservedStrides } from './layout.ts';
import { byteSize, toFloat } from './ops-core.ts';
import { emitFresh, freshRule, incoming, needsGradient } from './rules.ts';
import { type BackwardRule, elements, type Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

export interface NormWeights {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
}

const NO_WEIGHTS: NormWeights = { weight: null, bias: null };

/** Weights and running statistics of a BatchNorm, for one that is called twice. */
export function normWeights(t: Tape, channels: number, tracked = true): NormWeights {
  if (tracked) t.runningStatistics(channels);
  return { weight: t.param(channels), bias: t.param(channels) };
}

/** `nn.BatchNorm2d` in train mode: keeps its input and two C-vectors; three buffers. */
export function batchNorm(
  t: Tape,
  x: Tensor,
  options: { affine?: boolean; tracked?: boolean; shared?: NormWeights } = {},
): Tensor {
  const channels = x.shape[1] ?? 1;
  const affine = options.affine ?? true;
  const made = options.shared ?? (affine ? normWeights(t, channels, options.tracked ?? true) : NO_WEIGHTS);
  const { weight, bias } = made;
  t.begin('batch_norm', [x]);
  const storage = t.allocate(x.shape, x.dtype);
  const saved = t.training ? [x.storage, t.allocateBytes(4 * channels), t.allocateBytes(4 * channels)] : [x.storage];
  t.work('normalization', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) + storage.bytes });
  const inputs = weight === null || bias === null ? [x] : [x, weight, bias];
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype, strides: preservedStrides(x.shape, x.strides) },
    { name: 'batch_norm', inputs, saved, rule: normRule },
  );
}

/** Input gradient first, then the vectors; all exist together. */
const normRule: BackwardRule = (walk, node) => {
  for (let index = 0; index < node.inputs.length; index += 1) emitFresh(walk, node, index);
};

/**
 * Hand-written FrozenBatchNorm2d: `x * scale + bias` with four buffers; keeps only a C-vector, so the convolution's
 * output is released. torchvision promotes 16-bit maps to fp32; detectron2 casts the vectors instead (`keepsType`).
 */
export function frozenBatchNorm(t: Tape, x: Tensor, keepsType = false): Tensor {
  const channels = x.shape[1] ?? 1;
  for (let index = 0; index < 4; index += 1) t.buffer([channels]);
  const vector = t.within('scale', () => {
    t.begin('rsqrt', []);
    t.allocateBytes(4 * channels);
    return t.allocateBytes(4 * channels);
  });
  t.begin('mul', [x]);
  const dtype = x.dtype === 'half' && !keepsType ? 'float' : x.dtype;
  const product = t.allocate(x.shape, dtype);
  const scaled = t.result(
    { storage: product, shape: x.shape, dtype },
    { name: 'mul', inputs: [x], saved: [vector], rule: freshRule },
  );
  t.begin('add', [scaled]);
  const storage = t.allocate(x.shape, dtype);
  t.work('normalization', x.dtype === 'half', { macs: 0, bytes: 4 * byteSize(x) });
  return t.result({ storage, shape: x.shape, dtype }, { name: 'add', inputs: [scaled], saved: [], rule: passOne });
}

const passOne: BackwardRule = (walk, node, grads) => {
  const grad = incoming(grads);
  if (grad !== undefined && needsGradient(node, 0)) walk.emit(0, walk.share(grad));
};

/** `nn.LayerNorm` over the last `axes` axes: fp32 under autocast; keeps that input, mean and reciprocal deviation. */
export function layerNorm(
  t: Tape,
  x: Tensor,
  options: { affine?: boolean; axes?: number; bias?: boolean } = {},
): Tensor {
  const axes = options.axes ?? 1;
  const normalized = x.shape.slice(x.shape.length - axes);
  const affine = options.affine ?? true;
  const weight = affine ? t.param(...normalized) : null;
  const bias = affine && (options.bias ?? true) ? t.param(...normalized) : null;
  const input = toFloat(t, x);
  t.begin('layer_norm', [x, input]);
  const storage = t.allocate(x.shape, input.dtype);
  const rows = x.count / elements(normalized);
  const saved = [input.storage, t.allocateBytes(4 * rows), t.allocateBytes(4 * rows)];
  t.work('normalization', input.dtype === 'half', { macs: 0, bytes: byteSize(input) + storage.bytes });
  const inputs = [input];
  if (weight !== null) inputs.push(weight);
  if (bias !== null) inputs.push(bias);
  return t.result(
    { storage, shape: x.shape, dtype: input.dtype },
    { name: 'layer_norm', inputs, saved, rule: normRule },
  );
}

/** `nn.GroupNorm`: fp32 under autocast; keeps input, mean and reciprocal deviation of each group. */
export function groupNorm(t: Tape, x: Tensor, groups: number): Tensor {
  const [batch = 1, channels = 1] = x.shape;
  const weight = t.param(channels);
  const bias = t.param(channels);
  const input = toFloat(t, x);
  t.begin('group_norm', [x, input]);
  const storage = t.allocate(x.shape, input.dtype);
  const vectors = [t.allocateBytes(4 * batch * groups), t.allocateBytes(4 * batch * groups)];
  t.work('normalization', input.dtype === 'half', { macs: 0, bytes: byteSize(input) + storage.bytes });
  return t.result(
    { storage, shape: x.shape, dtype: input.dtype },
    { name: 'group_norm', inputs: [input, weight, bias], saved: [input.storage, ...vectors], rule: normRule },
  );
}

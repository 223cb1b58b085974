import { preservedStrides } from './layout.ts';
import { byteSize, productsOf, toFloat, toHalf } from './ops-core.ts';
import { emitFresh, freshRule, incoming, needsGradient } from './rules.ts';
import { type BackwardRule, elements, type Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

export interface ConvOptions {
  readonly out: number;
  /** Side of a square kernel, or [height, width]. */
  readonly kernel: number | readonly [number, number];
  readonly stride?: number | readonly [number, number];
  readonly padding?: number | readonly [number, number];
  readonly dilation?: number;
  readonly groups?: number;
  readonly bias?: boolean;
  /** Weights made earlier: shared between calls. */
  readonly shared?: ConvWeights;
}

export interface ConvWeights {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
}

const pair = (value: number | readonly [number, number]): readonly [number, number] =>
  typeof value === 'number' ? [value, value] : value;

function convSide(
  side: number,
  geometry: { kernel: number; stride: number; padding: number; dilation: number },
): number {
  return (
    Math.floor((side + 2 * geometry.padding - geometry.dilation * (geometry.kernel - 1) - 1) / geometry.stride) + 1
  );
}

export function convWeights(t: Tape, inputChannels: number, options: ConvOptions): ConvWeights {
  const [kernelHeight, kernelWidth] = pair(options.kernel);
  const weight = t.param(options.out, inputChannels / (options.groups ?? 1), kernelHeight, kernelWidth);
  return { weight, bias: options.bias === true ? t.param(options.out) : null };
}

/** `nn.Conv2d` on B×C×H×W; padding defaults to 0, bias to none. Keeps input and weight. */
export function conv2d(t: Tape, x: Tensor, options: ConvOptions): Tensor {
  const { out, dilation = 1, groups = 1 } = options;
  const kernel = pair(options.kernel);
  const stride = pair(options.stride ?? 1);
  const padding = pair(options.padding ?? 0);
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  const { weight, bias } = options.shared ?? convWeights(t, channels, options);
  const shape = [
    batch,
    out,
    convSide(height, { kernel: kernel[0], stride: stride[0], padding: padding[0], dilation }),
    convSide(width, { kernel: kernel[1], stride: stride[1], padding: padding[1], dilation }),
  ];
  const wide =
    kernel[0] === 3 && kernel[1] === 3 && stride[0] === 1 && stride[1] === 1 && dilation === 1 && groups === 1;
  const macs = elements(shape) * (channels / groups) * kernel[0] * kernel[1];
  return convolve(t, {
    x,
    weight,
    bias,
    shape,
    macs,
    kind:
      groups > 1 && groups === channels
        ? 'depthwise'
        : wide
          ? 'convolution-3x3'
          : dilation > 1
            ? 'convolution-dilated'
            : 'convolution',
    workspace: wide && channels >= 256 && out >= 256 && pixelsOf(shape) >= WINOGRAD_PIXELS,
  });
}

/**
 * Output pixels of a batch from which Winograd F(4×4, 3×3) pays: below, moving its fourfold weights (8·36 B a channel
 * pair at 900 GB/s) costs more than the 6.75 multiply-accumulates a pixel that it saves (at 60 % of 15.7 TFLOP/s),
 * V100 data sheet. With it, three of the four UNet rows at 64×64 of measured-mmseg.json come within 2.5 %.
 */
const WINOGRAD_PIXELS = 222;

function pixelsOf([batch = 1, , height = 1, width = 1]: readonly number[]): number {
  return batch * height * width;
}

interface Convolution {
  readonly x: Tensor;
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly shape: readonly number[];
  readonly macs: number;
  readonly kind: 'convolution' | 'convolution-3x3' | 'convolution-dilated' | 'depthwise';
  readonly workspace: boolean;
}

function convolve(t: Tape, c: Convolution): Tensor {
  const bias = c.bias === null ? null : toHalf(t, c.bias);
  const weight = toHalf(t, c.weight);
  const input = toHalf(t, c.x);
  t.begin('convolution', bias === null ? [c.x, input, weight] : [c.x, input, weight, bias]);
  const storage = t.allocate(c.shape, input.dtype);
  t.work(c.kind, input.dtype === 'half', {
    macs: c.macs,
    products: productsOf([input, weight]),
    bytes: byteSize(input) + byteSize(weight) + storage.bytes,
  });
  const workspace = t.options.convWorkspace && c.workspace && input.dtype === 'float' ? workspaceBytes(c) : 0;
  if (workspace > 0) t.kernel(workspace);
  const inputs = bias === null ? [input, weight] : [input, weight, bias];
  const saved = input.requiresGrad || weight.requiresGrad ? [input.storage, weight.storage] : [];
  const rule: BackwardRule = workspace === 0 ? freshRule : withWorkspace(workspace);
  return t.result({ storage, shape: c.shape, dtype: input.dtype }, { name: 'convolution', inputs, saved, rule });
}

/**
 * Transient workspace of wide fp32 3×3 convolutions: 2.25 × (input + output) + 4 × weight.
 * Source: physics.md §2, fitted on 44 measured trainings of the MMSegmentation zoo (V100, cuDNN 7–8), 2026-11.
 */
function workspaceBytes(c: Convolution): number {
  return Math.trunc(9 * (elements(c.x.shape) + elements(c.shape)) + 16 * elements(c.weight.shape));
}

function withWorkspace(bytes: number): BackwardRule {
  return (walk, node, grads) => {
    freshRule(walk, node, grads);
    walk.kernelBytes(bytes);
  };
}

/** `nn.ConvTranspose2d` with equal kernel and stride semantics of torch: side = (in − 1)·stride − 2·padding + kernel + outputPadding. */
export function convTranspose2d(t: Tape, x: Tensor, options: ConvOptions & { outputPadding?: number }): Tensor {
  const [kernelHeight, kernelWidth] = pair(options.kernel);
  const [strideY, strideX] = pair(options.stride ?? 1);
  const [padY, padX] = pair(options.padding ?? 0);
  const groups = options.groups ?? 1;
  const extra = options.outputPadding ?? 0;
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  const weight = options.shared?.weight ?? t.param(channels, options.out / groups, kernelHeight, kernelWidth);
  const bias =
    options.shared === undefined ? (options.bias === true ? t.param(options.out) : null) : options.shared.bias;
  const shape = [
    batch,
    options.out,
    (height - 1) * strideY - 2 * padY + kernelHeight + extra,
    (width - 1) * strideX - 2 * padX + kernelWidth + extra,
  ];
  const macs = elements(x.shape) * (options.out / groups) * kernelHeight * kernelWidth;
  return convolve(t, {
    x,
    weight,
    bias,
    shape,
    macs,
    kind: groups > 1 && groups === channels ? 'depthwise' : 'convolution',
    workspace: false,
  });
}

export interface NormWeights {
  readonly weight: Tensor | null;
  readonly bias: Tensor | null;
}

const NO_WEIGHTS: NormWeights = { weight: null, bias: null };

/** Weights and running statistics of a BatchNorm, for one that is called twice. */
export function normWeights(t: Tape, channels: number, tracked = true): NormWeights {
  if (tracked) {
    t.buffer([channels]);
    t.buffer([channels]);
    t.buffer([], 'long');
  }
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
  const vectors = t.training ? [t.allocateBytes(4 * channels), t.allocateBytes(4 * channels)] : [];
  t.work('normalization', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) + storage.bytes });
  const inputs = weight === null || bias === null ? [x] : [x, weight, bias];
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype, strides: preservedStrides(x.shape, x.strides) },
    { name: 'batch_norm', inputs, saved: [x.storage, ...vectors], rule: normRule },
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
  const rows = elements(x.shape) / elements(normalized);
  const vectors = [t.allocateBytes(4 * rows), t.allocateBytes(4 * rows)];
  t.work('normalization', input.dtype === 'half', { macs: 0, bytes: byteSize(input) + storage.bytes });
  const inputs = [input, ...(weight === null ? [] : [weight]), ...(bias === null ? [] : [bias])];
  return t.result(
    { storage, shape: x.shape, dtype: input.dtype },
    { name: 'layer_norm', inputs, saved: [input.storage, ...vectors], rule: normRule },
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

/** Dropout on CUDA keeps a mask of one byte per element; nothing at p = 0 or in evaluation. */
export function dropout(t: Tape, x: Tensor, probability: number): Tensor {
  if (probability === 0 || !t.training) return x;
  t.begin('dropout', [x]);
  const storage = t.allocate(x.shape, x.dtype);
  const mask = t.allocate(x.shape, 'byte');
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) + mask.bytes });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype, strides: x.strides },
    { name: 'dropout', inputs: [x], saved: [mask], rule: freshRule },
  );
}

/** Dropout of whole channels: multiplies with a B×C mask that is kept. */
export function dropout2d(t: Tape, x: Tensor, probability: number, inPlace = false): Tensor {
  if (probability === 0 || !t.training) return x;
  const [batch = 1, channels = 1] = x.shape;
  const mask = maskOf(t, [batch, channels, 1, 1], x);
  t.begin('mul', [x, mask]);
  const storage = inPlace ? x.storage : t.allocate(x.shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype },
    { name: 'mul', inputs: [x], saved: [mask.storage], rule: freshRule },
  );
}

function maskOf(t: Tape, shape: readonly number[], x: Tensor): Tensor {
  t.begin('bernoulli', []);
  const storage = t.allocate(shape, x.dtype);
  return t.result({ storage, shape, dtype: x.dtype }, { name: 'bernoulli', inputs: [], saved: [], rule: freshRule });
}

/** Stochastic depth per sample. `divides`: the original divides the input first (mmcv, torch-style), else scales the mask (timm). */
export function dropPath(t: Tape, x: Tensor, probability: number, divides: boolean): Tensor {
  if (probability === 0 || !t.training) return x;
  const shape = [x.shape[0] ?? 1, ...new Array<number>(x.shape.length - 1).fill(1)];
  const mask = maskOf(t, shape, x);
  const input = divides ? divided(t, x) : x;
  t.begin('mul', [input, mask]);
  const storage = t.allocate(x.shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype, strides: input.strides },
    { name: 'mul', inputs: [input], saved: [mask.storage], rule: freshRule },
  );
}

function divided(t: Tape, x: Tensor): Tensor {
  t.begin('div', [x]);
  const storage = t.allocate(x.shape, x.dtype);
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype, strides: x.strides },
    { name: 'div', inputs: [x], saved: [], rule: freshRule },
  );
}

export interface PoolOptions {
  readonly kernel: number;
  /** One for both axes, or [vertical, horizontal]. */
  readonly stride: number | readonly [number, number];
  readonly padding?: number;
  readonly ceil?: boolean;
}

function poolSide(side: number, options: PoolOptions, axis: 0 | 1): number {
  const { kernel, padding = 0, ceil = false } = options;
  const stride = pair(options.stride)[axis];
  const span = (side + 2 * padding - kernel) / stride;
  if (!ceil) return Math.floor(span) + 1;
  const out = Math.ceil(span) + 1;
  return (out - 1) * stride >= side + padding ? out - 1 : out;
}

/** `nn.MaxPool2d`: keeps input and int64 indices. */
export function maxPool(t: Tape, x: Tensor, options: PoolOptions): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  const shape = [batch, channels, poolSide(height, options, 0), poolSide(width, options, 1)];
  t.begin('max_pool2d', [x]);
  const storage = t.allocate(shape, x.dtype);
  const indices = t.allocate(shape, 'long');
  t.work('reduction', x.dtype === 'half', { macs: 0, bytes: byteSize(x) + storage.bytes + indices.bytes });
  return t.result(
    { storage, shape, dtype: x.dtype },
    { name: 'max_pool2d', inputs: [x], saved: [x.storage, indices], rule: freshRule },
  );
}

/** `nn.AvgPool2d`: keeps its input. */
export function averagePool(t: Tape, x: Tensor, options: PoolOptions): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  return pooled(t, x, [batch, channels, poolSide(height, options, 0), poolSide(width, options, 1)]);
}

function pooled(t: Tape, x: Tensor, shape: readonly number[]): Tensor {
  t.begin('avg_pool2d', [x]);
  const storage = t.allocate(shape, x.dtype);
  t.work('reduction', x.dtype === 'half', { macs: 0, bytes: byteSize(x) + storage.bytes });
  return t.result(
    { storage, shape, dtype: x.dtype },
    { name: 'avg_pool2d', inputs: [x], saved: [x.storage], rule: freshRule },
  );
}

/** `nn.AdaptiveAvgPool2d`: keeps its input, except that 1×1 is a mean and keeps nothing. */
export function adaptiveAveragePool(t: Tape, x: Tensor, side: number | readonly [number, number]): Tensor {
  const [height, width] = pair(side);
  const [batch = 1, channels = 1] = x.shape;
  if (height === 1 && width === 1) return mean(t, x, [2, 3], true);
  return pooled(t, x, [batch, channels, height, width]);
}

/** Mean over axes: keeps nothing; backward expands and divides. */
export function mean(t: Tape, x: Tensor, axes: readonly number[], keepAxes: boolean): Tensor {
  return reduce(t, x, { name: 'mean', axes, keepAxes, divides: true });
}

/** Sum over axes: keeps nothing; the gradient is an expanded view. */
export function sum(t: Tape, x: Tensor, axes: readonly number[], keepAxes: boolean): Tensor {
  return reduce(t, toFloat(t, x), { name: 'sum', axes, keepAxes, divides: false });
}

interface Reduction {
  readonly name: string;
  readonly axes: readonly number[];
  readonly keepAxes: boolean;
  readonly divides: boolean;
}

function reduce(t: Tape, x: Tensor, reduction: Reduction): Tensor {
  const rank = x.shape.length;
  const axes = reduction.axes.map((axis) => (axis + rank) % rank);
  const shape = reduction.keepAxes
    ? x.shape.map((side, axis) => (axes.includes(axis) ? 1 : side))
    : x.shape.filter((_, axis) => !axes.includes(axis));
  t.begin(reduction.name, [x]);
  const storage = t.allocate(shape, x.dtype);
  t.work('reduction', x.dtype === 'half', { macs: 0, bytes: byteSize(x) });
  const rule: BackwardRule = reduction.divides ? freshRule : expandRule;
  return t.result({ storage, shape, dtype: x.dtype }, { name: reduction.name, inputs: [x], saved: [], rule });
}

const expandRule: BackwardRule = (walk, node, grads) => {
  const grad = incoming(grads);
  const input = node.inputs[0];
  if (grad === undefined || input === undefined || input.edge === null) return;
  walk.emit(0, walk.share(grad, { strides: new Array<number>(input.shape.length).fill(0), whole: false }));
};

export type ResizeMode = 'bilinear' | 'nearest' | 'bicubic';

/** `F.interpolate` to height × width: in the fp32 list of autocast; keeps nothing; the same size is still a copy. */
export function resize(t: Tape, x: Tensor, size: readonly [number, number], mode: ResizeMode = 'bilinear'): Tensor {
  const input = toFloat(t, x);
  const shape = [x.shape[0] ?? 1, x.shape[1] ?? 1, size[0], size[1]];
  const name = `upsample_${mode}2d`;
  t.begin(name, [x, input]);
  const storage = t.allocate(shape, input.dtype);
  t.work('resample', input.dtype === 'half', { macs: 0, bytes: byteSize(input) + storage.bytes });
  const strides = channelsLast(shape, input);
  return t.result(
    { storage, shape, dtype: input.dtype, strides },
    { name, inputs: [input], saved: [], rule: resizeRule },
  );
}

/** Resampling keeps the order of axes of maps that are laid out channels last (`suggest_memory_format`). */
function channelsLast(
  shape: readonly number[],
  { shape: old, strides }: Pick<Tensor, 'shape' | 'strides'>,
): readonly number[] | null {
  if (strides === null || strides[1] !== 1 || (old[1] ?? 1) === 1) return null;
  const [, channels = 1, height = 1, width = 1] = shape;
  const [batchStep = 0, , rowStep = 0, step = 0] = strides;
  if (step < (old[1] ?? 1) || rowStep < step * (old[3] ?? 1) || batchStep < rowStep * (old[2] ?? 1)) return null;
  return [channels * height * width, 1, channels * width, channels];
}

const resizeRule: BackwardRule = (walk, node, grads) => {
  const grad = incoming(grads);
  const [input] = node.inputs;
  const [output] = node.outputs;
  if (grad === undefined || input === undefined || output === undefined || input.edge === null) return;
  const strides = channelsLast(input.shape, { shape: output.shape, strides: grad.strides });
  walk.emit(0, walk.fresh(input.shape, input.dtype, strides));
};

import { byteSize, productsOf, toHalf } from './ops-core.ts';
import { freshRule } from './rules.ts';
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

export const pair = (value: number | readonly [number, number]): readonly [number, number] =>
  typeof value === 'number' ? [value, value] : value;

function convSide(
  side: number,
  geometry: { kernel: number; stride: number; padding: number; dilation: number },
): number {
  return (
    Math.floor((side + 2 * geometry.padding - geometry.dilation * (geometry.kernel - 1) - 1) / geometry.stride) + 1
  );
}

const vertical = (value: number | readonly [number, number]): number => (typeof value === 'number' ? value : value[0]);
const horizontal = (value: number | readonly [number, number]): number =>
  typeof value === 'number' ? value : value[1];

export function convWeights(t: Tape, inputChannels: number, options: ConvOptions): ConvWeights {
  const { out, kernel, groups = 1 } = options;
  const weight = t.param(out, inputChannels / groups, vertical(kernel), horizontal(kernel));
  return { weight, bias: options.bias === true ? t.param(out) : null };
}

/** `nn.Conv2d` on B×C×H×W; padding defaults to 0, bias to none. Keeps input and weight. */
export function conv2d(t: Tape, x: Tensor, options: ConvOptions): Tensor {
  const { out, kernel, stride = 1, padding = 0, dilation = 1, groups = 1 } = options;
  const kernelHeight = vertical(kernel);
  const kernelWidth = horizontal(kernel);
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  const { weight, bias } = options.shared ?? convWeights(t, channels, options);
  const rows = { kernel: kernelHeight, stride: vertical(stride), padding: vertical(padding), dilation };
  const columns = { kernel: kernelWidth, stride: horizontal(stride), padding: horizontal(padding), dilation };
  const shape = [batch, out, convSide(height, rows), convSide(width, columns)];
  const dense = dilation === 1 && groups === 1 && rows.stride === 1 && columns.stride === 1;
  const wide = dense && kernelHeight === 3 && kernelWidth === 3;
  return convolve(t, {
    x,
    weight,
    bias,
    shape,
    macs: elements(shape) * (channels / groups) * kernelHeight * kernelWidth,
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
  const inputs = bias === null ? [input, weight] : [input, weight, bias];
  t.begin('convolution', input === c.x ? inputs : [c.x, ...inputs]);
  const storage = t.allocate(c.shape, input.dtype);
  t.work(c.kind, input.dtype === 'half', {
    macs: c.macs,
    products: productsOf(input, weight),
    bytes: byteSize(input) + byteSize(weight) + storage.bytes,
  });
  const workspace = c.workspace && input.dtype === 'float' ? workspaceBytes(c) : 0;
  if (workspace > 0) t.workspaces.add(t.now, workspace);
  const saved = input.requiresGrad || weight.requiresGrad ? [input.storage, weight.storage] : [];
  const rule: BackwardRule = workspace === 0 ? freshRule : withWorkspace(workspace);
  return t.result({ storage, shape: c.shape, dtype: input.dtype }, { name: 'convolution', inputs, saved, rule });
}

/**
 * Transient workspace of wide fp32 3×3 convolutions: 2.25 × (input + output) + 4 × weight.
 * Source: physics.md §2, fitted on 44 measured trainings of the MMSegmentation zoo (V100, cuDNN 7–8), 2026-11.
 */
function workspaceBytes(c: Convolution): number {
  return Math.trunc(9 * (c.x.count + elements(c.shape)) + 16 * c.weight.count);
}

function withWorkspace(bytes: number): BackwardRule {
  return (walk, node, grads) => {
    freshRule(walk, node, grads);
    walk.workspaceBytes(bytes);
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
  const macs = x.count * (options.out / groups) * kernelHeight * kernelWidth;
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

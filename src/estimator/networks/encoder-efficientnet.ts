import { activate, sigmoid } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, constant, multiply, scale } from '../tape/ops-core.ts';
import { adaptiveAveragePool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { pad } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type EncoderTable, runSteps, type Step } from './encoder.ts';
import { unusedModules } from './unused.ts';

/** Repeats, kernel, stride, expansion, width of B0. Tan and Le 2019, table 1. */
const GROUPS = [
  [1, 3, 1, 1, 16],
  [2, 3, 2, 6, 24],
  [2, 5, 2, 6, 40],
  [3, 3, 2, 6, 80],
  [3, 5, 1, 6, 112],
  [4, 5, 2, 6, 192],
  [1, 3, 1, 6, 320],
] as const;

/** Width factor, depth factor, image side the paddings were computed for. */
export const EFFICIENTNET_SCALES = {
  b0: [1, 1, 224],
  b1: [1, 1.1, 240],
  b2: [1.1, 1.2, 260],
  b3: [1.2, 1.4, 300],
  b4: [1.4, 1.8, 380],
  b5: [1.6, 2.2, 456],
  b6: [1.8, 2.6, 528],
  b7: [2, 3.1, 600],
} as const;

/** To a multiple of 8, never more than 10 % down. */
export function roundWidth(width: number): number {
  const rounded = Math.max(8, Math.floor((width + 4) / 8) * 8);
  return rounded < 0.9 * width ? rounded + 8 : rounded;
}

/** Padding of TensorFlow's SAME for the side the network was built for: a module of its own that copies. */
interface SamePadding {
  readonly total: number;
}

function samePadding(side: number, kernel: number, stride: number): SamePadding {
  return { total: Math.max((Math.ceil(side / stride) - 1) * stride + kernel - side, 0) };
}

interface Block {
  readonly kernel: number;
  readonly stride: number;
  readonly expansion: number;
  readonly out: number;
  readonly padding: SamePadding;
  /** Above 1: stride and padding module are gone, the convolution pads itself. */
  readonly dilation: number;
  readonly dropRate: number;
}

function depthwise(t: Tape, x: Tensor, block: Block): Tensor {
  const { kernel, dilation, stride, padding } = block;
  const width = channelsOf(x);
  return t.call('_depthwise_conv', x, () => {
    const shape = { out: width, kernel, groups: width };
    if (dilation > 1) return conv2d(t, x, { ...shape, padding: Math.floor(kernel / 2) * dilation, dilation });
    return conv2d(t, padded(t, x, padding), { ...shape, stride });
  });
}

function padded(t: Tape, x: Tensor, { total }: SamePadding): Tensor {
  if (total === 0) return x;
  const [height, width] = sizeOf(x);
  return pad(t, x, [x.shape[0] ?? 1, channelsOf(x), height + total, width + total]);
}

const silu = (t: Tape, x: Tensor): Tensor => activate(t, x, 'silu');

function squeeze(t: Tape, x: Tensor, width: number): Tensor {
  const pooled = adaptiveAveragePool(t, x, 1);
  const reduced = silu(t, conv2d(t, pooled, { out: width, kernel: 1, bias: true }));
  return conv2d(t, reduced, { out: channelsOf(x), kernel: 1, bias: true });
}

/** `inputs / keep * floor(keep + rand)`; the caller's variable still holds the input. */
function dropConnect(t: Tape, x: Tensor, rate: number): Tensor {
  if (rate === 0 || !t.training) return x;
  const shape = [x.shape[0] ?? 1, 1, 1, 1];
  const random = constant(t, 'rand', shape, x.dtype);
  const shifted = constant(t, 'add', shape, x.dtype);
  t.keep(random);
  const mask = constant(t, 'floor', shape, x.dtype);
  const dropped = multiply(t, scale(t, x), mask);
  t.keep(x, shifted, mask);
  return dropped;
}

function mbConv(t: Tape, x: Tensor, block: Block): Tensor {
  const width = channelsOf(x) * block.expansion;
  return t.call('', x, () => {
    const expanded = block.expansion === 1 ? x : silu(t, batchNorm(t, conv2d(t, x, { out: width, kernel: 1 })));
    const spatial = silu(t, batchNorm(t, depthwise(t, expanded, block)));
    const squeezed = squeeze(t, spatial, Math.max(1, Math.floor(channelsOf(x) * 0.25)));
    const gated = multiply(t, sigmoid(t, squeezed), spatial);
    const projected = batchNorm(t, conv2d(t, gated, { out: block.out, kernel: 1 }));
    const keepsShape = block.stride === 1 && channelsOf(x) === block.out;
    const result = keepsShape ? add(t, dropConnect(t, projected, block.dropRate), x) : projected;
    t.keep(squeezed);
    return result;
  });
}

type Scale = (typeof EFFICIENTNET_SCALES)[keyof typeof EFFICIENTNET_SCALES];

/** All blocks; `scale` is the map that each one leads to: B0's 1/16 map is taken one block into its fifth group. */
function blocks([width, depth, side]: Scale, outputStride: number): (Block & { scale: number })[] {
  const repeats = GROUPS.map(([count]) => Math.ceil(depth * count));
  const total = repeats.reduce((sum, count) => sum + count, 0);
  const result: (Block & { scale: number })[] = [];
  let current = Math.ceil(side / 2);
  GROUPS.forEach(([, kernel, stride, expansion, out], group) => {
    for (let repeat = 0; repeat < (repeats[group] ?? 0); repeat += 1) {
      const step = repeat === 0 ? stride : 1;
      const early = side === 224 && group === 4 && repeat > 0;
      const scale = early ? 32 : ([4, 4, 8, 16, 16, 32, 32][group] ?? 32);
      const padding = samePadding(current, kernel, step);
      if (repeat === 0) current = Math.ceil(current / stride);
      const dilation = scale > outputStride && scale >= 16 ? scale / outputStride : 1;
      const dropRate = (0.2 * result.length) / total;
      result.push({
        kernel,
        stride: step,
        expansion,
        out: roundWidth(out * width),
        padding,
        dilation,
        dropRate,
        scale,
      });
    }
  });
  return result;
}

function steps(variant: Scale, outputStride: number): Step[] {
  const all = blocks(variant, outputStride);
  const stem: Step = (t, x) => {
    const convolved = t.call('_conv_stem', x, () =>
      conv2d(t, padded(t, x, samePadding(variant[2], 3, 2)), {
        out: roundWidth(32 * variant[0]),
        kernel: 3,
        stride: 2,
      }),
    );
    return silu(t, batchNorm(t, convolved));
  };
  const scales = [4, 8, 16, 32].map(
    (scale): Step =>
      (t, x) => {
        let feature = x;
        all.forEach((block, index) => {
          if (block.scale === scale) feature = t.within(`_blocks.${index}`, () => mbConv(t, feature, block));
        });
        return feature;
      },
  );
  return [stem, ...scales];
}

/** Expansion to the classifier's width: never used for segmentation. */
function unusedHead(t: Tape, width: number, out: number): void {
  unusedModules(t, [1, width, 2, 2], (shadow, x) => batchNorm(shadow, conv2d(shadow, x, { out, kernel: 1 })));
}

/** The EfficientNet port inside segmentation_models_pytorch 0.6 (`efficientnet-b0` … `b7`); its loop runs one scale too far. */
export const efficientnetEncoders: EncoderTable = Object.fromEntries(
  Object.entries(EFFICIENTNET_SCALES).map(([name, variant]) => [
    `efficientnet-${name}`,
    {
      dilates: true,
      minimumDepth: 2,
      features: (t, image, { depth, outputStride }) => {
        unusedHead(t, roundWidth(320 * variant[0]), roundWidth(1280 * variant[0]));
        return [image, ...runSteps(t, image, steps(variant, outputStride), { count: depth, ahead: true })];
      },
    },
  ]),
);

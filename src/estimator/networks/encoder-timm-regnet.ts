import { relu, sigmoid } from '../tape/ops-activation.ts';
import { type ConvOptions, conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { mean } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import type { EncoderTable } from './encoder.ts';

/** Blocks, widths and group widths of the four stages, as timm 1.0.31 computes them from the paper's line. */
type Variant = readonly [readonly number[], readonly number[], readonly number[]];

const equal = (group: number): number[] => [group, group, group, group];

/** Radosavovic et al. 2020, figures 17 and 18. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  regnetx_002: [[1, 1, 4, 7], [24, 56, 152, 368], equal(8)],
  regnetx_004: [[1, 2, 7, 12], [32, 64, 160, 384], equal(16)],
  regnetx_006: [[1, 3, 5, 7], [48, 96, 240, 528], equal(24)],
  regnetx_008: [[1, 3, 7, 5], [64, 128, 288, 672], equal(16)],
  regnetx_016: [[2, 4, 10, 2], [72, 168, 408, 912], equal(24)],
  regnetx_032: [[2, 6, 15, 2], [96, 192, 432, 1008], equal(48)],
  regnetx_040: [[2, 5, 14, 2], [80, 240, 560, 1360], equal(40)],
  regnetx_064: [[2, 4, 10, 1], [168, 392, 784, 1624], equal(56)],
  regnetx_080: [
    [2, 5, 15, 1],
    [80, 240, 720, 1920],
    [80, 120, 120, 120],
  ],
  regnetx_120: [[2, 5, 11, 1], [224, 448, 896, 2240], equal(112)],
  regnetx_160: [[2, 6, 13, 1], [256, 512, 896, 2048], equal(128)],
  regnetx_320: [[2, 7, 13, 1], [336, 672, 1344, 2520], equal(168)],
  regnety_002: [[1, 1, 4, 7], [24, 56, 152, 368], equal(8)],
  regnety_004: [[1, 3, 6, 6], [48, 104, 208, 440], equal(8)],
  regnety_006: [[1, 3, 7, 4], [48, 112, 256, 608], equal(16)],
  regnety_008: [[1, 3, 8, 2], [64, 128, 320, 768], equal(16)],
  regnety_016: [[2, 6, 17, 2], [48, 120, 336, 888], equal(24)],
  regnety_032: [[2, 5, 13, 1], [72, 216, 576, 1512], equal(24)],
  regnety_040: [[2, 6, 12, 2], [128, 192, 512, 1088], equal(64)],
  regnety_064: [[2, 7, 14, 2], [144, 288, 576, 1296], equal(72)],
  regnety_080: [[2, 4, 10, 1], [168, 448, 896, 2016], equal(56)],
  regnety_120: [[2, 5, 11, 1], [224, 448, 896, 2240], equal(112)],
  regnety_160: [[2, 4, 11, 1], [224, 448, 1232, 3024], equal(112)],
  regnety_320: [[2, 5, 12, 1], [232, 696, 1392, 3712], equal(232)],
};

function convNorm(t: Tape, name: string, x: Tensor, options: ConvOptions & { activated: boolean }): Tensor {
  return t.call(name, x, () => {
    const normalized = batchNorm(t, conv2d(t, x, options));
    return options.activated ? relu(t, normalized) : normalized;
  });
}

function squeezeExcite(t: Tape, x: Tensor, width: number): Tensor {
  return t.call('se', x, () => {
    const pooled = mean(t, x, [2, 3], true);
    const reduced = relu(t, conv2d(t, pooled, { out: width, kernel: 1, bias: true }));
    const expanded = conv2d(t, reduced, { out: channelsOf(x), kernel: 1, bias: true });
    const gated = multiply(t, x, sigmoid(t, expanded));
    t.keep(expanded);
    return gated;
  });
}

interface Block {
  readonly out: number;
  readonly stride: number;
  readonly dilation: number;
  readonly group: number;
  readonly gated: boolean;
}

/** Bottleneck without a bottleneck; the last ReLU is not in place. */
function block(t: Tape, x: Tensor, { out, stride, dilation, group, gated }: Block): Tensor {
  const input = channelsOf(x);
  return t.call('', x, () => {
    const first = convNorm(t, 'conv1', x, { out, kernel: 1, activated: true });
    const shape = { out, kernel: 3, stride, padding: dilation, dilation, groups: out / group, activated: true };
    const second = convNorm(t, 'conv2', first, shape);
    const attended = gated ? squeezeExcite(t, second, Math.round(input * 0.25)) : second;
    const third = convNorm(t, 'conv3', attended, { out, kernel: 1, activated: false });
    const projected = stride !== 1 || input !== out;
    const shortcut = projected ? convNorm(t, 'downsample', x, { out, kernel: 1, stride, activated: false }) : x;
    return relu(t, add(t, third, shortcut), false);
  });
}

function stage(
  t: Tape,
  x: Tensor,
  index: number,
  at: { variant: Variant; gated: boolean; outputStride: number },
): Tensor {
  const [counts, widths, groups] = at.variant;
  const dilation = Math.max(1, (4 * 2 ** index) / at.outputStride);
  const shape = { out: widths[index] ?? 64, dilation, group: groups[index] ?? 8, gated: at.gated };
  return t.call(`s${index + 1}`, x, () => {
    let feature = x;
    for (let layer = 0; layer < (counts[index] ?? 1); layer += 1) {
      const first = layer === 0;
      const contracted = first && dilation > 1 ? Math.max(1, dilation / 2) : dilation;
      feature = block(t, feature, { ...shape, stride: first && dilation === 1 ? 2 : 1, dilation: contracted });
    }
    return feature;
  });
}

/** timm 1.0.31 RegNetX and RegNetY behind `features_only`: stages after the deepest map do not exist. */
export const timmRegnetEncoders: EncoderTable = Object.fromEntries(
  Object.entries(VARIANTS).map(([name, variant]) => [
    `tu-${name}`,
    {
      dilates: true,
      features: (t, image, { depth, outputStride }) => {
        const gated = name.startsWith('regnety');
        const maps = [convNorm(t, 'stem', image, { out: 32, kernel: 3, stride: 2, padding: 1, activated: true })];
        for (let index = 0; index < depth - 1; index += 1) {
          const input = maps[index];
          if (input !== undefined) maps.push(stage(t, input, index, { variant, gated, outputStride }));
        }
        t.keep(...maps);
        return [image, ...maps];
      },
    },
  ]),
);

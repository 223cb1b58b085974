import { gelu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { pad, roll } from '../tape/ops-parts.ts';
import { contiguous, flatten, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { type EncoderTable, missingHalf } from './encoder.ts';
import { requireSize } from './fixed-size.ts';
import { mergeWindows, partition, windowAttention } from './swin.ts';
import { cosineAttention } from './swin-v2-attention.ts';

interface Variant {
  readonly width: number;
  readonly depths: readonly number[];
  readonly heads: readonly number[];
  readonly window: number;
  readonly side: number;
  /** Version 2: norms behind the branches, cosine attention, continuous position bias. */
  readonly second: boolean;
}

const SIZES = {
  tiny: { width: 96, depths: [2, 2, 6, 2], heads: [3, 6, 12, 24] },
  small: { width: 96, depths: [2, 2, 18, 2], heads: [3, 6, 12, 24] },
  base: { width: 128, depths: [2, 2, 18, 2], heads: [4, 8, 16, 32] },
  large: { width: 192, depths: [2, 2, 18, 2], heads: [6, 12, 24, 48] },
} as const;

const first = (size: keyof typeof SIZES, window: number, side: number): Variant => ({
  ...SIZES[size],
  window,
  side,
  second: false,
});

const second = (size: keyof typeof SIZES, window: number, side: number): Variant => ({
  ...SIZES[size],
  window,
  side,
  second: true,
});

/** Liu et al. 2021, table 7, and Liu et al. 2022 (V2), under timm's names. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  swin_tiny_patch4_window7_224: first('tiny', 7, 224),
  swin_small_patch4_window7_224: first('small', 7, 224),
  swin_base_patch4_window7_224: first('base', 7, 224),
  swin_base_patch4_window12_384: first('base', 12, 384),
  swin_large_patch4_window7_224: first('large', 7, 224),
  swin_large_patch4_window12_384: first('large', 12, 384),
  swinv2_tiny_window8_256: second('tiny', 8, 256),
  swinv2_tiny_window16_256: second('tiny', 16, 256),
  swinv2_small_window8_256: second('small', 8, 256),
  swinv2_small_window16_256: second('small', 16, 256),
  swinv2_base_window8_256: second('base', 8, 256),
  swinv2_base_window16_256: second('base', 16, 256),
  swinv2_base_window12_192: second('base', 12, 192),
  swinv2_large_window12_192: second('large', 12, 192),
};

interface BlockShape {
  readonly heads: number;
  readonly window: number;
  readonly shifted: boolean;
  readonly dropRate: number;
  readonly second: boolean;
}

/** Rolled, padded (a copy even when nothing is missing), cut into windows, attended and put back. */
function attendWindows(t: Tape, x: Tensor, shape: BlockShape): Tensor {
  const [batch = 1, height = 1, width = 1, channels = 1] = x.shape;
  const { window, heads, shifted } = shape;
  const grid = { height: Math.ceil(height / window) * window, width: Math.ceil(width / window) * window };
  const count = (grid.height * grid.width) / window ** 2;
  const mask = shifted ? t.buffer([count, window ** 2, window ** 2]) : undefined;
  const padded = pad(t, shifted ? roll(t, x) : x, [batch, grid.height, grid.width, channels]);
  const windows = reshape(t, partition(t, padded, window), [-1, window ** 2, channels]);
  const attended = shape.second
    ? cosineAttention(t, windows, { heads, window, mask })
    : windowAttention(t, windows, { heads, window, mask, unbinds: true });
  const merged = mergeWindows(t, attended, { batch, padded: grid, window });
  t.keep(padded);
  const out = shifted ? roll(t, merged) : merged;
  t.keep(x, windows, attended, merged);
  return out;
}

function mlp(t: Tape, x: Tensor): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('mlp', x, () => linear(t, gelu(t, linear(t, x, 4 * channels)), channels));
}

function block(t: Tape, x: Tensor, shape: BlockShape): Tensor {
  const [batch = 1, height = 1, width = 1, channels = 1] = x.shape;
  return t.call('', x, () => {
    const branch = shape.second ? layerNorm(t, attendWindows(t, x, shape)) : attendWindows(t, layerNorm(t, x), shape);
    const attended = add(t, x, dropPath(t, branch, shape.dropRate, false));
    const tokens = reshape(t, attended, [batch, height * width, channels]);
    const refined = shape.second ? layerNorm(t, mlp(t, tokens)) : mlp(t, layerNorm(t, tokens));
    const out = add(t, tokens, dropPath(t, refined, shape.dropRate, false));
    return reshape(t, out, [batch, height, width, channels]);
  });
}

/** Four neighbours become one token of twice the width; the norm comes before the projection, in V2 behind it. */
function merge(t: Tape, x: Tensor, isSecond: boolean): Tensor {
  const [batch = 1, height = 1, width = 1, channels = 1] = x.shape;
  return t.call('downsample', x, () => {
    const copied = pad(t, x, [batch, height, width, channels]);
    const split = reshape(t, copied, [batch, height / 2, 2, width / 2, 2, channels]);
    const joined = flatten(t, permute(t, split, [0, 1, 3, 4, 2, 5]), 3);
    if (isSecond) return layerNorm(t, linear(t, joined, 2 * channels, { bias: false }));
    return linear(t, layerNorm(t, joined), 2 * channels, { bias: false });
  });
}

function stage(t: Tape, x: Tensor, index: number, variant: Variant): Tensor {
  const total = variant.depths.reduce((sum, depth) => sum + depth, 0) - 1;
  const before = variant.depths.slice(0, index).reduce((sum, depth) => sum + depth, 0);
  return t.call(`layers_${index}`, x, () => {
    const entered = index === 0 ? x : merge(t, x, variant.second);
    const side = entered.shape[1] ?? 1;
    const window = Math.min(side, variant.window);
    return t.call('blocks', entered, () => {
      let feature = entered;
      for (let layer = 0; layer < (variant.depths[index] ?? 0); layer += 1) {
        feature = block(t, feature, {
          heads: variant.heads[index] ?? 1,
          window,
          shifted: layer % 2 === 1 && side > window,
          dropRate: (0.1 * (before + layer)) / total,
          second: variant.second,
        });
      }
      return feature;
    });
  });
}

function patchEmbed(t: Tape, image: Tensor, width: number): Tensor {
  return t.call('patch_embed', image, () => {
    const map = conv2d(t, image, { out: width, kernel: 4, stride: 4, bias: true });
    return layerNorm(t, permute(t, map, [0, 2, 3, 1]));
  });
}

/** timm 1.0.31 Swin behind `features_only`: maps of B×H×W×C, which the encoder copies to B×C×H×W. */
export const timmSwinEncoders: EncoderTable = Object.fromEntries(
  Object.entries(VARIANTS).map(([name, variant]) => [
    `tu-${name}`,
    {
      dilates: false,
      minimumDepth: 2,
      features: (t, image, { depth, imageSize }) => {
        requireSize(image, `tu-${name}`, imageSize ?? variant.side);
        const maps: Tensor[] = [];
        let feature = t.within('model', () => patchEmbed(t, image, variant.width));
        for (let index = 0; index < depth - 1; index += 1) {
          const input = feature;
          feature = t.within('model', () => stage(t, input, index, variant));
          maps.push(feature);
        }
        t.keep(...maps);
        const copies = maps.map((map) => contiguous(t, permute(t, map, [0, 3, 1, 2])));
        t.keep(...maps);
        return [image, missingHalf(t, image), ...copies];
      },
    },
  ]),
);

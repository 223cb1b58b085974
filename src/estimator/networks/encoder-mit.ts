import { gelu, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, scale } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { linear, matmul } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { select } from '../tape/ops-parts.ts';
import { contiguous, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { type EncoderTable, missingHalf, runSteps, type Step } from './encoder.ts';

interface Variant {
  readonly widths: readonly number[];
  readonly depths: readonly number[];
}

const WIDE = [64, 128, 320, 512];

/** Xie et al. 2021, table 6. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  mit_b0: { widths: [32, 64, 160, 256], depths: [2, 2, 2, 2] },
  mit_b1: { widths: WIDE, depths: [2, 2, 2, 2] },
  mit_b2: { widths: WIDE, depths: [3, 4, 6, 3] },
  mit_b3: { widths: WIDE, depths: [3, 4, 18, 3] },
  mit_b4: { widths: WIDE, depths: [3, 8, 27, 3] },
  mit_b5: { widths: WIDE, depths: [3, 6, 40, 3] },
};

const HEADS = [1, 2, 5, 8];
const REDUCTIONS = [8, 4, 2, 1];

/** `LayerNorm` that sees a map as tokens and gives a map back. */
function mapNorm(t: Tape, x: Tensor): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  return t.call('', x, () => {
    const tokens = transpose(t, reshape(t, x, [batch, channels, height * width]), 1, 2);
    return reshape(t, transpose(t, layerNorm(t, tokens), 1, 2), [batch, channels, height, width]);
  });
}

interface BlockShape {
  readonly heads: number;
  readonly reduction: number;
  /** Above 1: all convolutions are dilated, the reducing ones no longer reduce. */
  readonly dilation: number;
  readonly dropRate: number;
}

/** Keys and values from a reduced map. */
function reduced(t: Tape, x: Tensor, shape: BlockShape & { height: number; width: number }): Tensor {
  const [batch = 1, , channels = 1] = x.shape;
  const { reduction, dilation, height, width } = shape;
  const map = reshape(t, permute(t, x, [0, 2, 1]), [batch, channels, height, width]);
  const geometry =
    dilation > 1
      ? { stride: 1, dilation, padding: Math.floor(reduction / 2) * dilation }
      : { stride: reduction, dilation: 1, padding: 0 };
  const convolved = t.call('sr', map, () =>
    conv2d(t, map, { out: channels, kernel: reduction, bias: true, ...geometry }),
  );
  const tokens = permute(t, flatten(t, convolved, 2), [0, 2, 1]);
  return t.call('norm', tokens, () => layerNorm(t, tokens));
}

/** Attention with one key-value projection; every step is a tensor of its own. */
function attention(t: Tape, x: Tensor, shape: BlockShape & { height: number; width: number }): Tensor {
  const [batch = 1, count = 1, channels = 1] = x.shape;
  const { heads } = shape;
  const size = channels / heads;
  return t.call('attn', x, () => {
    const q = permute(t, reshape(t, linear(t, x, channels), [batch, count, heads, size]), [0, 2, 1, 3]);
    const source = shape.reduction > 1 ? reduced(t, x, shape) : x;
    const keys = source.shape[1] ?? 1;
    const kv = permute(t, reshape(t, linear(t, source, 2 * channels), [batch, keys, 2, heads, size]), [2, 0, 3, 1, 4]);
    const k = select(t, kv, 0);
    const v = select(t, kv, 0);
    const scores = softmax(t, scale(t, matmul(t, q, transpose(t, k, -2, -1))));
    const attended = reshape(t, transpose(t, matmul(t, scores, v), 1, 2), [batch, count, channels]);
    const out = t.within('proj', () => linear(t, attended, channels));
    t.keep(q, k, v, scores, source);
    return out;
  });
}

/** Linear, depthwise 3×3 on the map, GELU, linear. */
function mixMlp(t: Tape, x: Tensor, at: { height: number; width: number; dilation: number }): Tensor {
  const [batch = 1, , channels = 1] = x.shape;
  const hidden = 4 * channels;
  return t.call('mlp', x, () => {
    const expanded = t.within('fc1', () => linear(t, x, hidden));
    const mixed = t.call('dwconv', expanded, () => {
      const map = reshape(t, transpose(t, expanded, 1, 2), [batch, hidden, at.height, at.width]);
      const geometry = { padding: at.dilation, dilation: at.dilation, groups: hidden };
      const convolved = t.call('dwconv', map, () =>
        conv2d(t, map, { out: hidden, kernel: 3, bias: true, ...geometry }),
      );
      return transpose(t, flatten(t, convolved, 2), 1, 2);
    });
    const activated = t.call('act', mixed, () => gelu(t, mixed));
    return t.within('fc2', () => linear(t, activated, channels));
  });
}

function block(t: Tape, x: Tensor, shape: BlockShape): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  return t.call('', x, () => {
    const tokens = transpose(t, flatten(t, x, 2), 1, 2);
    const at = { ...shape, height, width };
    const attended = dropPath(t, attention(t, layerNorm(t, tokens), at), shape.dropRate, false);
    const middle = add(t, tokens, attended);
    const mixed = dropPath(t, mixMlp(t, layerNorm(t, middle), at), shape.dropRate, false);
    const out = add(t, middle, mixed);
    return reshape(t, transpose(t, out, 1, 2), [batch, channels, height, width]);
  });
}

function stage(t: Tape, x: Tensor, index: number, at: { variant: Variant; outputStride: number }): Tensor {
  const { variant, outputStride } = at;
  const dilation = Math.max(1, (4 * 2 ** index) / outputStride);
  const kernel = index === 0 ? 7 : 3;
  const out = variant.widths[index] ?? 64;
  const stride = index === 0 ? 4 : dilation > 1 ? 1 : 2;
  const padding = Math.floor(kernel / 2) * dilation;
  let feature = t.call(`patch_embed${index + 1}`, x, () => {
    const projected = t.within('proj', () => conv2d(t, x, { out, kernel, stride, padding, dilation, bias: true }));
    return mapNorm(t, projected);
  });
  const shape = { heads: HEADS[index] ?? 1, reduction: REDUCTIONS[index] ?? 1, dilation };
  const before = variant.depths.slice(0, index).reduce((sum, count) => sum + count, 0);
  const last = variant.depths.reduce((sum, count) => sum + count, 0) - 1;
  const input = feature;
  feature = t.call(`block${index + 1}`, input, () => {
    let map = input;
    for (let layer = 0; layer < (variant.depths[index] ?? 0); layer += 1)
      map = block(t, map, { ...shape, dropRate: (0.1 * (before + layer)) / last });
    return map;
  });
  const blocks = feature;
  return contiguous(
    t,
    t.within(`norm${index + 1}`, () => mapNorm(t, blocks)),
  );
}

/** Mix Transformer as segmentation_models_pytorch 0.6 has it: eager attention, stochastic depth to 0.1. */
export const mitEncoders: EncoderTable = Object.fromEntries(
  Object.entries(VARIANTS).map(([name, variant]) => [
    name,
    {
      dilates: true,
      features: (t, image, { depth, outputStride }) => {
        const half = missingHalf(t, image);
        const steps = [0, 1, 2, 3].map(
          (index): Step =>
            (tape, x) =>
              stage(tape, x, index, { variant, outputStride }),
        );
        return [image, half, ...runSteps(t, image, steps, { count: depth - 1 })];
      },
    },
  ]),
);

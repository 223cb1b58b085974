import { gelu, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, constant, scale, shift } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { linear, matmul } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { pad, select, slice } from '../tape/ops-parts.ts';
import { clone, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { reducedTokens, tokensToMap } from './mit.ts';
import { multiHeadAttention } from './multi-head-attention.ts';
import { padToMultiple } from './patches.ts';

export interface TwinsOptions {
  readonly widths: readonly number[];
  readonly heads: readonly number[];
  readonly ratios: readonly number[];
  readonly depths: readonly number[];
  /** SVT: every other block attends inside 7×7 groups, and each stage ends in a norm. */
  readonly local: boolean;
  readonly dropPathRate: number;
}

type Size = readonly [number, number];

const REDUCTIONS = [8, 4, 2, 1];
const GROUP = 7;

/** Twins-PCPVT and Twins-SVT of MMSegmentation 1.2 (Chu et al. 2021): B×C×H×W maps at strides 4, 8, 16, 32. */
export function twins(t: Tape, image: Tensor, options: TwinsOptions): readonly Tensor[] {
  const total = options.depths.reduce((sum, depth) => sum + depth, 0);
  let block = 0;
  let x = image;
  return options.depths.map((depth, stage) => {
    const input = x;
    x = t.within(`layers.${stage}`, () => {
      const { tokens, size } = patchEmbed(t, input, options.widths[stage] ?? 1, stage === 0 ? 4 : 2);
      let feature = tokens;
      for (let index = 0; index < depth; index += 1, block += 1) {
        const layer = {
          size,
          heads: options.heads[stage] ?? 1,
          ratio: options.ratios[stage] ?? 4,
          rate: (options.dropPathRate * block) / Math.max(1, total - 1),
          reduction: REDUCTIONS[stage] ?? 1,
          local: options.local && index % 2 === 0,
        };
        feature = encoderLayer(t, feature, layer);
        if (index === 0) feature = positionEncoding(t, feature, size);
      }
      const last = options.local ? layerNorm(t, feature) : feature;
      return clone(t, tokensToMap(t, last, size));
    });
    return x;
  });
}

function patchEmbed(t: Tape, x: Tensor, channels: number, patch: number): { tokens: Tensor; size: Size } {
  return t.call('patch_embeds', x, () => {
    const map = conv2d(t, padToMultiple(t, x, patch), { out: channels, kernel: patch, stride: patch, bias: true });
    return {
      tokens: layerNorm(t, transpose(t, flatten(t, map, 2), 1, 2)),
      size: [map.shape[2] ?? 1, map.shape[3] ?? 1],
    };
  });
}

/** Depthwise 3×3 convolution of the map, added to it. */
function positionEncoding(t: Tape, x: Tensor, size: Size): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('position_encodings', x, () => {
    const map = tokensToMap(t, x, size);
    const encoded = add(t, conv2d(t, map, { out: channels, kernel: 3, padding: 1, groups: channels, bias: true }), map);
    return transpose(t, flatten(t, encoded, 2), 1, 2);
  });
}

interface Layer {
  readonly size: Size;
  readonly heads: number;
  readonly ratio: number;
  readonly rate: number;
  readonly reduction: number;
  readonly local: boolean;
}

function encoderLayer(t: Tape, x: Tensor, layer: Layer): Tensor {
  return t.call('', x, () => {
    const normalised = layerNorm(t, x);
    const attended = layer.local ? localAttention(t, normalised, layer) : globalAttention(t, normalised, layer);
    const middle = add(t, x, dropPath(t, attended, layer.rate, true));
    const fed = feedForward(t, layerNorm(t, middle), layer);
    return add(t, middle, dropPath(t, fed, layer.rate, true));
  });
}

/** Stochastic depth inside the branch as well as around it, as the original has it. */
function feedForward(t: Tape, x: Tensor, { ratio, rate }: Layer): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('ffn', x, () => dropPath(t, linear(t, gelu(t, linear(t, x, ratio * channels)), channels), rate, true));
}

/** Keys and values from a strided convolution; the identity that is added is the number 0. */
function globalAttention(t: Tape, x: Tensor, { size, heads, reduction, rate }: Layer): Tensor {
  return t.call('attn', x, () => {
    const source = reduction > 1 ? reducedTokens(t, x, size, reduction) : x;
    const key = transpose(t, source, 0, 1);
    const attended = transpose(
      t,
      multiHeadAttention(t, { query: transpose(t, x, 0, 1), key, value: key }, { heads }),
      0,
      1,
    );
    const out = shift(t, dropPath(t, attended, rate, true));
    t.keep(source, attended);
    return out;
  });
}

/** Attention inside groups of 7×7 tokens, with a mask for the padding that is built in every block. */
function localAttention(t: Tape, x: Tensor, { size, heads }: Layer): Tensor {
  const [batch = 1, tokens = 1, channels = 1] = x.shape;
  const [rows, columns] = [Math.ceil(size[0] / GROUP), Math.ceil(size[1] / GROUP)];
  const inner = GROUP * GROUP;
  return t.call('attn', x, () => {
    const padded = pad(t, reshape(t, x, [batch, size[0], size[1], channels]), [
      batch,
      rows * GROUP,
      columns * GROUP,
      channels,
    ]);
    const mask = groupMask(t, rows, columns);
    const groups = transpose(t, reshape(t, padded, [batch, rows, GROUP, columns, GROUP, channels]), 2, 3);
    const packed = reshape(t, linear(t, groups, 3 * channels), [
      batch,
      rows * columns,
      inner,
      3,
      heads,
      channels / heads,
    ]);
    const qkv = permute(t, packed, [3, 0, 1, 4, 2, 5]);
    const [q, k, v] = [select(t, qkv, 0), select(t, qkv, 0), select(t, qkv, 0)] as const;
    const scores = scale(t, matmul(t, q, transpose(t, k, -2, -1)));
    const weights = softmax(t, add(t, scores, mask));
    const attended = reshape(t, transpose(t, matmul(t, weights, v), 2, 3), [
      batch,
      rows,
      columns,
      GROUP,
      GROUP,
      channels,
    ]);
    t.keep(weights);
    const merged = reshape(t, transpose(t, attended, 2, 3), [batch, rows * GROUP, columns * GROUP, channels]);
    t.keep(padded);
    const cropped =
      merged.shape[1] === size[0] && merged.shape[2] === size[1]
        ? merged
        : clone(t, slice(t, slice(t, merged, 1, size[0]), 2, size[1]));
    const out = linear(t, reshape(t, cropped, [batch, tokens, channels]), channels);
    t.keep(packed, attended, mask);
    return out;
  });
}

/** 1×nW×1×N×N in fp32. */
function groupMask(t: Tape, rows: number, columns: number): Tensor {
  const inner = GROUP * GROUP;
  const shape = [1, rows * columns, inner, inner];
  const map = constant(t, 'zeros', [1, rows * GROUP, columns * GROUP], 'float');
  const groups = constant(t, 'clone', [1, rows * columns, inner], 'float');
  t.keep(map);
  const difference = constant(t, 'sub', shape, 'float');
  const unequal = constant(t, 'ne', shape, 'byte');
  const filled = constant(t, 'masked_fill', shape, 'float');
  t.keep(unequal);
  const equal = constant(t, 'eq', shape, 'byte');
  const mask = constant(t, 'masked_fill', shape, 'float');
  t.keep(difference, filled, equal, groups);
  return reshape(t, mask, [1, rows * columns, 1, inner, inner]);
}

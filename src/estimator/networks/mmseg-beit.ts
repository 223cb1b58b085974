import { gelu, softmax } from '../tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { add, constant, multiply, scale } from '../tape/ops-core.ts';
import { dropPath, maxPool } from '../tape/ops-layers.ts';
import { applyLinear, linear, matmul } from '../tape/ops-linear.ts';
import { batchNorm, layerNorm } from '../tape/ops-norm.ts';
import { concat, select } from '../tape/ops-parts.ts';
import { expand, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { tokensToFeature } from './mmseg-vit.ts';
import { relativePositionBias } from './relative-position-bias.ts';

export interface BeitOptions {
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  /** Layers whose tokens are handed out, counted from 0. */
  readonly outIndices: readonly number[];
  readonly dropPathRate: number;
  /** MAE's fine-tuning (He et al. 2022): absolute positions beside the relative ones, and a bias of all three projections. */
  readonly masked?: boolean;
}

/** BEiT of MMSegmentation 1.2 (Bao et al. 2022), patch 16: a relative position bias in every layer fixes the crop. */
export function beit(t: Tape, image: Tensor, options: BeitOptions): readonly Tensor[] {
  const [batch = 1] = image.shape;
  const { tokens, grid } = t.call('patch_embed', image, () => {
    const map = conv2d(t, image, { out: options.width, kernel: 16, stride: 16, bias: true });
    return { tokens: transpose(t, flatten(t, map, 2), 1, 2), grid: sizeOf(map) };
  });
  let x = concat(t, [expand(t, t.param(1, 1, options.width), [batch, 1, options.width]), tokens], 1);
  const masked = options.masked ?? false;
  if (masked) x = add(t, x, t.param(1, grid[0] * grid[1] + 1, options.width));
  const outputs: Tensor[] = [];
  for (let layer = 0; layer < options.layers; layer += 1) {
    const rate = (options.dropPathRate * layer) / Math.max(1, options.layers - 1);
    x = beitLayer(t, x, { grid, heads: options.heads, rate, fullBias: masked });
    if (options.outIndices.includes(layer)) outputs.push(tokensToFeature(t, x, grid, true));
  }
  return outputs;
}

interface LayerOptions {
  readonly grid: readonly [number, number];
  readonly heads: number;
  readonly rate: number;
  readonly fullBias: boolean;
}

/** Each branch is scaled by a learned vector before stochastic depth. */
function beitLayer(t: Tape, x: Tensor, options: LayerOptions): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('layers', x, () => {
    const attended = attention(t, layerNorm(t, x), options);
    const afterAttention = add(t, x, dropPath(t, multiply(t, t.param(channels), attended), options.rate, true));
    const fed = feedForward(t, layerNorm(t, afterAttention));
    return add(t, afterAttention, dropPath(t, multiply(t, t.param(channels), fed), options.rate, true));
  });
}

function feedForward(t: Tape, x: Tensor): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('ffn', x, () => linear(t, gelu(t, linear(t, x, 4 * channels)), channels));
}

/** Bias of the packed projection: query and value have one, key has zeros in its place. */
function packedBias(t: Tape, channels: number): { bias: Tensor; zeros: Tensor } {
  const zeros = constant(t, 'zeros', [channels], 'float');
  return { zeros, bias: concat(t, [t.param(channels), zeros, t.param(channels)], 0) };
}

function attention(t: Tape, x: Tensor, { grid, heads, fullBias }: LayerOptions): Tensor {
  const [batch = 1, tokens = 1, channels = 1] = x.shape;
  return t.call('attn', x, () => {
    const partial = fullBias ? undefined : packedBias(t, channels);
    const bias = partial?.bias ?? t.param(3 * channels);
    const packed = applyLinear(t, x, { weight: t.param(3 * channels, channels), bias });
    const qkv = permute(t, reshape(t, packed, [batch, tokens, 3, heads, channels / heads]), [2, 0, 3, 1, 4]);
    const [q, k, v] = [select(t, qkv, 0), select(t, qkv, 0), select(t, qkv, 0)] as const;
    const query = scale(t, q);
    const scores = matmul(t, query, transpose(t, k, -2, -1));
    const rows = (2 * grid[0] - 1) * (2 * grid[1] - 1) + 3;
    const positions = relativePositionBias(t, { heads, tokens, rows });
    const weights = softmax(t, add(t, scores, positions));
    const attended = reshape(t, transpose(t, matmul(t, weights, v), 1, 2), [batch, tokens, channels]);
    const out = linear(t, attended, channels);
    t.keep(bias, packed, query, positions, weights);
    if (partial !== undefined) t.keep(partial.zeros);
    return out;
  });
}

/** Feature2Pyramid: four equal maps to strides 4, 8, 16, 32 by transposed convolutions and pooling. */
export function featurePyramid(t: Tape, features: readonly Tensor[]): readonly Tensor[] {
  const scaled = [upsampleTwice, upsampleOnce, (_: Tape, x: Tensor): Tensor => x, halve];
  const outputs = features.map((x, index) => t.call(`ops.${index}`, x, () => (scaled[index] ?? halve)(t, x)));
  t.keep(...outputs);
  return outputs;
}

function upsampleOnce(t: Tape, x: Tensor): Tensor {
  return convTranspose2d(t, x, { out: channelsOf(x), kernel: 2, stride: 2, bias: true });
}

function upsampleTwice(t: Tape, x: Tensor): Tensor {
  return upsampleOnce(t, gelu(t, batchNorm(t, upsampleOnce(t, x))));
}

function halve(t: Tape, x: Tensor): Tensor {
  return maxPool(t, x, { kernel: 2, stride: 2 });
}

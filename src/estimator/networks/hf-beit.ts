import { AppError } from '../../errors.ts';
import { gelu } from '../tape/ops-activation.ts';
import { scaledDotProduct } from '../tape/ops-attention.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat, slice } from '../tape/ops-parts.ts';
import { contiguous, expand, flatten, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { AttentionKind } from '../workload.ts';
import { sizeOf } from './blocks.ts';
import { fromHeads, hfAttention, plainAttention, toHeads } from './hf-attention.ts';
import { type Grid, resizedPositionBias } from './hf-position-bias.ts';

export interface HfBeitOptions {
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  /** Side in pixels of the image that the tables of relative positions are made for. */
  readonly imageSize: number;
  readonly relativePositions: boolean;
  readonly dropPathRate: number;
  readonly attention: AttentionKind;
  readonly checkpoint: boolean;
  /** Data2Vec keeps an older copy of the code, in which more local variables live to the end. */
  readonly older: boolean;
}

const PATCH = 16;

export interface HfBeitTokens {
  /** B×(N+1)×C: the embedded patches, then the output of every layer. All are alive until the model returns. */
  readonly hidden: readonly Tensor[];
  readonly grid: Grid;
}

/** BeitModel and Data2VecVisionModel of transformers 5.24 without a pooler: patch 16, class token, no final norm. */
export function hfBeit(t: Tape, image: Tensor, options: HfBeitOptions): HfBeitTokens {
  return t.call('beit', image, () => {
    const { tokens, grid } = t.call('embeddings', image, () => embed(t, image, options.width));
    const hidden = [tokens];
    let x = tokens;
    for (let layer = 0; layer < options.layers; layer += 1) {
      const rate = (options.dropPathRate * layer) / Math.max(1, options.layers - 1);
      x = beitLayer(t, x, { ...options, grid, rate });
      hidden.push(x);
    }
    return { hidden, grid };
  });
}

function embed(t: Tape, image: Tensor, width: number): { tokens: Tensor; grid: Grid } {
  const token = t.param(1, 1, width);
  const map = conv2d(t, image, { out: width, kernel: PATCH, stride: PATCH, bias: true });
  const patches = transpose(t, flatten(t, map, 2), 1, 2);
  const [batch = 1] = image.shape;
  const tokens = concat(t, [expand(t, token, [batch, 1, width]), patches], 1);
  t.keep(patches);
  return { tokens, grid: sizeOf(map) };
}

interface LayerOptions extends HfBeitOptions {
  readonly grid: Grid;
  readonly rate: number;
}

/** Both branches are scaled by a learned vector before stochastic depth. */
function beitLayer(t: Tape, x: Tensor, layer: LayerOptions): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('layers', x, () =>
    t.checkpoint(layer.checkpoint, [x], () => {
      const bias = layer.older ? undefined : positionBias(t, layer);
      const normalised = layerNorm(t, x);
      const { output, weights } = attention(t, normalised, { bias, layer });
      const scaled = multiply(t, t.param(channels), output);
      const middle = add(t, dropPath(t, scaled, layer.rate, true), x);
      const fed = feedForward(t, layerNorm(t, middle), layer.older);
      const out = add(t, dropPath(t, multiply(t, t.param(channels), fed), layer.rate, true), middle);
      t.keep(middle, ...(bias === undefined ? [] : [bias]), ...(weights === undefined ? [] : [weights]));
      if (layer.older) t.keep(output, scaled);
      return out;
    }),
  );
}

/** One module, or two in the older code. */
function feedForward(t: Tape, x: Tensor, older: boolean): Tensor {
  const channels = x.shape[2] ?? 1;
  const widen = (): Tensor => gelu(t, linear(t, x, 4 * channels));
  if (!older) return t.call('mlp', x, () => linear(t, widen(), channels));
  const wide = t.call('intermediate', x, widen);
  return t.call('output', wide, () => linear(t, wide, channels));
}

function positionBias(t: Tape, { relativePositions, imageSize, grid, heads }: LayerOptions): Tensor | undefined {
  if (!relativePositions) return undefined;
  const side = Math.floor(imageSize / PATCH);
  return t.within('relative_position_bias', () => resizedPositionBias(t, { heads, table: [side, side], grid }));
}

interface Attended {
  readonly output: Tensor;
  readonly weights: Tensor | undefined;
}

/** The key projection has no bias. */
function attention(t: Tape, x: Tensor, { bias, layer }: { bias: Tensor | undefined; layer: LayerOptions }): Attended {
  const channels = x.shape[2] ?? 1;
  return t.call('attention', x, () => {
    const query = toHeads(t, linear(t, x, channels), layer.heads);
    const key = toHeads(t, linear(t, x, channels, { bias: false }), layer.heads);
    const value = toHeads(t, linear(t, x, channels), layer.heads);
    const { output, weights } = layer.older
      ? olderAttention(t, [query, key, value], layer)
      : hfAttention(t, { query, key, value, ...(bias === undefined ? {} : { mask: bias }) }, layer.attention);
    const merged = fromHeads(t, output);
    if (layer.older) t.keep(query, key, value);
    const projected = linear(t, merged, channels);
    t.keep(...(layer.older ? [output] : [query, key, value, output]));
    return { output: projected, weights };
  });
}

/** The bias is made inside, after the projections. */
function olderAttention(
  t: Tape,
  [query, key, value]: readonly [Tensor, Tensor, Tensor],
  layer: LayerOptions,
): Attended {
  if (layer.attention === 'sdpa') {
    const bias = positionBias(t, layer);
    const attended = scaledDotProduct(t, { q: query, k: key, v: value, ...(bias === undefined ? {} : { mask: bias }) });
    const output = contiguous(t, transpose(t, attended, 1, 2));
    if (bias !== undefined) t.keep(bias);
    return { output, weights: undefined };
  }
  const output = plainAttention(t, { query, key, value }, () => positionBias(t, layer));
  return { output, weights: undefined };
}

/** Tokens of a layer without the class token as a B×C×H×W view. */
export function withoutClassToken(t: Tape, tokens: Tensor): Tensor {
  return slice(t, tokens, 1, (tokens.shape[1] ?? 1) - 1);
}

/** The patch grid has to be the one that the configuration names. */
export function requireConfiguredSize(image: Tensor, imageSize: number): void {
  const [height, width] = sizeOf(image);
  if (Math.floor(height / PATCH) * Math.floor(width / PATCH) === Math.floor(imageSize / PATCH) ** 2) return;
  throw new AppError('unsupported-combination', `the model takes images of ${imageSize}×${imageSize} pixels`, {
    details: { rule: 'fixed-size', side: imageSize, height, width },
  });
}

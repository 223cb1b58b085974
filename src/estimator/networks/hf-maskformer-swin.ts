import { gelu, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, scale } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { linear, matmul } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { pad, roll, slice } from '../tape/ops-parts.ts';
import { mean } from '../tape/ops-resize.ts';
import { clone, contiguous, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { fromHeads, toHeads } from './hf-attention.ts';
import { merge, partition, patchMerging, type Size, shiftMask } from './hf-swin-windows.ts';
import { padToMultiple } from './patches.ts';
import { relativePositionBias } from './relative-position-bias.ts';

export interface MaskFormerSwinOptions {
  readonly width: number;
  readonly depths: readonly number[];
  readonly heads: readonly number[];
  readonly window: number;
  readonly dropPathRate: number;
}

/**
 * MaskFormerSwinBackbone of transformers 5.24: B×C×H×W maps of the four stages, each normalised. Attention is written
 * out whatever is asked for; the output of every block lives until the backbone returns.
 */
export function maskFormerSwin(t: Tape, image: Tensor, options: MaskFormerSwinOptions): readonly Tensor[] {
  return t.call('backbone', image, () => {
    const { embedded, start } = t.call('embeddings', image, () => {
      const map = conv2d(t, padToMultiple(t, image, 4), { out: options.width, kernel: 4, stride: 4, bias: true });
      return { embedded: layerNorm(t, transpose(t, flatten(t, map, 2), 1, 2)), start: sizeOf(map) };
    });
    const { lasts, held, final } = encode(t, embedded, { start, options });
    const normalised = layerNorm(t, final);
    const pooled = mean(t, normalised, [1], false);
    const maps = lasts.map(({ tokens, size }) => {
      const [batch = 1, , channels = 1] = tokens.shape;
      const view = reshape(t, permute(t, layerNorm(t, tokens), [0, 2, 1]), [batch, channels, ...size]);
      return contiguous(t, view);
    });
    t.keep(embedded, normalised, pooled, ...held, ...maps);
    return maps;
  });
}

interface Encoded {
  /** Tokens of the last block of every stage, with their grid. */
  readonly lasts: readonly { readonly tokens: Tensor; readonly size: Size }[];
  readonly held: readonly Tensor[];
  readonly final: Tensor;
}

function encode(t: Tape, x: Tensor, { start, options }: { start: Size; options: MaskFormerSwinOptions }): Encoded {
  const total = options.depths.reduce((sum, depth) => sum + depth, 0);
  const lasts: { tokens: Tensor; size: Size }[] = [];
  const held: Tensor[] = [];
  let tokens = x;
  let size = start;
  let block = 0;
  for (const [stage, depth] of options.depths.entries()) {
    const input = tokens;
    tokens = t.call(`layers.${stage}`, input, () => {
      let feature = input;
      for (let index = 0; index < depth; index += 1, block += 1) {
        const rate = (options.dropPathRate * block) / Math.max(1, total - 1);
        const layer = {
          size,
          heads: options.heads[stage] ?? 1,
          rate,
          shifted: index % 2 === 1,
          window: options.window,
        };
        feature = swinLayer(t, feature, layer);
        held.push(feature);
      }
      lasts.push({ tokens: feature, size });
      const last = stage === options.depths.length - 1;
      return last ? feature : t.call('downsample', feature, () => patchMerging(t, feature, size));
    });
    size = stage === options.depths.length - 1 ? size : [Math.ceil(size[0] / 2), Math.ceil(size[1] / 2)];
  }
  return { lasts, held, final: tokens };
}

interface Layer {
  readonly size: Size;
  readonly heads: number;
  readonly rate: number;
  readonly shifted: boolean;
  readonly window: number;
}

function swinLayer(t: Tape, x: Tensor, layer: Layer): Tensor {
  const { size, window } = layer;
  const [batch = 1, , channels = 1] = x.shape;
  return t.call('', x, () => {
    const padded: Size = [Math.ceil(size[0] / window) * window, Math.ceil(size[1] / window) * window];
    const grid = reshape(t, layerNorm(t, x), [batch, size[0], size[1], channels]);
    const map = pad(t, grid, [batch, padded[0], padded[1], channels]);
    const shifted = layer.shifted ? roll(t, map) : map;
    const windows = reshape(t, partition(t, shifted, window), [-1, window * window, channels]);
    const mask = layer.shifted ? shiftMask(t, padded, window) : undefined;
    const attended = attention(t, windows, { mask, layer });
    const merged = merge(t, attended, { batch, padded, window });
    const rolled = layer.shifted ? roll(t, merged) : merged;
    const whole = padded[0] === size[0] && padded[1] === size[1];
    const cropped = whole ? rolled : clone(t, slice(t, slice(t, rolled, 1, size[0]), 2, size[1]));
    const tokens = reshape(t, cropped, [batch, size[0] * size[1], channels]);
    const middle = add(t, x, dropPath(t, tokens, layer.rate, true));
    t.keep(map);
    const out = add(t, middle, feedForward(t, layerNorm(t, middle)));
    t.keep(shifted, windows, attended, merged, cropped, middle, ...(mask === undefined ? [] : [mask]));
    return out;
  });
}

function feedForward(t: Tape, x: Tensor): Tensor {
  const channels = x.shape[2] ?? 1;
  const wide = t.call('intermediate', x, () => gelu(t, linear(t, x, 4 * channels)));
  return t.call('output', wide, () => linear(t, wide, channels));
}

function attention(t: Tape, x: Tensor, { mask, layer }: { mask: Tensor | undefined; layer: Layer }): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('attention', mask === undefined ? [x] : [x, mask], () => {
    const context = t.call('self', mask === undefined ? [x] : [x, mask], () => selfAttention(t, x, { mask, layer }));
    const out = t.call('output', [context, x], () => linear(t, context, channels));
    t.keep(context);
    return out;
  });
}

/** The bias of relative positions is added for all windows, the mask of shifted windows image by image. */
function selfAttention(t: Tape, x: Tensor, { mask, layer }: { mask: Tensor | undefined; layer: Layer }): Tensor {
  const [, tokens = 1, channels = 1] = x.shape;
  const { heads, window } = layer;
  const query = toHeads(t, linear(t, x, channels), heads);
  const key = toHeads(t, linear(t, x, channels), heads);
  const value = toHeads(t, linear(t, x, channels), heads);
  const scores = scale(t, matmul(t, query, transpose(t, key, 2, 3)));
  const bias = relativePositionBias(t, { heads, tokens, rows: (2 * window - 1) ** 2 });
  const biased = add(t, scores, bias);
  const masked = mask === undefined ? biased : withMask(t, biased, mask);
  const weights = softmax(t, masked);
  const context = contiguous(t, transpose(t, matmul(t, weights, value), 1, 2));
  t.keep(query, key, value, bias, masked, weights);
  return fromHeads(t, context);
}

function withMask(t: Tape, scores: Tensor, mask: Tensor): Tensor {
  const [windows = 1, tokens = 1] = mask.shape;
  const [rows = 1, heads = 1] = scores.shape;
  const split = reshape(t, scores, [rows / windows, windows, heads, tokens, tokens]);
  const sum = add(t, split, reshape(t, mask, [1, windows, 1, tokens, tokens]));
  return reshape(t, sum, scores.shape);
}

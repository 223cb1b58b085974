import { gelu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { pad, roll, slice } from '../tape/ops-parts.ts';
import { clone, contiguous, expand, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { AttentionKind } from '../workload.ts';
import { sizeOf } from './blocks.ts';
import { fromHeads, hfAttention, toHeads } from './hf-attention.ts';
import { merge, partition, patchMerging, type Size, shiftMask } from './hf-swin-windows.ts';
import { padToMultiple } from './patches.ts';
import { relativePositionBias } from './relative-position-bias.ts';

export interface HfSwinOptions {
  readonly width: number;
  readonly depths: readonly number[];
  readonly heads: readonly number[];
  readonly window: number;
  readonly dropPathRate: number;
  readonly attention: AttentionKind;
  readonly checkpoint: boolean;
}

/** [width, blocks, heads] of the Swin checkpoints that transformers' segmentation models use. */
export const HF_SWINS: Readonly<Record<string, readonly [number, readonly number[], readonly number[]]>> = {
  'swin-t': [96, [2, 2, 6, 2], [3, 6, 12, 24]],
  'swin-s': [96, [2, 2, 18, 2], [3, 6, 12, 24]],
  'swin-b': [128, [2, 2, 18, 2], [4, 8, 16, 32]],
  'swin-l': [192, [2, 2, 18, 2], [6, 12, 24, 48]],
};

/**
 * SwinBackbone of transformers 5.24: B×C×H×W maps of the four stages, each normalised. The stem and every stage's
 * map and tokens live until the backbone returns; its own last norm runs but nothing uses it.
 */
export function hfSwinBackbone(t: Tape, image: Tensor, options: HfSwinOptions): readonly Tensor[] {
  return t.call('backbone', image, () => {
    const { maps, held } = t.call('swin', image, () => encode(t, image, options));
    const features = maps.map((map, stage) =>
      t.within(`hidden_states_norms.stage${stage + 1}`, () => normalisedMap(t, map)),
    );
    t.keep(...maps, ...held, ...features);
    return features;
  });
}

function normalisedMap(t: Tape, map: Tensor): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = map.shape;
  const tokens = reshape(t, contiguous(t, permute(t, map, [0, 2, 3, 1])), [batch, height * width, channels]);
  const normalised = reshape(t, layerNorm(t, tokens), [batch, height, width, channels]);
  return contiguous(t, permute(t, normalised, [0, 3, 1, 2]));
}

function tokensToMapCopy(t: Tape, tokens: Tensor, size: Size): Tensor {
  const [batch = 1, , channels = 1] = tokens.shape;
  return contiguous(t, permute(t, reshape(t, tokens, [batch, size[0], size[1], channels]), [0, 3, 1, 2]));
}

function encode(t: Tape, image: Tensor, options: HfSwinOptions): { maps: readonly Tensor[]; held: readonly Tensor[] } {
  const embedded = t.call('embeddings', image, () => {
    const map = conv2d(t, padToMultiple(t, image, 4), { out: options.width, kernel: 4, stride: 4, bias: true });
    return { tokens: layerNorm(t, transpose(t, flatten(t, map, 2), 1, 2)), size: sizeOf(map) };
  });
  const held = [embedded.tokens, tokensToMapCopy(t, embedded.tokens, embedded.size)];
  const total = options.depths.reduce((sum, depth) => sum + depth, 0);
  const maps: Tensor[] = [];
  let { tokens, size } = embedded;
  let block = 0;
  for (const [stage, depth] of options.depths.entries()) {
    const rates = Array.from(
      { length: depth },
      (_, index) => (options.dropPathRate * (block + index)) / Math.max(1, total - 1),
    );
    block += depth;
    const last = stage === options.depths.length - 1;
    const out = swinStage(t, tokens, { size, rates, last, heads: options.heads[stage] ?? 1, options, stage });
    maps.push(out.map);
    held.push(out.tokens);
    tokens = out.tokens;
    if (!last) size = [Math.ceil(size[0] / 2), Math.ceil(size[1] / 2)];
  }
  layerNorm(t, tokens);
  return { maps, held };
}

interface Stage {
  readonly size: Size;
  readonly rates: readonly number[];
  readonly last: boolean;
  readonly heads: number;
  readonly stage: number;
  readonly options: HfSwinOptions;
}

/** Checkpointed as a whole, and layer by layer inside. */
function swinStage(t: Tape, x: Tensor, stage: Stage): { tokens: Tensor; map: Tensor } {
  const { size, options } = stage;
  return t.call(`layers.${stage.stage}`, x, () =>
    t.checkpoint(options.checkpoint, [x], () => {
      let feature = x;
      let weights: Tensor | undefined;
      for (const [index, rate] of stage.rates.entries()) {
        const before: Tensor | undefined = weights;
        const layer = swinLayer(t, feature, { size, heads: stage.heads, rate, shifted: index % 2 === 1, options });
        if (before !== undefined) t.keep(before);
        feature = layer.output;
        weights = layer.weights;
      }
      const tokens = stage.last ? feature : t.call('downsample', feature, () => patchMerging(t, feature, size));
      const map = tokensToMapCopy(t, feature, size);
      if (weights !== undefined) t.keep(weights);
      t.keep(feature);
      return { tokens, map };
    }),
  );
}

interface Layer {
  readonly size: Size;
  readonly heads: number;
  readonly rate: number;
  readonly shifted: boolean;
  readonly options: HfSwinOptions;
}

function swinLayer(t: Tape, x: Tensor, layer: Layer): { output: Tensor; weights: Tensor | undefined } {
  return t.call('', x, () =>
    t.checkpoint(layer.options.checkpoint, [x], () => {
      const { tokens, weights, map, held } = windowBranch(t, x, layer);
      const middle = add(t, x, dropPath(t, tokens, layer.rate, true));
      t.keep(map);
      const output = add(t, feedForward(t, layerNorm(t, middle)), middle);
      t.keep(tokens, middle, ...held);
      if (weights !== undefined) t.keep(weights);
      return { output, weights };
    }),
  );
}

function feedForward(t: Tape, x: Tensor): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('mlp', x, () => linear(t, gelu(t, linear(t, x, 4 * channels)), channels));
}

interface Branch {
  readonly tokens: Tensor;
  readonly weights: Tensor | undefined;
  /** The padded map, which the sum with the shortcut replaces. */
  readonly map: Tensor;
  /** Locals that live to the end of the layer. */
  readonly held: readonly Tensor[];
}

function windowBranch(t: Tape, x: Tensor, layer: Layer): Branch {
  const { size, options } = layer;
  const [batch = 1, , channels = 1] = x.shape;
  const { window } = options;
  const padded: Size = [Math.ceil(size[0] / window) * window, Math.ceil(size[1] / window) * window];
  const map = pad(t, reshape(t, layerNorm(t, x), [batch, size[0], size[1], channels]), [
    batch,
    padded[0],
    padded[1],
    channels,
  ]);
  const shifted = layer.shifted ? roll(t, map) : map;
  const windows = reshape(t, partition(t, shifted, window), [-1, window * window, channels]);
  const mask = layer.shifted ? shiftMask(t, padded, window) : undefined;
  const { output, weights } = attention(t, windows, { mask, layer });
  const merged = merge(t, output, { batch, padded, window });
  const rolled = layer.shifted ? roll(t, merged) : merged;
  const whole = padded[0] === size[0] && padded[1] === size[1];
  const cropped = whole ? rolled : clone(t, slice(t, slice(t, rolled, 1, size[0]), 2, size[1]));
  const held = [windows, output, ...(mask === undefined ? [] : [mask])];
  return { tokens: reshape(t, cropped, [batch, size[0] * size[1], channels]), weights, map, held };
}

function attention(
  t: Tape,
  x: Tensor,
  { mask, layer }: { mask: Tensor | undefined; layer: Layer },
): { output: Tensor; weights: Tensor | undefined } {
  const { heads, options } = layer;
  const channels = x.shape[2] ?? 1;
  return t.call('attention', mask === undefined ? [x] : [x, mask], () => {
    const query = toHeads(t, linear(t, x, channels), heads);
    const key = toHeads(t, linear(t, x, channels), heads);
    const value = toHeads(t, linear(t, x, channels), heads);
    const window = options.window;
    const bias = relativePositionBias(t, { heads, tokens: window * window, rows: (2 * window - 1) ** 2 });
    const spread = mask === undefined ? undefined : spreadMask(t, mask, x);
    const combined = spread === undefined ? bias : add(t, bias, spread);
    const { output, weights } = hfAttention(t, { query, key, value, mask: combined }, options.attention);
    const projected = linear(t, fromHeads(t, output), channels);
    t.keep(query, key, value, bias, combined, output, ...(spread === undefined ? [] : [spread]));
    return { output: projected, weights };
  });
}

/** nW×N×N → (B·nW)×1×N×N: a copy for more than one image. */
function spreadMask(t: Tape, mask: Tensor, x: Tensor): Tensor {
  const [windows = 1, tokens = 1] = mask.shape;
  const batch = (x.shape[0] ?? 1) / windows;
  const broadcast = expand(t, reshape(t, mask, [1, windows, 1, tokens, tokens]), [batch, windows, 1, tokens, tokens]);
  return reshape(t, broadcast, [batch * windows, 1, tokens, tokens]);
}

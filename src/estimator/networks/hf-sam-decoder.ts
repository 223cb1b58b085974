import { gelu, relu } from '../tape/ops-activation.ts';
import { convTranspose2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { linear, matmul } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat, select, slice, stack } from '../tape/ops-parts.ts';
import { repeat } from '../tape/ops-reduce.ts';
import { clone, flatten, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { AttentionKind } from '../workload.ts';
import { layerNorm2d } from './blocks.ts';
import { hfAttention, toHeads } from './hf-attention.ts';

const CHANNELS = 256;
const HEADS = 8;
const FEEDFORWARD = 2048;
const LAYERS = 2;
const MASKS = 4;

export interface SamPrompts {
  /** B×1×2×256: the corners of a box. */
  readonly sparse: Tensor;
  /** 1×256×1×1, broadcast. */
  readonly dense: Tensor;
}

/** Mask decoder of SAM in transformers 5.24: B×1×4×256×256 logits of which the first mask is used. */
export function samDecoder(
  t: Tape,
  inputs: { image: Tensor; positions: Tensor; prompts: SamPrompts; attention: AttentionKind },
): { masks: Tensor; iou: Tensor } {
  const { image, positions, prompts, attention } = inputs;
  const [batch = 1, , height = 1, width = 1] = image.shape;
  return t.call('mask_decoder', [image, positions, prompts.sparse], () => {
    const learned = concat(t, [t.param(1, CHANNELS), t.param(MASKS, CHANNELS)], 0);
    const spread = repeat(t, reshape(t, learned, [1, 1, MASKS + 1, CHANNELS]), [batch, 1, 1, 1]);
    const tokens = concat(t, [spread, prompts.sparse], 2);
    const grid = clone(t, add(t, image, prompts.dense));
    const places = clone(t, positions);
    const { queries, keys } = twoWay(t, { tokens, grid, places, attention });
    const map = reshape(t, transpose(t, keys, 2, 3), [batch, CHANNELS, height, width]);
    const wide = layerNorm2d(
      t,
      'upscale_layer_norm',
      convTranspose2d(t, map, { out: 64, kernel: 2, stride: 2, bias: true }),
    );
    const fine = gelu(t, convTranspose2d(t, gelu(t, wide), { out: 32, kernel: 2, stride: 2, bias: true }));
    const hypers = Array.from({ length: MASKS }, () => feedForward(t, select(t, slice(t, queries, 2, MASKS), 2), 32));
    const hyper = stack(t, hypers, 2);
    const pixels = reshape(t, fine, [batch, 1, 32, 16 * height * width]);
    const masks = reshape(t, matmul(t, hyper, pixels), [batch, 1, MASKS, 4 * height, 4 * width]);
    const iou = feedForward(t, select(t, queries, 2), MASKS);
    t.keep(tokens, grid, places, queries, map, fine, hyper, ...hypers, learned, spread);
    return { masks, iou };
  });
}

/** Three layers with ReLU between. */
function feedForward(t: Tape, x: Tensor, out: number): Tensor {
  return t.call('', x, () => {
    const first = relu(t, linear(t, x, CHANNELS), false);
    return linear(t, relu(t, linear(t, first, CHANNELS), false), out);
  });
}

interface TwoWay {
  readonly tokens: Tensor;
  readonly grid: Tensor;
  readonly places: Tensor;
  readonly attention: AttentionKind;
}

const asTokens = (t: Tape, x: Tensor): Tensor => {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  return reshape(t, transpose(t, flatten(t, x, 2), 1, 2), [batch, 1, height * width, channels]);
};

function twoWay(t: Tape, { tokens, grid, places, attention }: TwoWay): { queries: Tensor; keys: Tensor } {
  return t.call('transformer', [tokens, grid, places], () => {
    const placed = asTokens(t, places);
    let queries = tokens;
    let keys = asTokens(t, grid);
    for (let layer = 0; layer < LAYERS; layer += 1) {
      const out = block(t, { queries, keys, tokens, placed, attention, first: layer === 0 });
      queries = out.queries;
      keys = out.keys;
    }
    const query = add(t, queries, tokens);
    const key = add(t, keys, placed);
    const attended = attend(t, { query, key, value: keys, rate: 2, attention });
    const final = layerNorm(t, add(t, queries, attended));
    t.keep(query, key, attended);
    return { queries: final, keys };
  });
}

interface Block {
  readonly queries: Tensor;
  readonly keys: Tensor;
  readonly tokens: Tensor;
  readonly placed: Tensor;
  readonly attention: AttentionKind;
  readonly first: boolean;
}

function block(t: Tape, b: Block): { queries: Tensor; keys: Tensor } {
  const { keys, tokens, placed, attention } = b;
  return t.call('layers', [b.queries, keys, tokens, placed], () => {
    const start = b.first ? b.queries : add(t, b.queries, tokens);
    const own = attend(t, { query: start, key: start, value: b.queries, rate: 1, attention });
    const first = layerNorm(t, b.first ? own : add(t, b.queries, own));
    const query = add(t, first, tokens);
    const key = add(t, keys, placed);
    const seen = attend(t, { query, key, value: keys, rate: 2, attention });
    const second = layerNorm(t, add(t, first, seen));
    const fed = t.call('mlp', second, () => linear(t, relu(t, linear(t, second, FEEDFORWARD), false), CHANNELS));
    const third = layerNorm(t, add(t, second, fed));
    const again = add(t, third, tokens);
    t.keep(query);
    const placedKeys = add(t, keys, placed);
    t.keep(key);
    const back = attend(t, { query: placedKeys, key: again, value: third, rate: 2, attention });
    t.keep(seen);
    const next = layerNorm(t, add(t, keys, back));
    t.keep(again, placedKeys, back, fed, third);
    return { queries: third, keys: next };
  });
}

interface Attending {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  /** By how much the inner width is smaller. */
  readonly rate: number;
  readonly attention: AttentionKind;
}

function attend(t: Tape, { query, key, value, rate, attention }: Attending): Tensor {
  const [batch = 1, , tokens = 1, channels = 1] = query.shape;
  const inner = channels / rate;
  return t.call('attn', [query, key, value], () => {
    const split = (x: Tensor): Tensor => {
      const projected = linear(t, x, inner);
      return toHeads(t, reshape(t, projected, [batch, x.shape[2] ?? 1, inner]), HEADS);
    };
    const [q, k, v] = [split(query), split(key), split(value)] as const;
    const { output, weights } = hfAttention(t, { query: q, key: k, value: v }, attention);
    const merged = reshape(t, output, [batch, 1, tokens, inner]);
    const projected = linear(t, merged, channels);
    t.keep(q, k, v, ...(weights === undefined ? [] : [weights]));
    return projected;
  });
}

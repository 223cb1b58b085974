import { gelu, softmax } from '../tape/ops-activation.ts';
import { scaledDotProduct } from '../tape/ops-attention.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, cast, scale } from '../tape/ops-core.ts';
import { bmm, linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { pad, slice, unbind } from '../tape/ops-parts.ts';
import { clone, contiguous, permute, reshape, transpose } from '../tape/ops-shape.ts';
import { emitFresh } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { AttentionKind } from '../workload.ts';
import { layerNorm2d } from './blocks.ts';

export interface SamVisionOptions {
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  /** Layers that attend to the whole image; all others to windows of 14. */
  readonly global: readonly number[];
  readonly attention: AttentionKind;
  readonly checkpoint: boolean;
}

const PATCH = 16;
const SIDE = 64;
const WINDOW = 14;
const CHANNELS = 256;

/** Vision encoder of SAM in transformers 5.24 (Kirillov et al. 2023) at 1024²: B×256×64×64 as a view of B×64×64×256. */
export function samVision(t: Tape, image: Tensor, options: SamVisionOptions): Tensor {
  return t.call('vision_encoder', image, () => {
    const { width } = options;
    const map = conv2d(t, image, { out: width, kernel: PATCH, stride: PATCH, bias: true });
    const patches = permute(t, map, [0, 2, 3, 1]);
    let x = add(t, patches, t.param(1, SIDE, SIDE, width));
    t.keep(patches);
    for (let index = 0; index < options.layers; index += 1) {
      x = visionLayer(t, x, options, options.global.includes(index) ? 0 : WINDOW);
    }
    return t.call('neck', x, () => {
      const thin = conv2d(t, permute(t, x, [0, 3, 1, 2]), { out: CHANNELS, kernel: 1 });
      const first = layerNorm2d(t, 'layer_norm1', thin);
      return layerNorm2d(t, 'layer_norm2', conv2d(t, first, { out: CHANNELS, kernel: 3, padding: 1 }));
    });
  });
}

function visionLayer(t: Tape, x: Tensor, options: SamVisionOptions, window: number): Tensor {
  return t.call('layers', x, () =>
    t.checkpoint(options.checkpoint, [x], () => {
      const normalised = layerNorm(t, x);
      const windows = window > 0 ? partition(t, normalised, window) : normalised;
      if (window > 0) t.keep(normalised);
      const { output, weights } = attention(t, windows, options);
      const whole = window > 0 ? unpartition(t, output, x.shape, window) : output;
      const middle = add(t, x, whole);
      const again = layerNorm(t, middle);
      const fed = t.call('mlp', again, () => linear(t, gelu(t, linear(t, again, 4 * options.width)), options.width));
      const out = add(t, middle, fed);
      t.keep(middle, again, ...(weights === undefined ? [] : [weights]));
      return out;
    }),
  );
}

function partition(t: Tape, x: Tensor, window: number): Tensor {
  const [batch = 1, height = 1, width = 1, channels = 1] = x.shape;
  const rows = Math.ceil(height / window);
  const columns = Math.ceil(width / window);
  const padded = pad(t, x, [batch, rows * window, columns * window, channels]);
  const grid = reshape(t, padded, [batch, rows, window, columns, window, channels]);
  const windows = contiguous(t, permute(t, grid, [0, 1, 3, 2, 4, 5]));
  t.keep(padded);
  return reshape(t, windows, [-1, window, window, channels]);
}

function unpartition(t: Tape, x: Tensor, shape: readonly number[], window: number): Tensor {
  const [batch = 1, height = 1, width = 1, channels = 1] = shape;
  const rows = Math.ceil(height / window);
  const columns = Math.ceil(width / window);
  const grid = permute(t, reshape(t, x, [batch, rows, columns, window, window, channels]), [0, 1, 3, 2, 4, 5]);
  const map = reshape(t, contiguous(t, grid), [batch, rows * window, columns * window, channels]);
  const cut = contiguous(t, slice(t, slice(t, map, 1, height), 2, width));
  t.keep(x);
  return cut;
}

/** Table of relative positions along one axis, spread to s×s×d by indices on the CPU. */
function relativePositions(t: Tape, side: number, size: number): Tensor {
  const table = t.param(2 * side - 1, size);
  t.begin('upsample_linear1d', [table]);
  const resized = t.result(
    { storage: t.allocate([size, 2 * side - 1], 'float'), shape: [size, 2 * side - 1], dtype: 'float' },
    { name: 'upsample_linear1d', inputs: [table], saved: [], rule: (walk, node) => emitFresh(walk, node, 0) },
  );
  t.begin('index', [resized]);
  const shape = [side, side, size];
  const picked = t.result(
    { storage: t.allocate(shape, 'float'), shape, dtype: 'float' },
    { name: 'index', inputs: [resized], saved: [], rule: (walk, node) => emitFresh(walk, node, 0) },
  );
  t.keep(resized);
  return picked;
}

/** Bias of relative positions from the queries, one product an axis, joined and copied: (B·h)×N×N. */
function decomposedBias(t: Tape, query: Tensor, side: number): Tensor {
  const [rows = 1, count = 1, size = 1] = query.shape;
  const vertical = relativePositions(t, side, size);
  const horizontal = relativePositions(t, side, size);
  const grid = reshape(t, query, [rows, side, side, size]);
  const product = (order: readonly [number, number, number], table: Tensor): Tensor => {
    const [axis, first, second] = order;
    const turned = reshape(t, permute(t, grid, [axis, first, second, 3]), [side, rows * side, size]);
    return reshape(t, bmm(t, turned, transpose(t, table, 1, 2)), [side, rows, side, side]);
  };
  const down = reshape(t, permute(t, product([1, 0, 2], vertical), [1, 0, 2, 3]), [rows, side, side, side, 1]);
  const across = reshape(t, permute(t, product([2, 0, 1], horizontal), [1, 2, 0, 3]), [rows, side, side, 1, side]);
  const sum = add(t, down, across);
  t.keep(vertical, horizontal, down, across);
  // The sum follows the layout of its first part, so that the reshape copies.
  return reshape(t, clone(t, sum), [rows, count, count]);
}

function attention(t: Tape, x: Tensor, options: SamVisionOptions): { output: Tensor; weights: Tensor | undefined } {
  const [batch = 1, side = 1, , channels = 1] = x.shape;
  const { heads } = options;
  const count = side * side;
  return t.call('attn', x, () => {
    const packed = reshape(t, linear(t, x, 3 * channels), [batch, count, 3, heads, channels / heads]);
    const turned = reshape(t, permute(t, packed, [2, 0, 3, 1, 4]), [3, batch * heads, count, channels / heads]);
    const [query = x, key = x, value = x] = unbind(t, turned);
    const operands = { query, key, value, side };
    const { attended, held, weights } =
      options.attention === 'sdpa' ? fused(t, operands, [batch, heads]) : written(t, operands, [batch, heads]);
    const map = reshape(t, attended, [batch, heads, side, side, channels / heads]);
    const merged = reshape(t, permute(t, map, [0, 2, 3, 1, 4]), [batch, side, side, channels]);
    const output = linear(t, merged, channels);
    t.keep(packed, turned, ...held);
    return { output, weights };
  });
}

interface Operands {
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  readonly side: number;
}

interface Attended {
  readonly attended: Tensor;
  readonly held: readonly Tensor[];
  readonly weights: Tensor | undefined;
}

function fused(t: Tape, { query, key, value, side }: Operands, [batch, heads]: readonly [number, number]): Attended {
  const count = side * side;
  const bias = reshape(t, decomposedBias(t, query, side), [batch, heads, count, count]);
  const apart = (x: Tensor): Tensor => reshape(t, x, [batch, heads, count, x.shape[2] ?? 1]);
  const attended = scaledDotProduct(t, { q: apart(query), k: apart(key), v: apart(value), mask: bias });
  return { attended, held: [bias], weights: undefined };
}

function written(t: Tape, { query, key, value, side }: Operands, _: readonly [number, number]): Attended {
  const scores = bmm(t, scale(t, query), transpose(t, key, 1, 2));
  const bias = decomposedBias(t, query, side);
  const masked = add(t, scores, bias);
  t.keep(scores);
  const weights = cast(t, softmax(t, masked), query.dtype);
  t.keep(masked);
  const attended = bmm(t, weights, value);
  return { attended, held: [bias, weights], weights };
}

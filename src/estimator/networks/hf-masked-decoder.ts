import { relu, softmax } from '../tape/ops-activation.ts';
import { add, scale } from '../tape/ops-core.ts';
import { bmm, linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { repeat } from '../tape/ops-reduce.ts';
import { contiguous, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { multiHeadAttention } from './multi-head-attention.ts';

const CHANNELS = 256;
const HEADS = 8;
const FEEDFORWARD = 2048;

export interface DecoderLayerInputs {
  /** Q×B×C. */
  readonly queries: Tensor;
  readonly queryPositions: Tensor;
  /** N×B×C. */
  readonly memory: Tensor;
  readonly memoryPositions: Tensor;
  readonly blocked: Tensor;
}

/** Masked attention to one map, attention among queries, feed-forward; post-norm. */
export function maskedDecoderLayer(t: Tape, inputs: DecoderLayerInputs): Tensor {
  const { queries, queryPositions, memory, memoryPositions, blocked } = inputs;
  return t.call('layers', [queries, queryPositions, memory, blocked], () => {
    const asked = add(t, queries, queryPositions);
    const known = add(t, memory, memoryPositions);
    const seen = multiHeadAttention(
      t,
      { query: asked, key: known, value: memory, mask: { kind: 'scores', source: blocked } },
      { heads: HEADS },
    );
    const first = layerNorm(t, add(t, queries, seen));
    const { output, weights } = querySelfAttention(t, first, queryPositions);
    const second = layerNorm(t, add(t, first, output));
    const wide = relu(t, linear(t, second, FEEDFORWARD), false);
    const out = layerNorm(t, add(t, second, linear(t, wide, CHANNELS)));
    t.keep(second, weights);
    return out;
  });
}

/** B×N×C → B×h×N×d as a copy. */
function split(t: Tape, x: Tensor): Tensor {
  const [batch = 1, count = 1] = x.shape;
  return contiguous(t, transpose(t, reshape(t, x, [batch, count, HEADS, CHANNELS / HEADS]), 1, 2));
}

/** Mask2FormerAttention, DetrAttention: written out, on Q×B×C turned to B×Q×C. */
function querySelfAttention(t: Tape, x: Tensor, positions: Tensor): { output: Tensor; weights: Tensor } {
  const [count = 1, batch = 1] = x.shape;
  return t.call('self_attn', [x, positions], () => {
    const original = permute(t, x, [1, 0, 2]);
    const placed = add(t, original, permute(t, positions, [1, 0, 2]));
    const scaled = scale(t, linear(t, placed, CHANNELS));
    const flat = (y: Tensor): Tensor => reshape(t, y, [batch * HEADS, count, CHANNELS / HEADS]);
    const key = flat(split(t, linear(t, placed, CHANNELS)));
    const value = flat(split(t, linear(t, original, CHANNELS)));
    const query = flat(split(t, scaled));
    t.keep(scaled);
    const weights = softmax(t, bmm(t, query, transpose(t, key, 1, 2)));
    const attended = bmm(t, weights, value);
    const apart = transpose(t, reshape(t, attended, [batch, HEADS, count, CHANNELS / HEADS]), 1, 2);
    const merged = reshape(t, apart, [batch, count, CHANNELS]);
    const output = permute(t, linear(t, merged, CHANNELS), [1, 0, 2]);
    t.keep(placed, key, value, query, weights);
    return { output, weights };
  });
}

/** One row of a learned table for every image: Q×C → Q×B×C. */
export function repeatedQueries(t: Tape, table: Tensor, batch: number): Tensor {
  const [count = 1, channels = 1] = table.shape;
  return repeat(t, reshape(t, table, [count, 1, channels]), [1, batch, 1]);
}

import { softmax } from '../tape/ops-activation.ts';
import { type ConvWeights, conv2d, convWeights } from '../tape/ops-conv.ts';
import { add, constant, multiply, toHalf } from '../tape/ops-core.ts';
import { bmm } from '../tape/ops-linear.ts';
import { concat, slice } from '../tape/ops-parts.ts';
import { addIntoView } from '../tape/ops-reduce.ts';
import { contiguous, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import type { ContextBlock } from './mmseg-context-heads.ts';

interface CrissCrossWeights {
  readonly query: ConvWeights;
  readonly key: ConvWeights;
  readonly value: ConvWeights;
  readonly gamma: Tensor;
}

/** CrissCrossAttention, run twice with the same weights (Huang et al. 2019; the pure-torch form of mmcv 2). */
export const crissCrossBlock: ContextBlock = (t, x) => {
  const channels = channelsOf(x);
  const weightsOf = (out: number): ConvWeights => convWeights(t, channels, { out, kernel: 1, bias: true });
  const weights: CrissCrossWeights = {
    query: weightsOf(channels / 8),
    key: weightsOf(channels / 8),
    value: weightsOf(channels),
    gamma: t.param(),
  };
  const once = t.call('cca', x, () => crissCross(t, x, weights));
  return t.call('cca', once, () => crissCross(t, once, weights));
};

/** `einsum` of two operands as ATen does it: both become batches of matrices (copied where needed), then one product. */
function einsum(
  t: Tape,
  left: { x: Tensor; order: readonly number[] },
  right: { x: Tensor; order: readonly number[] },
): Tensor {
  const a = permute(t, toHalf(t, left.x), left.order);
  const b = permute(t, toHalf(t, right.x), right.order);
  const [batch = 1, outer = 1, rows = 1, inner = 1] = a.shape;
  const columns = b.shape[3] ?? 1;
  const first = reshape(t, a, [batch * outer, rows, inner]);
  const second = reshape(t, b, [batch * outer, inner, columns]);
  return reshape(t, bmm(t, first, second), [batch, outer, rows, columns]);
}

function crissCross(t: Tape, x: Tensor, weights: CrissCrossWeights): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  const projected = (shared: ConvWeights, out: number): Tensor => conv2d(t, x, { out, kernel: 1, bias: true, shared });
  const query = projected(weights.query, channels / 8);
  const key = projected(weights.key, channels / 8);
  const value = projected(weights.value, channels);
  const columns = einsum(t, { x: query, order: [0, 3, 2, 1] }, { x: key, order: [0, 3, 1, 2] });
  const vertical = transpose(t, add(t, columns, diagonal(t, height)), 1, 2);
  const horizontal = einsum(t, { x: query, order: [0, 2, 3, 1] }, { x: key, order: [0, 2, 1, 3] });
  const attention = softmax(t, concat(t, [vertical, horizontal], -1));
  const byColumn = einsum(
    t,
    { x: value, order: [0, 3, 1, 2] },
    { x: slice(t, attention, -1, height), order: [0, 2, 3, 1] },
  );
  const byRow = einsum(
    t,
    { x: value, order: [0, 2, 1, 3] },
    { x: slice(t, attention, -1, width), order: [0, 1, 3, 2] },
  );
  const sum = addIntoView(t, permute(t, byColumn, [0, 2, 3, 1]), permute(t, byRow, [0, 2, 1, 3]));
  const out = contiguous(t, add(t, multiply(t, sum, weights.gamma), x));
  t.keep(query, key, value, vertical, horizontal, attention, sum);
  return reshape(t, out, [batch, channels, height, width]);
}

/** Minus infinity on the diagonal, in fp32. */
function diagonal(t: Tape, side: number): Tensor {
  const scalar = constant(t, 'tensor', [], 'float');
  const vector = constant(t, 'repeat', [side], 'float');
  const matrix = constant(t, 'diag_embed', [side, side], 'float');
  t.keep(scalar, vector);
  return matrix;
}

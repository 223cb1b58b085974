import { softmax } from '../tape/ops-activation.ts';
import { scaledDotProduct } from '../tape/ops-attention.ts';
import { add, cast, scale } from '../tape/ops-core.ts';
import { matmul } from '../tape/ops-linear.ts';
import { contiguous, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { AttentionKind } from '../workload.ts';

interface AttentionOperands {
  /** B×h×N×d. */
  readonly query: Tensor;
  readonly key: Tensor;
  readonly value: Tensor;
  /** Added to the scores; may be broadcast. */
  readonly mask?: Tensor;
  /** The softmax stays as it comes (DPT); others cast it back to the type of the query. */
  readonly keepsSoftmax?: boolean;
}

interface AttentionResult {
  /** B×N×h×d, row-major. */
  readonly output: Tensor;
  /** The matrix that eager attention returns beside it. */
  readonly weights: Tensor | undefined;
}

/** transformers' attention interface (5.24): eager in three steps with an fp32 softmax, or the fused kernel. */
export function hfAttention(t: Tape, operands: AttentionOperands, kind: AttentionKind): AttentionResult {
  return kind === 'sdpa' ? fused(t, operands) : eager(t, operands);
}

function fused(t: Tape, { query, key, value, mask }: AttentionOperands): AttentionResult {
  const attended = scaledDotProduct(t, { q: query, k: key, v: value, ...(mask === undefined ? {} : { mask }) });
  return { output: contiguous(t, transpose(t, attended, 1, 2)), weights: undefined };
}

function eager(t: Tape, { query, key, value, mask, keepsSoftmax = false }: AttentionOperands): AttentionResult {
  const scores = scale(t, matmul(t, query, transpose(t, key, 2, 3)));
  const masked = mask === undefined ? scores : add(t, scores, mask);
  const probabilities = softmax(t, masked);
  const weights = keepsSoftmax ? probabilities : cast(t, probabilities, query.dtype);
  t.keep(masked);
  const output = contiguous(t, transpose(t, matmul(t, weights, value), 1, 2));
  return { output, weights };
}

/** B×N×C → B×h×N×d: a view. */
export function toHeads(t: Tape, x: Tensor, heads: number): Tensor {
  const [batch = 1, tokens = 1, channels = 1] = x.shape;
  return transpose(t, reshape(t, x, [batch, tokens, heads, channels / heads]), 1, 2);
}

/** B×N×h×d → B×N×C. */
export function fromHeads(t: Tape, x: Tensor): Tensor {
  const [batch = 1, tokens = 1, heads = 1, size = 1] = x.shape;
  return reshape(t, x, [batch, tokens, heads * size]);
}

/**
 * Attention written out in the model (Data2Vec, MobileViT): divided scores, a bias made where it is added, the softmax
 * as it comes; all locals live to the end. Gives B×N×h×d.
 */
export function plainAttention(
  t: Tape,
  { query, key, value }: AttentionOperands,
  makeBias: () => Tensor | undefined = () => undefined,
): Tensor {
  const scores = scale(t, matmul(t, query, transpose(t, key, 2, 3)));
  const bias = makeBias();
  const masked = bias === undefined ? scores : add(t, scores, bias);
  const weights = softmax(t, masked);
  const output = contiguous(t, transpose(t, matmul(t, weights, value), 1, 2));
  t.keep(masked, weights);
  return output;
}

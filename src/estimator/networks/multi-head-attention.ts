import { softmax } from '../tape/ops-activation.ts';
import { scale } from '../tape/ops-core.ts';
import { dropout } from '../tape/ops-layers.ts';
import { applyLinear, bmm, linear } from '../tape/ops-linear.ts';
import { derived, maskedProduct } from '../tape/ops-masks.ts';
import { select, split } from '../tape/ops-parts.ts';
import { mean } from '../tape/ops-resize.ts';
import { clone, contiguous, expand, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/** Places that are not attended to: `scores` (B·h)×L×M bytes, or `keys` B×M bytes. Becomes an additive fp32 mask. */
export interface AttentionMask {
  readonly kind: 'scores' | 'keys';
  readonly source: Tensor;
}

export interface AttentionInputs {
  /** Tokens first: L×B×E. */
  readonly query: Tensor;
  readonly key: Tensor;
  /** The same object as `key` in most calls: then key and value are one projection. */
  readonly value: Tensor;
  readonly mask?: AttentionMask;
}

export interface MultiHeadOptions {
  readonly heads: number;
  readonly dropout?: number;
  readonly bias?: boolean;
}

/** q, k, v projections of `nn.MultiheadAttention`, packed as far as the arguments are the same object. */
function project(
  t: Tape,
  { query, key, value }: AttentionInputs,
  options: { size: number; bias: boolean },
): readonly [Tensor, Tensor, Tensor] {
  const { size } = options;
  const weight = t.param(3 * size, size);
  const bias = options.bias ? t.param(3 * size) : null;
  if (query === key && key === value) return unpack3(t, applyLinear(t, query, { weight, bias }), size);
  const sizes = key === value ? [size, 2 * size] : [size, size, size];
  const weights = split(t, weight, 0, sizes);
  const biases = bias === null ? sizes.map(() => null) : split(t, bias, 0, sizes);
  const projected = [query, key, value]
    .slice(0, sizes.length)
    .map((x, index) => applyLinear(t, x, { weight: weights[index] ?? weight, bias: biases[index] ?? null }));
  const [q = query, second = key, third = value] = projected;
  if (key !== value) return [q, second, third];
  const [k, v] = unpack(t, second, size, 2);
  return [q, k ?? second, v ?? second];
}

function unpack3(t: Tape, packed: Tensor, size: number): readonly [Tensor, Tensor, Tensor] {
  const [q = packed, k = packed, v = packed] = unpack(t, packed, size, 3);
  return [q, k, v];
}

/** L×B×(n·E) → n×L×B×E row-major, then its slices. */
function unpack(t: Tape, packed: Tensor, size: number, count: number): Tensor[] {
  const [length = 1, batch = 1] = packed.shape;
  const stacked = clone(t, permute(t, reshape(t, packed, [length, batch, count, size]), [2, 0, 1, 3]));
  return Array.from({ length: count }, () => select(t, stacked, 0));
}

/** L×B×E → (B·h)×L×d. */
function heads(t: Tape, x: Tensor, count: number): Tensor {
  const [length = 1, batch = 1, size = 1] = x.shape;
  return transpose(t, reshape(t, x, [length, batch * count, size / count]), 0, 1);
}

function additive(t: Tape, source: Tensor): Tensor {
  return derived(t, 'zeros_like', [source], { shape: source.shape, dtype: 'float' });
}

/** A mask of keys is repeated for each head; one of scores has all heads already. */
function perHead(t: Tape, mask: Tensor, count: number): Tensor {
  if (mask.shape.length === 3) return mask;
  const [batch = 1, keys = 1] = mask.shape;
  const all = expand(t, reshape(t, mask, [batch, 1, 1, keys]), [batch, count, 1, keys]);
  return reshape(t, all, [batch * count, 1, keys]);
}

/**
 * `nn.MultiheadAttention` with `need_weights=True`, which never fuses: scores, softmax and their mean over heads exist.
 * Returns L×B×E. Source: torch/nn/functional.py `multi_head_attention_forward`, torch 2.13.
 */
export function multiHeadAttention(t: Tape, inputs: AttentionInputs, options: MultiHeadOptions): Tensor {
  const { query } = inputs;
  const [length = 1, batch = 1, size = 1] = query.shape;
  return t.call('attn', [query, inputs.key, inputs.value], () => {
    const blocked = inputs.mask === undefined ? undefined : additive(t, inputs.mask.source);
    const [q, k, v] = project(t, inputs, { size, bias: options.bias ?? true });
    const queries = heads(t, q, options.heads);
    const keys = heads(t, k, options.heads);
    const values = heads(t, v, options.heads);
    const added = blocked === undefined ? undefined : perHead(t, blocked, options.heads);
    const scaled = scale(t, queries);
    const turned = transpose(t, keys, -2, -1);
    const weights = softmax(t, added === undefined ? bmm(t, scaled, turned) : maskedProduct(t, added, scaled, turned));
    const dropped = dropout(t, weights, options.dropout ?? 0);
    const attended = bmm(t, dropped, values);
    const merged = reshape(t, contiguous(t, transpose(t, attended, 0, 1)), [length * batch, size]);
    const out = reshape(
      t,
      t.within('out_proj', () => linear(t, merged, size)),
      [length, batch, size],
    );
    const byHead = reshape(t, dropped, [batch, options.heads, length, -1]);
    const averaged = mean(t, byHead, [1], false);
    t.keep(q, k, v, scaled, dropped, attended, out, averaged);
    if (blocked !== undefined && added !== undefined) t.keep(blocked, added);
    return out;
  });
}

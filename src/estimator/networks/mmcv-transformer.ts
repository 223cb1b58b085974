import { relu } from '../tape/ops-activation.ts';
import { add } from '../tape/ops-core.ts';
import { dropout } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { type AttentionMask, multiHeadAttention } from './multi-head-attention.ts';

export interface PositionedAttention {
  readonly query: Tensor;
  /** Key and value are one tensor. */
  readonly key: Tensor;
  readonly queryPosition?: Tensor;
  readonly keyPosition?: Tensor;
  readonly mask?: AttentionMask;
  readonly heads: number;
  /** On the weights, and on the output. */
  readonly dropout: number;
}

/**
 * mmcv's MultiheadAttention wrapper on B×L×C with positions (mmcv 2.1): positions are added to query and key, tokens
 * go first as a view, and the input is added to the result.
 */
export function positionedAttention(t: Tape, a: PositionedAttention): Tensor {
  const { query, key, queryPosition, keyPosition } = a;
  const held = [query, key, queryPosition, keyPosition, a.mask?.source].filter((x) => x !== undefined);
  return t.call('', held, () => {
    const asked = queryPosition === undefined ? query : add(t, query, queryPosition);
    const known = keyPosition === undefined ? key : add(t, key, keyPosition);
    const [q, k, v] = [transpose(t, asked, 0, 1), transpose(t, known, 0, 1), transpose(t, key, 0, 1)];
    const inputs = { query: q, key: k, value: v, ...(a.mask === undefined ? {} : { mask: a.mask }) };
    const attended = transpose(t, multiHeadAttention(t, inputs, { heads: a.heads, dropout: a.dropout }), 0, 1);
    const out = add(t, query, dropout(t, attended, a.dropout));
    t.keep(asked, known, attended);
    return out;
  });
}

/** mmcv's FFN with ReLU: two layers and a residual connection. */
export function reluFeedForward(t: Tape, x: Tensor, options: { width: number; dropout?: number }): Tensor {
  const rate = options.dropout ?? 0;
  return t.call('ffn', x, () => {
    const out = t.call('', x, () => {
      const hidden = t.call('', x, () => dropout(t, relu(t, linear(t, x, options.width)), rate));
      return dropout(t, linear(t, hidden, x.shape[x.shape.length - 1] ?? 1), rate);
    });
    const sum = add(t, x, out);
    t.keep(out);
    return sum;
  });
}

/** `nn.LayerNorm` as a module of its own. */
export function normed(t: Tape, x: Tensor): Tensor {
  return t.call('norm', x, () => layerNorm(t, x));
}

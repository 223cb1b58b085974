import { add } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { multiHeadAttention } from './multi-head-attention.ts';

export interface MmcvAttention {
  readonly identity: Tensor;
  readonly heads: number;
  /** Rate of the stochastic depth around the attention; the ViT blocks of MMSegmentation have none there. */
  readonly dropPath?: number;
}

/**
 * mmcv's MultiheadAttention wrapper on B×L×C self-attention: query, key and value become three transposed views, so
 * torch projects each by itself and copies the tokens three times.
 */
export function mmcvSelfAttention(t: Tape, x: Tensor, options: MmcvAttention): Tensor {
  return t.call('attn', [x, options.identity], () => {
    const [query, key, value] = [transpose(t, x, 0, 1), transpose(t, x, 0, 1), transpose(t, x, 0, 1)] as const;
    const attended = transpose(t, multiHeadAttention(t, { query, key, value }, { heads: options.heads }), 0, 1);
    const out = add(t, options.identity, dropPath(t, attended, options.dropPath ?? 0, true));
    t.keep(attended);
    return out;
  });
}

import { contiguous, permute, reshape } from '../tape/ops-shape.ts';
import { emitFresh } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/**
 * Learned bias of relative positions, 1×h×N×N in fp32: rows of a table picked by an int64 buffer of N² entries, then
 * brought into the layout of the scores by a copy.
 */
export function relativePositionBias(t: Tape, options: { heads: number; tokens: number; rows: number }): Tensor {
  const { heads, tokens, rows } = options;
  const table = t.param(rows, heads);
  const index = t.buffer([tokens, tokens], 'long');
  t.begin('index', [table, index]);
  const shape = [tokens * tokens, heads];
  const storage = t.allocate(shape, 'float');
  t.work('pointwise', false, { macs: 0, bytes: 2 * storage.bytes });
  const picked = t.result(
    { storage, shape, dtype: 'float' },
    { name: 'index', inputs: [table], saved: [index.storage], rule: (walk, node) => emitFresh(walk, node, 0) },
  );
  const square = permute(t, reshape(t, picked, [tokens, tokens, heads]), [2, 0, 1]);
  return reshape(t, contiguous(t, square), [1, heads, tokens, tokens]);
}

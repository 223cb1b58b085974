import { concat, slice } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { contiguous, permute, reshape } from '../tape/ops-shape.ts';
import { emitFresh } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

export type Grid = readonly [number, number];

/**
 * Relative position bias of BEiT in transformers 5.24, 1×h×(N+1)×(N+1) in fp32: the table (with three rows for the
 * class token) is resized to the grid of the image even where it fits, then picked by indices that stay on the CPU.
 */
export function resizedPositionBias(t: Tape, options: { heads: number; table: Grid; grid: Grid }): Tensor {
  const { heads, grid } = options;
  const [oldHeight, oldWidth] = [2 * options.table[0] - 1, 2 * options.table[1] - 1];
  const table = t.param(oldHeight * oldWidth + 3, heads);
  const map = permute(
    t,
    reshape(t, slice(t, table, 0, oldHeight * oldWidth), [1, oldWidth, oldHeight, heads]),
    [0, 3, 1, 2],
  );
  const [newHeight, newWidth] = [2 * grid[0] - 1, 2 * grid[1] - 1];
  const resized = reshape(t, permute(t, resize(t, map, [newHeight, newWidth]), [0, 2, 3, 1]), [-1, heads]);
  const joined = concat(t, [resized, slice(t, table, 0, 3)], 0);
  const tokens = grid[0] * grid[1] + 1;
  t.begin('index', [joined]);
  const shape = [tokens * tokens, heads];
  const storage = t.allocate(shape, 'float');
  t.work('pointwise', false, { macs: 0, bytes: 2 * storage.bytes });
  const picked = t.result(
    { storage, shape, dtype: 'float' },
    { name: 'index', inputs: [joined], saved: [], rule: (walk, node) => emitFresh(walk, node, 0) },
  );
  const square = permute(t, reshape(t, picked, [tokens, tokens, heads]), [2, 0, 1]);
  const bias = reshape(t, contiguous(t, square), [1, heads, tokens, tokens]);
  t.keep(resized, joined);
  return bias;
}

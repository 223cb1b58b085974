import { byteSize, toFloat } from './ops-core.ts';
import { emitFresh } from './rules.ts';
import type { BackwardRule, Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

/**
 * `F.grid_sample` of B×C×H×W at B×h×w×2 points (promoted to fp32 under autocast): keeps input and grid; backward makes
 * the grid's gradient even where nobody needs it.
 */
export function gridSample(t: Tape, x: Tensor, grid: Tensor): Tensor {
  const input = toFloat(t, x);
  const [batch = 1, channels = 1] = x.shape;
  const shape = [batch, channels, grid.shape[1] ?? 1, grid.shape[2] ?? 1];
  t.begin('grid_sampler_2d', [x, input, grid]);
  const storage = t.allocate(shape, input.dtype);
  t.work('resample', input.dtype === 'half', { macs: 0, bytes: byteSize(input) + storage.bytes });
  const rule: BackwardRule = (walk, node) => {
    emitFresh(walk, node, 0);
    if (grid.requiresGrad) emitFresh(walk, node, 1);
    else walk.release(walk.fresh(grid.shape, 'float').buffer);
  };
  const inputs = grid.requiresGrad ? [input, grid] : [input];
  return t.result(
    { storage, shape, dtype: input.dtype },
    { name: 'grid_sampler_2d', inputs, saved: [input.storage, grid.storage], rule },
  );
}

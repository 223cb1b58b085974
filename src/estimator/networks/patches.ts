import { pad } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/** B×C×H×W padded at bottom and right until the patch divides both sides; the map itself when it does already. */
export function padToMultiple(t: Tape, x: Tensor, patch: number): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  if (height % patch === 0 && width % patch === 0) return x;
  const whole = (side: number): number => Math.ceil(side / patch) * patch;
  return pad(t, x, [batch, channels, whole(height), whole(width)]);
}

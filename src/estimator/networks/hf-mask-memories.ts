import { add } from '../tape/ops-core.ts';
import { select } from '../tape/ops-parts.ts';
import { flatten, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { hfSinePositions } from './hf-sine-positions.ts';

const CHANNELS = 256;

/** Maps of the pixel decoder as N×B×C tokens, with their positions. */
export function memories(t: Tape, levels: readonly Tensor[]): { memory: Tensor[]; positions: Tensor[] } {
  const table = t.param(levels.length, CHANNELS);
  const memory: Tensor[] = [];
  const positions: Tensor[] = [];
  for (const level of levels) {
    positions.push(permute(t, flatten(t, hfSinePositions(t, level, CHANNELS / 2), 2), [2, 0, 1]));
    const vector = reshape(t, select(t, table), [1, CHANNELS, 1]);
    memory.push(permute(t, add(t, flatten(t, level, 2), vector), [2, 0, 1]));
  }
  return { memory, positions };
}

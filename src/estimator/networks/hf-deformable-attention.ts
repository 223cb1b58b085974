import { softmax } from '../tape/ops-activation.ts';
import { add, multiply, scale, shift } from '../tape/ops-core.ts';
import { linear } from '../tape/ops-linear.ts';
import { derived, dividedBy, maskedFill } from '../tape/ops-masks.ts';
import { select, split, stack } from '../tape/ops-parts.ts';
import { sum } from '../tape/ops-resize.ts';
import { gridSample } from '../tape/ops-sample.ts';
import { contiguous, flatten, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

export type LevelSize = readonly [number, number];

export interface DeformableContext {
  /** B×N×C, added to what asks but not to what is read. */
  readonly positions: Tensor;
  /** B×N bytes. */
  readonly padding: Tensor;
  /** B×N×L×2. */
  readonly references: Tensor;
  readonly sizes: readonly LevelSize[];
}

const HEADS = 8;
const POINTS = 4;

/**
 * Multi-scale deformable attention of transformers 5.24 (Mask2Former, OneFormer) on B×N×C, written out in torch: a
 * `grid_sample` a level, joined and weighed. The weights live as long as the layer does; they come second.
 */
export function hfDeformableAttention(t: Tape, x: Tensor, context: DeformableContext): readonly [Tensor, Tensor] {
  const [batch = 1, count = 1, channels = 1] = x.shape;
  const levels = context.sizes.length;
  return t.call('self_attn', [x, context.positions], () => {
    const asking = add(t, x, context.positions);
    const projected = linear(t, x, channels);
    const filled = maskedFill(t, projected, context.padding);
    t.keep(projected);
    const value = reshape(t, filled, [batch, count, HEADS, channels / HEADS]);
    const grid = [batch, count, HEADS, levels, POINTS];
    const offsets = reshape(t, linear(t, asking, HEADS * levels * POINTS * 2), [...grid, 2]);
    const scores = reshape(t, linear(t, asking, HEADS * levels * POINTS), [batch, count, HEADS, levels * POINTS]);
    const weights = reshape(t, softmax(t, scores), grid);
    const normaliser = derived(t, 'to', [], { shape: [levels, 2], dtype: 'long' });
    const places = reshape(t, context.references, [batch, count, 1, levels, 1, 2]);
    const locations = add(t, places, dividedBy(t, offsets, normaliser));
    const sampled = sampleLevels(t, { value, locations, weights, sizes: context.sizes });
    const out = linear(t, sampled, channels);
    t.keep(asking, value, offsets, locations, normaliser, sampled);
    return [out, weights];
  });
}

interface Sampling {
  readonly value: Tensor;
  readonly locations: Tensor;
  readonly weights: Tensor;
  readonly sizes: readonly LevelSize[];
}

function sampleLevels(t: Tape, { value, locations, weights, sizes }: Sampling): Tensor {
  const [batch = 1, count = 1, heads = 1, size = 1] = value.shape;
  const parts = split(
    t,
    value,
    1,
    sizes.map(([height, width]) => height * width),
  );
  const grids = shift(t, scale(t, locations));
  const sampled: Tensor[] = [];
  let kept: readonly Tensor[] = [];
  for (const [level, [height, width]] of sizes.entries()) {
    const part = parts[level] ?? value;
    const map = reshape(t, transpose(t, flatten(t, part, 2), 1, 2), [batch * heads, size, height, width]);
    const grid = flatten(t, transpose(t, select(t, grids, 3), 1, 2), 0, 1);
    t.keep(...kept);
    sampled.push(gridSample(t, map, grid));
    kept = [map, grid];
  }
  const factors = reshape(t, transpose(t, weights, 1, 2), [batch * heads, 1, count, sizes.length * POINTS]);
  const joined = flatten(t, stack(t, sampled, 3), 3);
  const total = sum(t, multiply(t, joined, factors), [-1], false);
  const merged = reshape(t, total, [batch, heads * size, count]);
  const out = contiguous(t, transpose(t, merged, 1, 2));
  t.keep(...kept, ...sampled, grids, factors, merged);
  return out;
}

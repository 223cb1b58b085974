import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { concat, select, slice } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { expand, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { hfBit } from './hf-bit.ts';

export interface DptEmbedded {
  /** B×(N+1)×C. */
  readonly tokens: Tensor;
  /** Maps of a convolutional stem that go straight to the neck. */
  readonly maps: readonly Tensor[];
}

export interface DptEmbeddingOptions {
  readonly width: number;
  /** Side in pixels of the image that the position grid is made for. */
  readonly imageSize: number;
}

const PATCH = 16;

/** Position grid resized to the image, even where it fits: 1×(N+1)×C. */
function resizedPositions(t: Tape, table: Tensor, grid: readonly [number, number]): Tensor {
  const [, count = 1, width = 1] = table.shape;
  const side = Math.floor(Math.sqrt(count - 1));
  const rows = slice(t, select(t, table, 0), 0, count - 1);
  const map = permute(t, reshape(t, rows, [1, side, side, width]), [0, 3, 1, 2]);
  const resized = reshape(t, permute(t, resize(t, map, grid), [0, 2, 3, 1]), [1, grid[0] * grid[1], width]);
  const joined = concat(t, [slice(t, table, 1, 1), resized], 1);
  t.keep(resized);
  return joined;
}

/** DPTViTEmbeddings of transformers 5.24: patches of 16 pixels, a class token, positions. */
export function plainEmbeddings(t: Tape, image: Tensor, { width, imageSize }: DptEmbeddingOptions): DptEmbedded {
  return t.call('embeddings', image, () => {
    const [batch = 1] = image.shape;
    const token = t.param(1, 1, width);
    const table = t.param(1, Math.floor(imageSize / PATCH) ** 2 + 1, width);
    const [height, breadth] = sizeOf(image);
    const positions = resizedPositions(t, table, [Math.floor(height / PATCH), Math.floor(breadth / PATCH)]);
    const map = conv2d(t, image, { out: width, kernel: PATCH, stride: PATCH, bias: true });
    const patches = transpose(t, flatten(t, map, 2), 1, 2);
    const joined = concat(t, [expand(t, token, [batch, 1, width]), patches], 1);
    const tokens = add(t, joined, positions);
    t.keep(positions);
    return { tokens, maps: [] };
  });
}

/** DPTViTHybridEmbeddings: a BiT's last map is projected to tokens; its first two maps go to the neck. */
export function hybridEmbeddings(t: Tape, image: Tensor, { width, imageSize }: DptEmbeddingOptions): DptEmbedded {
  return t.call('embeddings', image, () => {
    const [batch = 1] = image.shape;
    const token = t.param(1, 1, width);
    const side = Math.floor(imageSize / PATCH);
    const positions = resizedPositions(t, t.param(1, side ** 2 + 1, width), [side, side]);
    const [first, second, last = image] = hfBit(t, image);
    const map = conv2d(t, last, { out: width, kernel: 1, bias: true });
    const patches = transpose(t, flatten(t, map, 2), 1, 2);
    const joined = concat(t, [expand(t, token, [batch, 1, width]), patches], 1);
    const tokens = add(t, joined, positions);
    t.keep(positions, last);
    return { tokens, maps: [first ?? last, second ?? last] };
  });
}

import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, scale } from '../tape/ops-core.ts';
import { maxPool } from '../tape/ops-layers.ts';
import { concat } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import { type EncoderTable, runSteps, type Step } from './encoder.ts';
import { type Branch, basicConv, type Conv, mixed, runBranch } from './encoder-inception-blocks.ts';

const convs = (...list: Conv[]): Branch => ({ convs: list });

const MIXED_5B: Branch[] = [
  convs([96, 1]),
  convs([48, 1], [64, 5]),
  convs([64, 1], [96, 3], [96, 3]),
  { pool: 'average', convs: [[64, 1]] },
];
const BLOCK_35: Branch[] = [convs([32, 1]), convs([32, 1], [32, 3]), convs([32, 1], [48, 3], [64, 3])];
const MIXED_6A: Branch[] = [convs([384, 3, 2]), convs([256, 1], [256, 3], [384, 3, 2]), { pool: 'max', convs: [] }];
const BLOCK_17: Branch[] = [convs([192, 1]), convs([128, 1], [160, '1x7'], [192, '7x1'])];
const MIXED_7A: Branch[] = [
  convs([256, 1], [384, 3, 2]),
  convs([256, 1], [288, 3, 2]),
  convs([256, 1], [288, 3], [320, 3, 2]),
  { pool: 'max', convs: [] },
];
const BLOCK_8: Branch[] = [convs([192, 1]), convs([192, 1], [224, '1x3'], [256, '3x1'])];

/** `conv(cat(branches)) * scale + x`, then a ReLU out of place (none in the last block). */
function residual(t: Tape, x: Tensor, branches: readonly Branch[], activated: boolean): Tensor {
  return t.call('', x, () => {
    const maps = branches.map((branch) => runBranch(t, x, branch, false));
    const joined = concat(t, maps, 1);
    const projected = t.call('', joined, () => conv2d(t, joined, { out: channelsOf(x), kernel: 1, bias: true }));
    const sum = add(t, scale(t, projected), x);
    t.keep(projected);
    const out = activated ? relu(t, sum, false) : sum;
    t.keep(...maps);
    return out;
  });
}

function repeated(t: Tape, name: string, x: Tensor, block: { branches: readonly Branch[]; count: number }): Tensor {
  return t.call(name, x, () => {
    let feature = x;
    for (let index = 0; index < block.count; index += 1) feature = residual(t, feature, block.branches, true);
    return feature;
  });
}

const sequence = (t: Tape, x: Tensor, shapes: readonly Conv[]): Tensor =>
  shapes.reduce((feature, shape) => basicConv(t, feature, shape, false), x);

const pool = (t: Tape, x: Tensor): Tensor => maxPool(t, x, { kernel: 3, stride: 2, padding: 1 });

/** Szegedy et al. 2017, figures 15 to 21. */
const STEPS: readonly Step[] = [
  (t, x) =>
    sequence(t, x, [
      [32, 3, 2],
      [32, 3],
      [64, 3],
    ]),
  (t, x) =>
    sequence(t, pool(t, x), [
      [80, 1],
      [192, 3],
    ]),
  (t, x) => repeated(t, 'repeat', mixed(t, pool(t, x), MIXED_5B, false), { branches: BLOCK_35, count: 10 }),
  (t, x) => repeated(t, 'repeat_1', mixed(t, x, MIXED_6A, false), { branches: BLOCK_17, count: 20 }),
  (t, x) => {
    const refined = repeated(t, 'repeat_2', mixed(t, x, MIXED_7A, false), { branches: BLOCK_8, count: 9 });
    return basicConv(t, residual(t, refined, BLOCK_8, false), [1536, 1], false);
  },
];

/** Inception-ResNet-v2 in Cadene's port inside segmentation_models_pytorch 0.6. */
export const inceptionResnetEncoders: EncoderTable = {
  inceptionresnetv2: {
    dilates: false,
    features: (t, image, { depth }) => [image, ...runSteps(t, image, STEPS, { count: depth })],
  },
};

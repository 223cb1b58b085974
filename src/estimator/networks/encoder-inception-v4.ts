import { concat } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { type EncoderTable, runSteps, type Step } from './encoder.ts';
import { type Branch, basicConv, type Conv, mixed, runBranch } from './encoder-inception-blocks.ts';

const convs = (...list: Conv[]): Branch => ({ convs: list });

const MIXED_3A: Branch[] = [{ pool: 'max', convs: [] }, convs([96, 3, 2])];
const MIXED_4A: Branch[] = [convs([64, 1], [96, 3]), convs([64, 1], [64, '1x7'], [64, '7x1'], [96, 3])];
const MIXED_5A: Branch[] = [convs([192, 3, 2]), { pool: 'max', convs: [] }];
const INCEPTION_A: Branch[] = [
  convs([96, 1]),
  convs([64, 1], [96, 3]),
  convs([64, 1], [96, 3], [96, 3]),
  { pool: 'average', convs: [[96, 1]] },
];
const REDUCTION_A: Branch[] = [convs([384, 3, 2]), convs([192, 1], [224, 3], [256, 3, 2]), { pool: 'max', convs: [] }];
const INCEPTION_B: Branch[] = [
  convs([384, 1]),
  convs([192, 1], [224, '1x7'], [256, '7x1']),
  convs([192, 1], [192, '7x1'], [224, '1x7'], [224, '7x1'], [256, '1x7']),
  { pool: 'average', convs: [[128, 1]] },
];
const REDUCTION_B: Branch[] = [
  convs([192, 1], [192, 3, 2]),
  convs([256, 1], [256, '1x7'], [320, '7x1'], [320, 3, 2]),
  { pool: 'max', convs: [] },
];

/** Two of its branches fork once more. */
function inceptionC(t: Tape, x: Tensor): Tensor {
  return t.call('', x, () => {
    const first = basicConv(t, x, [256, 1], true);
    const second = basicConv(t, x, [384, 1], true);
    const fork = (map: Tensor, kernels: readonly ['1x3' | '3x1', '1x3' | '3x1']): readonly Tensor[] =>
      kernels.map((kernel) => basicConv(t, map, [256, kernel], true));
    const wide = fork(second, ['1x3', '3x1']);
    const wideJoined = concat(t, wide, 1);
    const third = basicConv(t, x, [384, 1], true);
    const tall = basicConv(t, third, [448, '3x1'], true);
    const taller = basicConv(t, tall, [512, '1x3'], true);
    const deep = fork(taller, ['1x3', '3x1']);
    const deepJoined = concat(t, deep, 1);
    const pooled = runBranch(t, x, { pool: 'average', convs: [[256, 1]] }, true);
    const joined = concat(t, [first, wideJoined, deepJoined, pooled], 1);
    t.keep(first, second, ...wide, wideJoined, third, tall, taller, ...deep, deepJoined, pooled);
    return joined;
  });
}

const repeat = (count: number, module: Step): Step[] => new Array<Step>(count).fill(module);
const block =
  (branches: readonly Branch[]): Step =>
  (t, x) =>
    mixed(t, x, branches, true);
const conv =
  (shape: Conv): Step =>
  (t, x) =>
    basicConv(t, x, shape, true);

/** Szegedy et al. 2017, figures 3 to 8. */
const MODULES: readonly Step[] = [
  conv([32, 3, 2]),
  conv([32, 3]),
  conv([64, 3]),
  block(MIXED_3A),
  block(MIXED_4A),
  block(MIXED_5A),
  ...repeat(4, block(INCEPTION_A)),
  block(REDUCTION_A),
  ...repeat(7, block(INCEPTION_B)),
  block(REDUCTION_B),
  ...repeat(3, inceptionC),
];

/** Last module of each map. */
const ENDS = [2, 4, 8, 14, 21];

const STEPS: readonly Step[] = ENDS.map((end, index) => {
  const start = index === 0 ? 0 : (ENDS[index - 1] ?? 0) + 1;
  return (t, x) =>
    MODULES.slice(start, end + 1).reduce(
      (feature, module, offset) => t.within(`${start + offset}`, () => module(t, feature)),
      x,
    );
});

/** Inception-v4 in Cadene's port inside segmentation_models_pytorch 0.6; its loop runs one scale too far. */
export const inceptionV4Encoders: EncoderTable = {
  inceptionv4: {
    dilates: false,
    features: (t, image, { depth }) => [
      image,
      ...t.within('features', () => runSteps(t, image, STEPS, { count: depth, ahead: true })),
    ],
  },
};

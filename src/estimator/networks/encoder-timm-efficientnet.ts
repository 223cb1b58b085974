import { conv2d } from '../tape/ops-conv.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { EFFICIENTNET_LITE_SCALES, EFFICIENTNET_SCALES, type Scales } from './efficientnet-scales.ts';
import { type EncoderTable, runSteps, type Step } from './encoder.ts';
import {
  activateInPlace,
  divisible,
  type MbActivation,
  type MbBlock,
  type MbGroup,
  type MbStyle,
  mbBlock,
  unrollGroups,
} from './encoder-mbconv.ts';
import { unusedModules } from './unused.ts';

/** Kind, repeats, kernel, stride, expansion, width of B0. Tan and Le 2019, table 1. */
const GROUPS = [
  ['ds', 1, 3, 1, 1, 16],
  ['ir', 2, 3, 2, 6, 24],
  ['ir', 2, 5, 2, 6, 40],
  ['ir', 3, 3, 2, 6, 80],
  ['ir', 3, 5, 1, 6, 112],
  ['ir', 4, 5, 2, 6, 192],
  ['ir', 1, 3, 1, 6, 320],
] as const;

const SCALES: Scales = { ...EFFICIENTNET_SCALES, l2: [4.3, 5.3] };

interface Variant {
  readonly stem: number;
  readonly head: number;
  readonly groups: readonly MbGroup[];
  readonly style: MbStyle;
}

function groupsOf([width, depth]: readonly [number, number], options: { gate: number; lite: boolean }): MbGroup[] {
  return GROUPS.map(([kind, repeats, kernel, stride, expansion, out], index) => {
    const fixed = options.lite && (index === 0 || index === GROUPS.length - 1);
    return {
      kind,
      repeats: fixed ? repeats : Math.ceil(repeats * depth),
      kernel,
      stride,
      expansion,
      out: divisible(out * width),
      gate: options.gate,
    };
  });
}

const styleOf = (activation: MbActivation, dropRate: number): MbStyle => ({
  activation,
  gate: { from: 'input', activation, hard: false },
  dropRate,
});

/** EfficientNet of timm as segmentation_models_pytorch wires it: its in-place Swish, stochastic depth to 0.2. */
function fullVariant(scale: readonly [number, number]): Variant {
  return {
    stem: divisible(32 * scale[0]),
    head: divisible(1280 * scale[0]),
    groups: groupsOf(scale, { gate: 0.25, lite: false }),
    style: styleOf('swish', 0.2),
  };
}

function liteVariant(scale: readonly [number, number]): Variant {
  return { stem: 32, head: 1280, groups: groupsOf(scale, { gate: 0, lite: true }), style: styleOf('relu6', 0.2) };
}

function stage(t: Tape, x: Tensor, blocks: readonly MbBlock[], at: { name: string; style: MbStyle }): Tensor {
  return t.call(at.name, x, () => blocks.reduce((feature, block) => mbBlock(t, feature, block, at.style), x));
}

/** Strides were dropped after construction, so a dilated block still has no skip where it had a stride. */
function steps({ stem, groups, style }: Variant, outputStride: number): Step[] {
  const unrolled = unrollGroups(groups, outputStride);
  const run = (indices: readonly number[]): Step => {
    return (t, x) =>
      indices.reduce(
        (feature, index) => stage(t, feature, unrolled[index] ?? [], { name: `blocks.${index}`, style }),
        x,
      );
  };
  return [
    (t, x) => {
      const convolved = t.within('conv_stem', () => conv2d(t, x, { out: stem, kernel: 3, stride: 2, padding: 1 }));
      return t.call('bn1', convolved, () => activateInPlace(t, batchNorm(t, convolved), style.activation));
    },
    run([0, 1]),
    run([2]),
    run([3, 4]),
    run([5, 6]),
  ];
}

function encoderOf(variant: Variant): EncoderTable[string] {
  return {
    dilates: true,
    features: (t, image, { depth, outputStride }) => {
      const features = runSteps(t, image, steps(variant, outputStride), { count: depth });
      const width = variant.groups[6]?.out ?? 320;
      unusedModules(t, [1, width, 2, 2], (shadow, x) =>
        batchNorm(shadow, conv2d(shadow, x, { out: variant.head, kernel: 1 })),
      );
      return [image, ...features];
    },
  };
}

/** `timm-efficientnet-*` and `timm-tf_efficientnet_lite*` of segmentation_models_pytorch 0.6. */
export const timmEfficientnetEncoders: EncoderTable = {
  ...Object.fromEntries(
    Object.entries(SCALES).map(([name, scale]) => [`timm-efficientnet-${name}`, encoderOf(fullVariant(scale))]),
  ),
  ...Object.fromEntries(
    Object.entries(EFFICIENTNET_LITE_SCALES).map(([name, scale]) => [
      `timm-tf_efficientnet_${name}`,
      encoderOf(liteVariant(scale)),
    ]),
  ),
};

import { batchNorm } from '../tape/ops-norm.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { EFFICIENTNET_LITE_SCALES, EFFICIENTNET_SCALES } from './efficientnet-scales.ts';
import { type EncoderTable, runSteps, type Step } from './encoder.ts';
import {
  activateInPlace,
  divisible,
  type MbActivation,
  type MbGroup,
  type MbStyle,
  mbBlock,
  samePaddedConv,
  unrollGroups,
} from './encoder-mbconv.ts';

/** Kind, repeats, kernel, stride, expansion, width, gate, activation where it differs; several rows may form one stage. */
type Row = readonly [MbGroup['kind'], number, number, number, number, number, number, MbActivation?];

interface Family {
  readonly stem: number;
  readonly stages: readonly (readonly Row[])[];
  readonly style: Omit<MbStyle, 'dropRate'>;
  /** How many stages lie before each of the five maps; 0 is the stem's output. */
  readonly ends: readonly number[];
  /** Width factor, depth factor. */
  readonly scale?: readonly [number, number];
  /** Widths may be rounded down by more than 10 %. */
  readonly freeRounding?: boolean;
  /** First and last stage and the stem are not scaled. */
  readonly fixedEnds?: boolean;
  readonly fixedStem?: boolean;
}

const SILU = { activation: 'silu', gate: { from: 'input', activation: 'silu', hard: false } } as const;
const RELU6 = { activation: 'relu6', gate: { from: 'input', activation: 'relu6', hard: false } } as const;
const HARD = { activation: 'hardswish', gate: { from: 'expanded', activation: 'relu', hard: true } } as const;

const ENDS = [1, 2, 3, 5, 7];
const SHORT_ENDS = [1, 2, 3, 5, 6];

/** Tan and Le 2019, table 1. */
const efficientnet = (gate: number): Row[][] => [
  [['ds', 1, 3, 1, 1, 16, gate]],
  [['ir', 2, 3, 2, 6, 24, gate]],
  [['ir', 2, 5, 2, 6, 40, gate]],
  [['ir', 3, 3, 2, 6, 80, gate]],
  [['ir', 3, 5, 1, 6, 112, gate]],
  [['ir', 4, 5, 2, 6, 192, gate]],
  [['ir', 1, 3, 1, 6, 320, gate]],
];

/** Tan and Le 2021, table 4 and the authors' code: repeats and widths of S, M, L, XL. */
function efficientnetV2(stem: number, plain: [number, number], rest: readonly (readonly [number, number])[]): Family {
  const kinds = ['er', 'er', 'ir', 'ir', 'ir', 'ir'] as const;
  const strides = [2, 2, 2, 1, 2, 1];
  const stages: Row[][] = [[['cn', plain[0], 3, 1, 1, plain[1], 0]]];
  rest.forEach(([repeats, out], index) => {
    const kind = kinds[index] ?? 'ir';
    stages.push([[kind, repeats, 3, strides[index] ?? 1, index < 3 ? 4 : 6, out, kind === 'ir' ? 0.25 : 0]]);
  });
  return { stem, stages, style: { ...SILU, same: true }, ends: rest.length === 5 ? SHORT_ENDS : ENDS };
}

const V2_BASE = efficientnetV2(
  32,
  [1, 16],
  [
    [2, 32],
    [2, 48],
    [3, 96],
    [5, 112],
    [8, 192],
  ],
);

/** Sandler et al. 2018, table 2. */
const MOBILENET_V2: Row[][] = [
  [['ds', 1, 3, 1, 1, 16, 0]],
  [['ir', 2, 3, 2, 6, 24, 0]],
  [['ir', 3, 3, 2, 6, 32, 0]],
  [['ir', 4, 3, 2, 6, 64, 0]],
  [['ir', 3, 3, 1, 6, 96, 0]],
  [['ir', 3, 3, 2, 6, 160, 0]],
  [['ir', 1, 3, 1, 6, 320, 0]],
];

/** Howard et al. 2019, table 1. */
const MOBILENET_V3_LARGE: Row[][] = [
  [['ds', 1, 3, 1, 1, 16, 0, 'relu']],
  [
    ['ir', 1, 3, 2, 4, 24, 0, 'relu'],
    ['ir', 1, 3, 1, 3, 24, 0, 'relu'],
  ],
  [['ir', 3, 5, 2, 3, 40, 0.25, 'relu']],
  [
    ['ir', 1, 3, 2, 6, 80, 0],
    ['ir', 1, 3, 1, 2.5, 80, 0],
    ['ir', 2, 3, 1, 2.3, 80, 0],
  ],
  [['ir', 2, 3, 1, 6, 112, 0.25]],
  [['ir', 3, 5, 2, 6, 160, 0.25]],
  [['cn', 1, 1, 1, 1, 960, 0]],
];

/** Howard et al. 2019, table 2. */
const MOBILENET_V3_SMALL: Row[][] = [
  [['ds', 1, 3, 2, 1, 16, 0.25, 'relu']],
  [
    ['ir', 1, 3, 2, 4.5, 24, 0, 'relu'],
    ['ir', 1, 3, 1, 3.67, 24, 0, 'relu'],
  ],
  [
    ['ir', 1, 5, 2, 4, 40, 0.25],
    ['ir', 2, 5, 1, 6, 40, 0.25],
  ],
  [['ir', 2, 5, 1, 3, 48, 0.25]],
  [['ir', 3, 5, 2, 6, 96, 0.25]],
  [['cn', 1, 1, 1, 1, 576, 0]],
];

const NAMED: Readonly<Record<string, Family>> = {
  tf_efficientnetv2_s: efficientnetV2(
    24,
    [2, 24],
    [
      [4, 48],
      [4, 64],
      [6, 128],
      [9, 160],
      [15, 256],
    ],
  ),
  tf_efficientnetv2_m: efficientnetV2(
    24,
    [3, 24],
    [
      [5, 48],
      [5, 80],
      [7, 160],
      [14, 176],
      [18, 304],
      [5, 512],
    ],
  ),
  tf_efficientnetv2_l: efficientnetV2(
    32,
    [4, 32],
    [
      [7, 64],
      [7, 96],
      [10, 192],
      [19, 224],
      [25, 384],
      [7, 640],
    ],
  ),
  tf_efficientnetv2_xl: efficientnetV2(
    32,
    [4, 32],
    [
      [8, 64],
      [8, 96],
      [16, 192],
      [24, 256],
      [32, 512],
      [8, 640],
    ],
  ),
  mobilenetv2_100: { stem: 32, stages: MOBILENET_V2, style: RELU6, ends: ENDS },
  mobilenetv2_140: { stem: 32, stages: MOBILENET_V2, style: RELU6, ends: ENDS, scale: [1.4, 1] },
};

type Entry = readonly [string, Family];

/** A family under its own name and, with SAME padding, under `tf_`. */
function both(name: string, family: Family): Entry[] {
  return [
    [name, family],
    [`tf_${name}`, { ...family, style: { ...family.style, same: true } }],
  ];
}

function scaledEntries(): Entry[] {
  const plain = Object.entries(EFFICIENTNET_SCALES).flatMap(([name, scale]) => [
    ...both(`efficientnet_${name}`, { stem: 32, stages: efficientnet(0.25), style: SILU, ends: ENDS, scale }),
    ...(name <= 'b3' ? [[`tf_efficientnetv2_${name}`, { ...V2_BASE, scale, freeRounding: true }] as const] : []),
  ]);
  const lite = Object.entries(EFFICIENTNET_LITE_SCALES).flatMap(([name, scale]) => {
    const shape = { scale, fixedEnds: true, fixedStem: true };
    return both(`efficientnet_${name}`, { stem: 32, stages: efficientnet(0), style: RELU6, ends: ENDS, ...shape });
  });
  return [...plain, ...lite];
}

function mobilenetV3Entries(): Entry[] {
  return (['075', '100'] as const).flatMap((width) => {
    const scale = [Number(width) / 100, 1] as const;
    const large: Family = { stem: 16, stages: MOBILENET_V3_LARGE, style: HARD, ends: ENDS, scale, fixedStem: true };
    const small: Family = { ...large, stages: MOBILENET_V3_SMALL, ends: [0, 1, 2, 4, 6] };
    return [...both(`mobilenetv3_large_${width}`, large), ...both(`mobilenetv3_small_${width}`, small)];
  });
}

function families(): Entry[] {
  return [...Object.entries(NAMED), ...scaledEntries(), ...mobilenetV3Entries()];
}

function groupsOf(family: Family): MbGroup[][] {
  const [width, depth] = family.scale ?? [1, 1];
  const last = family.stages.length - 1;
  return family.stages.map((rows, stage) =>
    rows.map(([kind, repeats, kernel, stride, expansion, out, gate, activation]) => ({
      kind,
      repeats: family.fixedEnds === true && (stage === 0 || stage === last) ? repeats : Math.ceil(repeats * depth),
      kernel,
      stride,
      expansion,
      out: scaledWidth(family, out, width),
      gate,
      skip: true,
      ...(activation === undefined ? {} : { activation }),
    })),
  );
}

function scaledWidth(family: Family, out: number, factor: number): number {
  if (factor === 1) return out;
  return family.freeRounding === true ? Math.max(8, Math.floor((out * factor + 4) / 8) * 8) : divisible(out * factor);
}

/** Five steps between the maps; those after the last one asked for run too. */
function steps(family: Family, outputStride: number): Step[] {
  const groups = groupsOf(family);
  const unrolled = unrollGroups(groups.flat(), outputStride);
  const style: MbStyle = { ...family.style, dropRate: 0 };
  const runStage = (t: Tape, x: Tensor, stage: number): Tensor => {
    const first = groups.slice(0, stage).reduce((sum, rows) => sum + rows.length, 0);
    const blocks = unrolled.slice(first, first + (groups[stage]?.length ?? 0)).flat();
    return t.call(`blocks.${stage}`, x, () => blocks.reduce((feature, block) => mbBlock(t, feature, block, style), x));
  };
  return family.ends.map((end, index) => (t, x) => {
    let feature = index === 0 ? stem(t, x, family) : x;
    for (let stage = index === 0 ? 0 : (family.ends[index - 1] ?? 0); stage < end; stage += 1)
      feature = runStage(t, feature, stage);
    return feature;
  });
}

function stem(t: Tape, x: Tensor, family: Family): Tensor {
  const factor = family.fixedStem === true ? 1 : (family.scale?.[0] ?? 1);
  const out = scaledWidth(family, family.stem, factor);
  const same = family.style.same === true;
  const convolved = t.within('conv_stem', () => samePaddedConv(t, x, { out, kernel: 3, stride: 2, same }));
  return activateInPlace(t, batchNorm(t, convolved), family.style.activation);
}

/** timm 1.0.31 networks that `features_only` cuts as EfficientNetFeatures or MobileNetV3Features: all stages always run. */
export const timmMobileEncoders: EncoderTable = Object.fromEntries(
  families().map(([name, family]) => [
    `tu-${name}`,
    {
      dilates: true,
      features: (t, image, { depth, outputStride }) => [
        image,
        ...t.within('model', () => runSteps(t, image, steps(family, outputStride), { count: 5 })).slice(0, depth),
      ],
    },
  ]),
);

import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import type { EncoderTable } from './encoder.ts';
import { type ResNetOptions, residual } from './resnet.ts';
import { enlarge } from './smp-blocks.ts';

interface Variant {
  readonly width: number;
  /** Planes and blocks of the first stage. */
  readonly first: readonly [number, number];
  /** Modules of the three stages with two, three and four branches. */
  readonly modules: readonly number[];
  readonly blocks: number;
}

const full = (width: number): Variant => ({ width, first: [64, 4], modules: [1, 4, 3], blocks: 4 });

/** Wang et al. 2020, table 1. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  hrnet_w18_small: { width: 16, first: [32, 1], modules: [1, 1, 1], blocks: 2 },
  hrnet_w18_small_v2: { width: 18, first: [64, 2], modules: [1, 3, 2], blocks: 2 },
  hrnet_w18: full(18),
  hrnet_w30: full(30),
  hrnet_w32: full(32),
  hrnet_w40: full(40),
  hrnet_w44: full(44),
  hrnet_w48: full(48),
  hrnet_w64: full(64),
};

const BASIC: ResNetOptions = { depth: 18, stem: 'plain', strides: [], dilations: [] };
const BOTTLENECK: ResNetOptions = { depth: 50, stem: 'plain', strides: [], dilations: [] };

/** Planes of the blocks that widen each map at the end (the classifier's head, kept for features). */
const HEAD_PLANES = [32, 64, 128, 256];

function layer(t: Tape, x: Tensor, shape: { planes: number; count: number }, options: ResNetOptions): Tensor {
  return t.call('', x, () => {
    let feature = x;
    for (let index = 0; index < shape.count; index += 1) {
      const input = feature;
      feature = t.call('', input, () => residual(t, input, { planes: shape.planes, stride: 1, dilation: 1 }, options));
    }
    return feature;
  });
}

function convNorm(t: Tape, x: Tensor, out: number, stride: number): Tensor {
  return t.call('', x, () => batchNorm(t, conv2d(t, x, { out, kernel: 3, stride, padding: 1 })));
}

/** From branch `source` to the size and width of branch `target`. */
function resample(t: Tape, x: Tensor, target: { width: number; halvings: number }): Tensor {
  const { width, halvings } = target;
  if (halvings === 0) return x;
  return t.call('', x, () => {
    if (halvings < 0) {
      const projected = batchNorm(t, conv2d(t, x, { out: width, kernel: 1 }));
      return enlarge(t, projected, 2 ** -halvings, 'nearest');
    }
    let feature = x;
    for (let step = 0; step < halvings; step += 1) {
      const last = step === halvings - 1;
      const input = feature;
      feature = t.call('', input, () => {
        const halved = convNorm(t, input, last ? width : channelsOf(x), 2);
        return last ? halved : relu(t, halved, false);
      });
    }
    return feature;
  });
}

/** Every sum is a new tensor; the ReLU behind it too. */
function fuse(t: Tape, branches: readonly Tensor[], target: number, width: number): Tensor {
  let sum: Tensor | undefined;
  branches.forEach((branch, source) => {
    const part = resample(t, branch, { width: width * 2 ** target, halvings: target - source });
    sum = sum === undefined ? part : add(t, sum, part);
  });
  const total = sum ?? branches[0] ?? t.input([1]);
  const out = relu(t, total, false);
  if (target === branches.length - 1) t.keep(total);
  return out;
}

/** Outputs, and the branches before their fusion: they replace the elements of the list that was passed in. */
function highResolutionModule(
  t: Tape,
  maps: readonly Tensor[],
  { width, blocks }: Variant,
): { outputs: readonly Tensor[]; branches: readonly Tensor[] } {
  const branches = maps.map((map, index) =>
    t.within(`branches.${index}`, () => layer(t, map, { planes: width * 2 ** index, count: blocks }, BASIC)),
  );
  const outputs = branches.map((_, target) => fuse(t, branches, target, width));
  t.keep(...branches);
  return { outputs, branches };
}

function convNormRelu(t: Tape, x: Tensor, out: number, stride: number): Tensor {
  return t.call('', x, () => relu(t, batchNorm(t, conv2d(t, x, { out, kernel: 3, stride, padding: 1 }))));
}

/** Branches that stay go through (a new width is convolved), a new coarsest one is halved from the last. */
function transition(t: Tape, maps: readonly Tensor[], branches: number, width: number): readonly Tensor[] {
  const last = maps[maps.length - 1] ?? t.input([1]);
  return Array.from({ length: branches }, (_, index) => {
    const out = width * 2 ** index;
    const map = maps[index];
    if (map === undefined) return convNormRelu(t, last, out, 2);
    return channelsOf(map) === out ? map : convNormRelu(t, last, out, 1);
  });
}

function stages(t: Tape, x: Tensor, variant: Variant): readonly Tensor[] {
  const [planes, count] = variant.first;
  const first = t.within('layer1', () => layer(t, x, { planes, count }, BOTTLENECK));
  let maps: readonly Tensor[] = [first];
  let list: readonly Tensor[] = [];
  variant.modules.forEach((modules, stage) => {
    const previous = maps;
    let inputs = transition(t, maps, stage + 2, variant.width);
    t.keep(...list);
    for (let module = 0; module < modules; module += 1) {
      const current = inputs;
      const { outputs, branches } = t.within(`stage${stage + 2}.${module}`, () =>
        highResolutionModule(t, current, variant),
      );
      if (module === 0) list = branches;
      inputs = outputs;
    }
    maps = inputs;
    t.keep(...previous, ...list);
  });
  t.keep(first);
  return maps;
}

/** timm 1.0.31 HRNet features: the first stem map and the four branches, widened by one bottleneck each. */
export const timmHrnetEncoders: EncoderTable = Object.fromEntries(
  Object.entries(VARIANTS).map(([name, variant]) => [
    `tu-${name}`,
    {
      dilates: false,
      features: (t, image, { depth }) => {
        const stem = t.within('stem', () => relu(t, convNorm(t, image, 64, 2)));
        const second = t.within('stem', () => relu(t, convNorm(t, stem, 64, 2)));
        const maps = stages(t, second, variant);
        t.keep(second);
        const widened = maps.map((map, index) =>
          t.within(`incre_modules.${index}`, () =>
            layer(t, map, { planes: HEAD_PLANES[index] ?? 32, count: 1 }, BOTTLENECK),
          ),
        );
        t.keep(stem, ...maps, ...widened);
        return [image, stem, ...widened].slice(0, depth + 1);
      },
    },
  ]),
);

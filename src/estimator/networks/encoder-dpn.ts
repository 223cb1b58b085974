import { relu } from '../tape/ops-activation.ts';
import { type ConvOptions, conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { maxPool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat, slice } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { EncoderTable } from './encoder.ts';
import { unusedModules } from './unused.ts';

interface Variant {
  readonly stem: number;
  readonly small: boolean;
  readonly groups: number;
  readonly reduction: number;
  readonly counts: readonly number[];
  readonly growth: readonly number[];
  /** Two convolutions behind one norm at the end of each block. */
  readonly split: boolean;
}

/** Chen et al. 2017, table 1, and its authors' later sizes. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  dpn68: {
    stem: 10,
    small: true,
    groups: 32,
    reduction: 128,
    counts: [3, 4, 12, 3],
    growth: [16, 32, 32, 64],
    split: false,
  },
  dpn68b: {
    stem: 10,
    small: true,
    groups: 32,
    reduction: 128,
    counts: [3, 4, 12, 3],
    growth: [16, 32, 32, 64],
    split: true,
  },
  dpn92: {
    stem: 64,
    small: false,
    groups: 32,
    reduction: 96,
    counts: [3, 4, 20, 3],
    growth: [16, 32, 24, 128],
    split: false,
  },
  dpn98: {
    stem: 96,
    small: false,
    groups: 40,
    reduction: 160,
    counts: [3, 6, 20, 3],
    growth: [16, 32, 32, 128],
    split: false,
  },
  dpn107: {
    stem: 128,
    small: false,
    groups: 50,
    reduction: 200,
    counts: [4, 8, 20, 3],
    growth: [20, 64, 64, 128],
    split: false,
  },
  dpn131: {
    stem: 128,
    small: false,
    groups: 40,
    reduction: 160,
    counts: [4, 8, 28, 3],
    growth: [16, 32, 32, 128],
    split: false,
  },
};

/** The residual and the dense path, or one map before the first block. */
type Paths = readonly Tensor[];

const joined = (t: Tape, paths: Paths): Tensor => (paths.length > 1 ? concat(t, paths, 1) : (paths[0] ?? t.input([1])));

function normConv(t: Tape, x: Tensor, options: ConvOptions): Tensor {
  return t.call('', x, () => conv2d(t, relu(t, batchNorm(t, x)), options));
}

interface Block {
  readonly width: number;
  readonly inner: number;
  readonly growth: number;
  readonly stride: number;
  readonly dilation: number;
  /** The first block of a stage projects its input to both paths. */
  readonly projects: boolean;
}

const cut = (t: Tape, x: Tensor, width: number): Tensor => slice(t, x, 1, width);

function block(t: Tape, paths: Paths, shape: Block, variant: Variant): Paths {
  const { width, inner, growth, stride, dilation } = shape;
  return t.call('', paths, () => {
    const input = joined(t, paths);
    const projected = shape.projects ? normConv(t, input, { out: width + 2 * growth, kernel: 1, stride }) : undefined;
    const residual = projected === undefined ? paths[0] : cut(t, projected, width);
    const dense = projected === undefined ? paths[1] : cut(t, projected, 2 * growth);
    if (residual === undefined || dense === undefined) return paths;
    const first = normConv(t, input, { out: inner, kernel: 1 });
    t.keep(input);
    const spatial = { out: inner, kernel: 3, stride, padding: dilation, dilation, groups: variant.groups };
    const second = normConv(t, first, spatial);
    t.keep(first);
    const [added, appended] = outputs(t, second, shape, variant);
    const result = [add(t, residual, added), concat(t, [dense, appended], 1)];
    t.keep(added, appended, ...(projected === undefined ? [] : [projected]));
    return result;
  });
}

function outputs(t: Tape, x: Tensor, { width, growth }: Block, { split }: Variant): readonly [Tensor, Tensor] {
  if (split) {
    const activated = t.call('c1x1_c', x, () => relu(t, batchNorm(t, x)));
    const pair = [
      conv2d(t, activated, { out: width, kernel: 1 }),
      conv2d(t, activated, { out: growth, kernel: 1 }),
    ] as const;
    t.keep(activated);
    return pair;
  }
  const both = normConv(t, x, { out: width + growth, kernel: 1 });
  return [cut(t, both, width), cut(t, both, growth)];
}

function stage(t: Tape, paths: Paths, index: number, at: { variant: Variant; outputStride: number }): Paths {
  const { variant, outputStride } = at;
  const width = 64 * 2 ** index * (variant.small ? 1 : 4);
  const inner = variant.reduction * 2 ** index;
  const scale = 4 * 2 ** index;
  const dilation = scale > outputStride ? scale / outputStride : 1;
  return t.call(`conv${index + 2}`, paths, () => {
    let current = paths;
    for (let layer = 0; layer < (variant.counts[index] ?? 0); layer += 1) {
      const projects = layer === 0;
      const stride = projects && index > 0 && dilation === 1 ? 2 : 1;
      const shape = { width, inner, growth: variant.growth[index] ?? 16, stride, dilation, projects };
      current = block(t, current, shape, variant);
    }
    return index < 3 ? current : [relu(t, batchNorm(t, joined(t, current)))];
  });
}

function encoderOf(variant: Variant): EncoderTable[string] {
  return {
    dilates: true,
    features: (t, image, { depth, outputStride }) => {
      const kernel = variant.small ? 3 : 7;
      const convolved = conv2d(t, image, { out: variant.stem, kernel, stride: 2, padding: (kernel - 1) / 2 });
      const stem = relu(t, batchNorm(t, convolved));
      const maps = [image, stem];
      let paths: Paths = depth > 1 ? [maxPool(t, stem, { kernel: 3, stride: 2, padding: 1 })] : [stem];
      for (let index = 0; index < depth - 1; index += 1) {
        paths = stage(t, paths, index, { variant, outputStride });
        maps.push(index < 3 ? relu(t, joined(t, paths)) : joined(t, paths));
      }
      if (depth < 5) {
        const width = paths.reduce((sum, path) => sum + (path.shape[1] ?? 0), 0);
        unusedModules(t, [1, width, 8, 8], (shadow, input) => {
          let rest: Paths = [input];
          for (let index = depth - 1; index < 4; index += 1)
            rest = stage(shadow, rest, index, { variant, outputStride });
        });
      }
      t.keep(...paths, ...maps);
      return maps;
    },
  };
}

/** Dual path networks in Cadene's port inside segmentation_models_pytorch 0.6. */
export const dpnEncoders: EncoderTable = Object.fromEntries(
  Object.entries(VARIANTS).map(([name, variant]) => [name, encoderOf(variant)]),
);

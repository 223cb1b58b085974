import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, addInPlace, shift } from '../tape/ops-core.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type ResNetOptions, residual } from './resnet.ts';

export interface HrnetOptions {
  /** Channels of the finest branch; each coarser one has twice as many. */
  readonly width: number;
  /** Half as many blocks and fewer modules (HRNetV2-W18-small-v2). */
  readonly small?: boolean;
  readonly checkpoint?: boolean;
  /** Stem and the first n stages with the transitions after them are not trained; −1: everything is. */
  readonly frozenStages?: number;
}

interface Stage {
  readonly modules: number;
  readonly branches: number;
  readonly blocks: number;
}

function stages(small: boolean): readonly Stage[] {
  const blocks = small ? 2 : 4;
  return [
    { modules: 1, branches: 2, blocks },
    { modules: small ? 3 : 4, branches: 3, blocks },
    { modules: small ? 2 : 3, branches: 4, blocks },
  ];
}

const at = (maps: readonly Tensor[], index: number): Tensor => {
  const map = maps[index];
  if (map === undefined) throw new RangeError(`no branch ${index}`);
  return map;
};

/** Four maps of strides 4, 8, 16, 32 with widths w, 2w, 4w, 8w. Wang et al. 2020 in MMSegmentation 1.2.2's layout. */
export function hrnet(t: Tape, image: Tensor, options: HrnetOptions): readonly Tensor[] {
  const small = options.small === true;
  const basic = blockOptions(18, options);
  const frozen = options.frozenStages ?? -1;
  const stem = t.freeze(frozen >= 0, () => ['1', '2'].reduce((x, index) => stemConv(t, x, index), image));
  const first = t.freeze(frozen >= 1, () =>
    t.call('layer1', stem, () => chain(t, stem, { planes: 64, count: small ? 2 : 4 }, blockOptions(50, options))),
  );
  let maps: readonly Tensor[] = [first];
  for (const [index, stage] of stages(small).entries()) {
    const widths = Array.from({ length: stage.branches }, (_, branch) => options.width * 2 ** branch);
    const previous = maps;
    const inputs = t.freeze(frozen > index, () => transition(t, `transition${index + 1}`, previous, widths));
    maps = t.freeze(frozen > index + 1, () =>
      t.within(`stage${index + 2}`, () => runStage(t, inputs, stage, { widths, basic })),
    );
    t.keep(...previous, first);
  }
  return maps;
}

function blockOptions(depth: 18 | 50, { checkpoint = false }: HrnetOptions): ResNetOptions {
  return { depth, stem: 'plain', strides: [], dilations: [], checkpoint };
}

function stemConv(t: Tape, x: Tensor, index: string): Tensor {
  const convolved = t.within(`conv${index}`, () => conv2d(t, x, { out: 64, kernel: 3, stride: 2, padding: 1 }));
  return relu(
    t,
    t.within(`bn${index}`, () => batchNorm(t, convolved)),
  );
}

function chain(
  t: Tape,
  x: Tensor,
  { planes, count }: { planes: number; count: number },
  options: ResNetOptions,
): Tensor {
  let out = x;
  for (let index = 0; index < count; index += 1) {
    const input = out;
    out = t.call('', input, () => residual(t, input, { planes, stride: 1, dilation: 1 }, options));
  }
  return out;
}

function convNormRelu(t: Tape, x: Tensor, out: number, stride: number): Tensor {
  return relu(t, batchNorm(t, conv2d(t, x, { out, kernel: 3, stride, padding: 1 })));
}

/** Existing branches change their width where needed; new ones halve the coarsest map. */
function transition(t: Tape, name: string, maps: readonly Tensor[], widths: readonly number[]): readonly Tensor[] {
  const coarsest = at(maps, maps.length - 1);
  return widths.map((width, branch) => {
    const map = maps[branch];
    if (map !== undefined && channelsOf(map) === width) return map;
    const source = map ?? coarsest;
    return t.call(`${name}.${branch}`, source, () => convNormRelu(t, source, width, map === undefined ? 2 : 1));
  });
}

interface StageSetting {
  readonly widths: readonly number[];
  readonly basic: ResNetOptions;
}

function runStage(t: Tape, inputs: readonly Tensor[], stage: Stage, setting: StageSetting): readonly Tensor[] {
  let maps = inputs;
  for (let index = 0; index < stage.modules; index += 1) {
    const current = maps;
    maps = t.within(`${index}`, () => hrModule(t, current, stage.blocks, setting));
  }
  return maps;
}

/** Parallel branches, then every output is the sum of all branches at its size. */
function hrModule(
  t: Tape,
  inputs: readonly Tensor[],
  blocks: number,
  { widths, basic }: StageSetting,
): readonly Tensor[] {
  const branches = inputs.map((input, branch) =>
    t.call(`branches.${branch}`, input, () => chain(t, input, { planes: widths[branch] ?? 0, count: blocks }, basic)),
  );
  const outputs = widths.map((_, target) =>
    t.within(`fuse_layers.${target}`, () => relu(t, fuse(t, branches, target, widths), false)),
  );
  t.keep(...branches);
  return outputs;
}

/** `y = 0; y += …`: the first sum is a new tensor, later ones are in place unless the source is coarser. */
function fuse(t: Tape, branches: readonly Tensor[], target: number, widths: readonly number[]): Tensor {
  let total: Tensor | undefined;
  for (const [source, branch] of branches.entries()) {
    if (source <= target) {
      const part = source === target ? branch : downward(t, branch, target - source, widths[target] ?? 0);
      total = total === undefined ? shift(t, part) : addInPlace(t, total, part);
    } else if (total !== undefined) {
      total = add(t, total, upward(t, branch, at(branches, target)));
    }
  }
  return total ?? at(branches, target);
}

function downward(t: Tape, x: Tensor, steps: number, width: number): Tensor {
  return t.call('', x, () => {
    let out = x;
    for (let step = 0; step < steps; step += 1) {
      const input = out;
      const last = step === steps - 1;
      out = t.call('', input, () => {
        const convolved = conv2d(t, input, { out: last ? width : channelsOf(x), kernel: 3, stride: 2, padding: 1 });
        const normalized = batchNorm(t, convolved);
        return last ? normalized : relu(t, normalized, false);
      });
    }
    return out;
  });
}

/** Projected, upsampled by a factor, then resized once more to the exact size. */
function upward(t: Tape, x: Tensor, target: Tensor): Tensor {
  const factor = channelsOf(x) / channelsOf(target);
  const [height, width] = sizeOf(x);
  const scaled = t.call('', x, () => {
    const projected = batchNorm(t, conv2d(t, x, { out: channelsOf(target), kernel: 1 }));
    return resize(t, projected, [height * factor, width * factor]);
  });
  return resize(t, scaled, sizeOf(target));
}

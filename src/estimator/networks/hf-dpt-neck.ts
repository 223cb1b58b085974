import { gelu, relu } from '../tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { linear } from '../tape/ops-linear.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat, select, slice } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { contiguous, expand, flatten, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { unusedModules } from './unused.ts';

export interface DptNeckOptions {
  /** Channels of the reassembled maps, finest first. */
  readonly channels: readonly number[];
  /** The first two inputs are maps of a convolutional stem and stay as they are. */
  readonly hybrid: boolean;
  /** BatchNorm instead of a bias in the residual units of the fusion. */
  readonly normalised: boolean;
}

const WIDTH = 256;

/** DPTNeck of transformers 5.24 (Ranftl et al. 2021), readout "project": B×256 maps at twice the stride of each level, finest last. */
export function dptNeck(t: Tape, inputs: readonly Tensor[], options: DptNeckOptions): readonly Tensor[] {
  return t.call('neck', inputs, () => {
    const maps = t.call('reassemble_stage', inputs, () => {
      const outputs = inputs.map((input, level) =>
        options.hybrid && level < 2 ? input : reassemble(t, input, level, options),
      );
      t.keep(...outputs);
      return outputs;
    });
    const features = maps.map((map) => t.within('convs', () => conv2d(t, map, { out: WIDTH, kernel: 3, padding: 1 })));
    const fused = t.call('fusion_stage', features, () => fuseAll(t, features, options));
    t.keep(...maps);
    return fused;
  });
}

/** B×(N+1)×C tokens → a map at 4, 2, 1 or ½ times the patch grid. */
function reassemble(t: Tape, tokens: Tensor, level: number, options: DptNeckOptions): Tensor {
  const [batch = 1, count = 1, channels = 1] = tokens.shape;
  const side = Math.round(Math.sqrt(count - 1));
  const grid = reshape(t, slice(t, tokens, 1, count - 1), [batch, side, side, channels]);
  const map = contiguous(t, permute(t, grid, [0, 3, 1, 2]));
  const patches = permute(t, flatten(t, map, 2), [0, 2, 1]);
  const classToken = reshape(t, select(t, tokens, 1), [batch, 1, channels]);
  const joined = concat(t, [patches, expand(t, classToken, patches.shape)], -1);
  const projected = t.call('readout_projects', joined, () => gelu(t, linear(t, joined, channels)));
  t.keep(map);
  const read = reshape(t, permute(t, projected, [0, 2, 1]), map.shape);
  return t.call('layers', read, () => rescale(t, read, level, options));
}

function rescale(t: Tape, x: Tensor, level: number, { channels, hybrid }: DptNeckOptions): Tensor {
  const out = channels[level] ?? 1;
  const projected = conv2d(t, x, { out, kernel: 1, bias: true });
  const step = hybrid ? [0, 0, 1, 0.5][level] : [4, 2, 1, 0.5][level];
  if (step === 4 || step === 2) return convTranspose2d(t, projected, { out, kernel: step, stride: step, bias: true });
  if (step === 1) return projected;
  return conv2d(t, projected, { out, kernel: 3, stride: 2, padding: 1, bias: true });
}

/** From the coarsest level up. */
function fuseAll(t: Tape, features: readonly Tensor[], options: DptNeckOptions): readonly Tensor[] {
  const fused: Tensor[] = [];
  for (const feature of features.toReversed()) fused.push(fuse(t, fused[fused.length - 1], feature, options));
  return fused;
}

/** The first level has no deeper one; its second residual unit exists all the same. */
function fuse(t: Tape, deep: Tensor | undefined, feature: Tensor, options: DptNeckOptions): Tensor {
  return t.call('layers', deep === undefined ? [feature] : [deep, feature], () => {
    if (deep === undefined) unusedModules(t, [1, WIDTH, 1, 1], (shadow, input) => residualUnit(shadow, input, options));
    const entering = deep === undefined ? feature : joined(t, deep, feature, options);
    const refined = residualUnit(t, entering, options);
    const [height, width] = sizeOf(refined);
    const resized = resize(t, refined, [2 * height, 2 * width]);
    return t.within('projection', () => conv2d(t, resized, { out: WIDTH, kernel: 1, bias: true }));
  });
}

function joined(t: Tape, deep: Tensor, feature: Tensor, options: DptNeckOptions): Tensor {
  const [height, width] = sizeOf(deep);
  const alike = sizeOf(feature)[0] === height && sizeOf(feature)[1] === width;
  const side = alike ? feature : resize(t, feature, [height, width]);
  const sum = add(t, deep, residualUnit(t, side, options));
  t.keep(side);
  return sum;
}

/** Two activation-first convolutions around a shortcut. */
function residualUnit(t: Tape, x: Tensor, { normalised }: DptNeckOptions): Tensor {
  return t.call('residual_layer', x, () => {
    let feature = x;
    for (let index = 0; index < 2; index += 1) {
      const convolved = conv2d(t, relu(t, feature, false), { out: WIDTH, kernel: 3, padding: 1, bias: !normalised });
      feature = normalised ? batchNorm(t, convolved) : convolved;
    }
    return add(t, feature, x);
  });
}

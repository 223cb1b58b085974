import { gelu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { averagePool } from '../tape/ops-layers.ts';
import { groupNorm } from '../tape/ops-norm.ts';
import { subtract } from '../tape/ops-reduce.ts';
import { reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import type { Backbone } from './mmseg-backbones.ts';
import { lookUp } from './mmseg-names.ts';
import type { Run } from './network.ts';

type Variant = readonly [depths: readonly number[], widths: readonly number[]];

const SMALL = [64, 128, 320, 512];
const MEDIUM = [96, 192, 384, 768];

/** Blocks and widths of the four stages (Yu et al. 2022, table 1; mmpretrain 1.2). */
const VARIANTS: Readonly<Record<string, Variant>> = {
  'poolformer-s12': [[2, 2, 6, 2], SMALL],
  'poolformer-s24': [[4, 4, 12, 4], SMALL],
  'poolformer-s36': [[6, 6, 18, 6], SMALL],
  'poolformer-m36': [[6, 6, 18, 6], MEDIUM],
  'poolformer-m48': [[8, 8, 24, 8], MEDIUM],
};

/** PoolFormer as a backbone of Semantic FPN: its first convolution is never trained; no stochastic depth, no checkpointing. */
export function mmsegPoolFormer({ spec, w }: Run): Backbone | undefined {
  const variant = lookUp(VARIANTS, spec.backbone);
  if (variant === undefined) return undefined;
  return (t, image) => t.freeze(w.frozenBackbone, () => poolFormer(t, image, variant));
}

function embed(t: Tape, x: Tensor, options: { out: number; kernel: number; stride: number; padding: number }): Tensor {
  return t.call('patch_embed', x, () => conv2d(t, x, { ...options, bias: true }));
}

/** Normalised maps at strides 4, 8, 16, 32. */
function poolFormer(t: Tape, image: Tensor, [depths, widths]: Variant): readonly Tensor[] {
  const [first = 64] = widths;
  let x = t.freeze(true, () => embed(t, image, { out: first, kernel: 7, stride: 4, padding: 2 }));
  return depths.map((depth, stage) => {
    if (stage > 0) x = embed(t, x, { out: widths[stage] ?? first, kernel: 3, stride: 2, padding: 1 });
    const input = x;
    x = t.call(`network.${2 * stage}`, input, () => {
      let feature = input;
      for (let block = 0; block < depth; block += 1) feature = poolBlock(t, feature);
      return feature;
    });
    const output = x;
    return t.call(`norm${2 * stage}`, output, () => groupNorm(t, output, 1));
  });
}

/** Scaled by one learned factor a channel, then added to the input. */
function poolBlock(t: Tape, x: Tensor): Tensor {
  return t.call('', x, () => {
    const channels = channelsOf(x);
    const [first, second] = [t.param(channels), t.param(channels)];
    const scaled = (factor: Tensor, feature: Tensor): Tensor =>
      multiply(t, reshape(t, factor, [channels, 1, 1]), feature);
    const mixed = add(t, x, scaled(first, poolMixer(t, groupNorm(t, x, 1))));
    return add(t, mixed, scaled(second, perceptron(t, groupNorm(t, mixed, 1))));
  });
}

/** The average of 3×3 places minus the place itself. */
function poolMixer(t: Tape, x: Tensor): Tensor {
  return t.call('token_mixer', x, () => subtract(t, averagePool(t, x, { kernel: 3, stride: 1, padding: 1 }), x));
}

function perceptron(t: Tape, x: Tensor): Tensor {
  const channels = channelsOf(x);
  return t.call('mlp', x, () => {
    const hidden = gelu(t, conv2d(t, x, { out: 4 * channels, kernel: 1, bias: true }));
    return conv2d(t, hidden, { out: channels, kernel: 1, bias: true });
  });
}

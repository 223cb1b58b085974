import { gelu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { contiguous, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

export interface ConvNextOptions {
  readonly depths: readonly number[];
  readonly channels: readonly number[];
  readonly dropPathRate: number;
  readonly checkpoint: boolean;
}

/** [blocks per stage, channels per stage]: Liu et al. 2022, §3. */
export const CONVNEXTS: Readonly<Record<string, readonly [readonly number[], readonly number[]]>> = {
  'convnext-t': [
    [3, 3, 9, 3],
    [96, 192, 384, 768],
  ],
  'convnext-s': [
    [3, 3, 27, 3],
    [96, 192, 384, 768],
  ],
  'convnext-b': [
    [3, 3, 27, 3],
    [128, 256, 512, 1024],
  ],
  'convnext-l': [
    [3, 3, 27, 3],
    [192, 384, 768, 1536],
  ],
  'convnext-xl': [
    [3, 3, 27, 3],
    [256, 512, 1024, 2048],
  ],
};

/** ConvNeXt of mmpretrain 1.2: B×C×H×W maps at strides 4, 8, 16, 32, each normalised. */
export function convNext(t: Tape, image: Tensor, options: ConvNextOptions): readonly Tensor[] {
  const total = options.depths.reduce((sum, depth) => sum + depth, 0);
  let block = 0;
  let x = image;
  return options.channels.map((channels, stage) => {
    const input = x;
    x = t.call(`downsample_layers.${stage}`, input, () =>
      stage === 0 ? stem(t, input, channels) : downsample(t, input, channels),
    );
    const entered = x;
    x = t.call(`stages.${stage}`, entered, () => {
      let feature = entered;
      for (let index = 0; index < (options.depths[stage] ?? 0); index += 1, block += 1) {
        const rate = (options.dropPathRate * block) / Math.max(1, total - 1);
        feature = convNextBlock(t, feature, rate, options.checkpoint);
      }
      return feature;
    });
    const out = x;
    return t.call(`norm${stage}`, out, () => channelsFirstNorm(t, out));
  });
}

/** LayerNorm over the channels of a B×C×H×W map, with a row-major copy of the result. */
export function channelsFirstNorm(t: Tape, x: Tensor): Tensor {
  const normalised = layerNorm(t, permute(t, x, [0, 2, 3, 1]));
  return contiguous(t, permute(t, normalised, [0, 3, 1, 2]));
}

function stem(t: Tape, x: Tensor, channels: number): Tensor {
  const patches = conv2d(t, x, { out: channels, kernel: 4, stride: 4, bias: true });
  return t.call('', patches, () => channelsFirstNorm(t, patches));
}

function downsample(t: Tape, x: Tensor, channels: number): Tensor {
  const normalised = t.call('', x, () => channelsFirstNorm(t, x));
  return conv2d(t, normalised, { out: channels, kernel: 2, stride: 2, bias: true });
}

/** Depthwise 7×7, LayerNorm, two linear layers with GELU, layer scale, residual. */
function convNextBlock(t: Tape, x: Tensor, rate: number, checkpoint: boolean): Tensor {
  const channels = x.shape[1] ?? 1;
  return t.call('', x, () =>
    t.checkpointReentrant(checkpoint && x.requiresGrad, [x], () => {
      const mixed = conv2d(t, x, { out: channels, kernel: 7, padding: 3, groups: channels, bias: true });
      const normalised = layerNorm(t, permute(t, mixed, [0, 2, 3, 1]));
      const wide = gelu(t, linear(t, normalised, 4 * channels));
      const narrow = permute(t, linear(t, wide, channels), [0, 3, 1, 2]);
      const gamma = reshape(t, t.param(channels), [1, channels, 1, 1]);
      const scaled = multiply(t, narrow, gamma);
      return add(t, x, dropPath(t, scaled, rate, true));
    }),
  );
}

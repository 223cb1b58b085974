import { gelu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { permute } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

export interface HfConvNextOptions {
  readonly depths: readonly number[];
  readonly channels: readonly number[];
  readonly dropPathRate: number;
}

/** LayerNorm over channels; the result stays a permuted view, unlike mmpretrain's. */
function channelsFirstNorm(t: Tape, x: Tensor): Tensor {
  return t.call('', x, () => permute(t, layerNorm(t, permute(t, x, [0, 2, 3, 1])), [0, 3, 1, 2]));
}

/** ConvNextBackbone of transformers 5.24: maps at strides 4, 8, 16, 32, each normalised; no gradient checkpointing; the model has no final norm. */
export function hfConvNextBackbone(t: Tape, image: Tensor, options: HfConvNextOptions): readonly Tensor[] {
  const total = options.depths.reduce((sum, depth) => sum + depth, 0);
  return t.call('backbone', image, () => {
    let block = 0;
    let x = t.call('embeddings', image, () =>
      channelsFirstNorm(t, conv2d(t, image, { out: options.channels[0] ?? 96, kernel: 4, stride: 4, bias: true })),
    );
    const hidden = [x];
    for (const [stage, depth] of options.depths.entries()) {
      const input = x;
      x = t.call(`stages.${stage}`, input, () => {
        let feature =
          stage === 0
            ? input
            : conv2d(t, channelsFirstNorm(t, input), {
                out: options.channels[stage] ?? 1,
                kernel: 2,
                stride: 2,
                bias: true,
              });
        for (let index = 0; index < depth; index += 1, block += 1) {
          feature = convNextLayer(t, feature, (options.dropPathRate * block) / Math.max(1, total - 1));
        }
        return feature;
      });
      hidden.push(x);
    }
    const features = hidden
      .slice(1)
      .map((map, stage) => t.within(`hidden_states_norms.stage${stage + 1}`, () => channelsFirstNorm(t, map)));
    t.keep(...hidden);
    return features;
  });
}

function convNextLayer(t: Tape, x: Tensor, rate: number): Tensor {
  const channels = x.shape[1] ?? 1;
  return t.call('', x, () => {
    const mixed = conv2d(t, x, { out: channels, kernel: 7, padding: 3, groups: channels, bias: true });
    const normalised = layerNorm(t, permute(t, mixed, [0, 2, 3, 1]));
    const narrow = linear(t, gelu(t, linear(t, normalised, 4 * channels)), channels);
    const scaled = multiply(t, t.param(channels), narrow);
    return add(t, x, dropPath(t, permute(t, scaled, [0, 3, 1, 2]), rate, true));
  });
}

import { softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { adaptiveAveragePool, dropout2d } from '../tape/ops-layers.ts';
import { bmm } from '../tape/ops-linear.ts';
import { concat, stack } from '../tape/ops-parts.ts';
import { maxOverLast, subtract } from '../tape/ops-reduce.ts';
import { sum } from '../tape/ops-resize.ts';
import { expand, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { LossName } from '../workload.ts';
import { channelsOf, convBlock } from './blocks.ts';
import { feature } from './mmseg-feature.ts';
import { classify, type Head, type HeadTraining } from './mmseg-head.ts';
import { lossByFeature } from './mmseg-loss.ts';
import { type SelfAttentionOptions, selfAttentionBlock } from './mmseg-self-attention.ts';

/** mmcv's Scale: one trained number. */
export function learnedScale(t: Tape, x: Tensor): Tensor {
  return t.call('gamma', x, () => multiply(t, x, t.param()));
}

/** Position attention of DANet: full N×N attention, values as wide as the map. */
function positionAttention(t: Tape, x: Tensor): Tensor {
  return t.call('pam', x, () => {
    const options = { channels: 64, out: channelsOf(x), keyQueryNorm: false, scaled: false, withOut: false } as const;
    const attended = selfAttentionBlock(t, x, x, options);
    const out = add(t, learnedScale(t, attended), x);
    t.keep(attended);
    return out;
  });
}

/** Channel attention of DANet: C×C scores, turned around by their maximum. */
function channelAttention(t: Tape, x: Tensor): Tensor {
  return t.call('cam', x, () => {
    const [batch = 1, channels = 1] = x.shape;
    const query = reshape(t, x, [batch, channels, -1]);
    const key = permute(t, reshape(t, x, [batch, channels, -1]), [0, 2, 1]);
    const energy = bmm(t, query, key);
    const turned = subtract(t, expand(t, maxOverLast(t, energy), energy.shape), energy);
    const attention = softmax(t, turned);
    const attended = reshape(t, bmm(t, attention, reshape(t, x, [batch, channels, -1])), x.shape);
    const out = add(t, learnedScale(t, attended), x);
    t.keep(energy, turned, attention, attended);
    return out;
  });
}

interface DualOutputs {
  readonly joint: Tensor;
  readonly position: Tensor;
  readonly channel: Tensor;
}

function dualAttention(t: Tape, x: Tensor, numClasses: number): DualOutputs {
  const convOptions = { out: 512, kernel: 3, padding: 1 } as const;
  const pam = convBlock(
    t,
    'pam_out_conv',
    positionAttention(t, convBlock(t, 'pam_in_conv', x, convOptions)),
    convOptions,
  );
  const position = classifyBranch(t, 'pam_conv_seg', pam, numClasses);
  const cam = convBlock(
    t,
    'cam_out_conv',
    channelAttention(t, convBlock(t, 'cam_in_conv', x, convOptions)),
    convOptions,
  );
  const channel = classifyBranch(t, 'cam_conv_seg', cam, numClasses);
  const joint = classify(t, add(t, pam, cam), numClasses);
  return { joint, position, channel };
}

function classifyBranch(t: Tape, name: string, x: Tensor, numClasses: number): Tensor {
  const dropped = dropout2d(t, x, 0.1);
  return t.within(name, () => conv2d(t, dropped, { out: numClasses, kernel: 1, bias: true }));
}

/** DAHead (Fu et al. 2019): the sum of both branches. */
export function dualAttentionHead(numClasses: number): Head {
  return (t, features) => dualAttention(t, feature(t, features, -1), numClasses).joint;
}

/** DAHead in training: three outputs, each with its own full-resolution loss; all are alive to the end. */
export function dualAttentionLosses(numClasses: number, loss: LossName): HeadTraining {
  return (t, features, target) => {
    const { joint, position, channel } = dualAttention(t, feature(t, features, -1), numClasses);
    const parts = [joint, position, channel].map((logits) => lossByFeature(t, logits, target, { loss }));
    t.keep(joint, position, channel);
    return { losses: parts.flatMap((part) => part.losses), accuracies: parts.flatMap((part) => part.accuracies) };
  };
}

const KEY_POOLS = [1, 3, 6, 8] as const;

/** Pyramid pooling of keys and values into 110 positions. */
function pooledPositions(t: Tape, x: Tensor): Tensor {
  return t.call('key_downsample', x, () => {
    const parts = KEY_POOLS.map((side) =>
      reshape(t, adaptiveAveragePool(t, x, side), [...x.shape.slice(0, 2), side * side]),
    );
    return concat(t, parts, 2);
  });
}

function asymmetricBlock(t: Tape, query: Tensor, key: Tensor, options: { out: number; share: boolean }): Tensor {
  const attention: SelfAttentionOptions = {
    channels: 256,
    out: options.out,
    keyQueryNorm: true,
    scaled: true,
    withOut: true,
    shareKeyQuery: options.share,
    keyDownsample: pooledPositions,
  };
  const prior = selfAttentionBlock(t, query, key, attention);
  const context = sum(t, stack(t, [prior], 0), [0], false);
  t.keep(prior);
  return context;
}

/** ANNHead (Zhu et al. 2019): stages 3 and 4 fused by asymmetric attention, then attention within the result. */
export function asymmetricHead(numClasses: number): Head {
  return (t, features) => {
    const low = feature(t, features, -2);
    const high = feature(t, features, -1);
    const width = channelsOf(high);
    const fused = t.call('fusion', [low, high], () => {
      const context = asymmetricBlock(t, high, low, { out: width, share: false });
      const joined = concat(t, [context, high], 1);
      const out = convBlock(t, 'bottleneck', joined, { out: width, kernel: 1, activation: 'none' });
      t.keep(context);
      return out;
    });
    const narrowed = convBlock(t, 'bottleneck', dropout2d(t, fused, 0.1), { out: 512, kernel: 3, padding: 1 });
    const refined = t.call('context', narrowed, () => {
      const context = asymmetricBlock(t, narrowed, narrowed, { out: 512, share: true });
      const out = convBlock(t, 'bottleneck', concat(t, [context, narrowed], 1), { out: 512, kernel: 1 });
      t.keep(context);
      return out;
    });
    return classify(t, refined, numClasses);
  };
}

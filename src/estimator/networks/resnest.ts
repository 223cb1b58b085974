import { relu, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { multiply } from '../tape/ops-core.ts';
import { adaptiveAveragePool, averagePool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { sum } from '../tape/ops-resize.ts';
import { reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { type ResNetOptions, resnet } from './resnet.ts';

const RADIX = 2;

export interface ResNestOptions {
  readonly depth: 50 | 101 | 200;
  readonly strides: readonly number[];
  readonly dilations: readonly number[];
  readonly checkpoint: boolean;
  readonly frozenStages: number;
}

/** ResNeSt: ResNet-V1d whose 3×3 convolutions are split attention of radix 2, strided by average pooling. Zhang et al. 2020; MMSegmentation 1.2.2. */
export function resnest(t: Tape, image: Tensor, options: ResNestOptions): readonly Tensor[] {
  const resnetOptions: ResNetOptions = {
    ...options,
    stem: 'deep',
    stemWidths: options.depth === 50 ? [32, 32, 64] : [64, 64, 128],
    contractDilation: true,
    averageDown: 'always',
    middle: (tape, x, { width, stride, dilation }) => {
      const attended = tape.call('conv2', x, () => splitAttention(tape, x, { width, dilation }));
      return stride === 1 ? attended : averagePool(tape, attended, { kernel: 3, stride, padding: 1 });
    },
  };
  return resnet(t, image, resnetOptions).stages;
}

export interface SplitAttention {
  readonly width: number;
  readonly dilation: number;
  /** Order of the product: timm writes `features * weights`, MMSegmentation the reverse. */
  readonly featuresFirst?: boolean;
}

/** Split attention of radix 2 in place of a 3×3 convolution. */
export function splitAttention(t: Tape, x: Tensor, { width, dilation, featuresFirst = false }: SplitAttention): Tensor {
  const inner = Math.max((channelsOf(x) * RADIX) / 4, 32);
  const spatial = { out: width * RADIX, kernel: 3, padding: dilation, dilation, groups: RADIX } as const;
  const features = relu(t, batchNorm(t, conv2d(t, x, spatial)));
  const [batch = 1] = x.shape;
  const [height, columns] = sizeOf(features);
  const splits = reshape(t, features, [batch, RADIX, width, height, columns]);
  const pooled = adaptiveAveragePool(t, sum(t, splits, [1], false), 1);
  const squeezed = relu(t, batchNorm(t, conv2d(t, pooled, { out: inner, kernel: 1, bias: true })));
  const scores = conv2d(t, squeezed, { out: width * RADIX, kernel: 1, bias: true });
  const weights = reshape(t, radixSoftmax(t, scores), [batch, RADIX, width, 1, 1]);
  const out = sum(t, featuresFirst ? multiply(t, splits, weights) : multiply(t, weights, splits), [1], false);
  t.keep(features, weights, squeezed);
  return out;
}

function radixSoftmax(t: Tape, scores: Tensor): Tensor {
  return t.call('rsoftmax', scores, () => {
    const [batch = 1, channels = 1] = scores.shape;
    const split = transpose(t, reshape(t, scores, [batch, 1, RADIX, channels / RADIX]), 1, 2);
    return reshape(t, softmax(t, split), [batch, channels, 1, 1]);
  });
}

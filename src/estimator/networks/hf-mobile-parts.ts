import { type Activation, activate } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { adaptiveAveragePool, dropout, dropout2d } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { toMultiple } from './hf-mobilenet-v2.ts';

interface MobileConv {
  readonly out: number;
  readonly kernel: number;
  readonly stride?: number;
  readonly dilation?: number;
  readonly groups?: number;
  readonly activation?: Activation;
  readonly norm?: boolean;
  readonly bias?: boolean;
}

/** Convolution, norm and activation of MobileViT in transformers 5.24; SiLU and norm unless said otherwise. */
export function mobileConv(t: Tape, name: string, x: Tensor, layer: MobileConv): Tensor {
  const { kernel, dilation = 1, norm = true, activation = 'silu' } = layer;
  return t.call(name, x, () => {
    const convolved = conv2d(t, x, {
      ...{ out: layer.out, kernel, stride: layer.stride ?? 1, dilation, groups: layer.groups ?? 1 },
      ...{ padding: ((kernel - 1) / 2) * dilation, bias: layer.bias ?? false },
    });
    return activate(t, norm ? batchNorm(t, convolved) : convolved, activation);
  });
}

interface MobileBlock {
  readonly out: number;
  readonly expansion: number;
  readonly stride: number;
  readonly dilation?: number;
}

export function mobileBlock(t: Tape, name: string, x: Tensor, block: MobileBlock): Tensor {
  const channels = channelsOf(x);
  const hidden = toMultiple(Math.round(channels * block.expansion));
  return t.call(name, x, () => {
    const wide = mobileConv(t, 'expand_1x1', x, { out: hidden, kernel: 1 });
    const { stride, dilation = 1 } = block;
    const spatial = mobileConv(t, 'conv_3x3', wide, { out: hidden, kernel: 3, stride, dilation, groups: hidden });
    const narrow = mobileConv(t, 'reduce_1x1', spatial, { out: block.out, kernel: 1, activation: 'none' });
    return stride === 1 && channels === block.out ? add(t, x, narrow) : narrow;
  });
}

/** Strides and dilations of the downsampling blocks of stages 4 and 5. */
export function dilatedStages(outputStride: number): readonly { stride: number; dilation: number }[] {
  if (outputStride === 8)
    return [
      { stride: 1, dilation: 1 },
      { stride: 1, dilation: 2 },
    ];
  const last = outputStride === 16 ? 1 : 2;
  return [
    { stride: 2, dilation: 1 },
    { stride: last, dilation: 1 },
  ];
}

/** DeepLabV3 head: atrous pyramid with rates 6, 12, 18 and image pooling, ReLU throughout. */
export function mobileDeepLab(
  t: Tape,
  x: Tensor,
  { width, numClasses }: { width: number; numClasses: number },
): Tensor {
  return t.call('segmentation_head', x, () => {
    const features = t.call('aspp', x, () => atrousPyramid(t, x, width));
    const dropped = dropout2d(t, features, 0.1);
    return mobileConv(t, 'classifier', dropped, {
      ...{ out: numClasses, kernel: 1, norm: false, bias: true, activation: 'none' },
    });
  });
}

function atrousPyramid(t: Tape, x: Tensor, width: number): Tensor {
  const branch = { out: width, activation: 'relu' } as const;
  const branches = [mobileConv(t, 'convs', x, { ...branch, kernel: 1 })];
  for (const dilation of [6, 12, 18]) branches.push(mobileConv(t, 'convs', x, { ...branch, kernel: 3, dilation }));
  const pooled = t.call('convs', x, () => {
    const mean = mobileConv(t, 'conv_1x1', adaptiveAveragePool(t, x, 1), { ...branch, kernel: 1 });
    return resize(t, mean, sizeOf(x));
  });
  const joined = concat(t, [...branches, pooled], 1);
  const projected = mobileConv(t, 'project', joined, { ...branch, kernel: 1 });
  const out = dropout(t, projected, 0.1);
  t.keep(joined);
  return out;
}

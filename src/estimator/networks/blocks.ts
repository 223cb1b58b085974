import { type Activation, activate } from '../tape/ops-activation.ts';
import { type ConvOptions, conv2d } from '../tape/ops-conv.ts';
import { batchNorm, layerNorm } from '../tape/ops-norm.ts';
import { permute } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

export interface ConvBlockOptions extends ConvOptions {
  readonly activation?: Activation;
  readonly norm?: boolean;
  readonly inPlace?: boolean;
}

/** Convolution, BatchNorm (default) and activation as one module (mmcv's ConvModule): bias only without norm. */
export function convBlock(t: Tape, name: string, x: Tensor, options: ConvBlockOptions): Tensor {
  const norm = options.norm ?? true;
  const convolution = norm || options.bias !== undefined ? options : { ...options, bias: true };
  return t.call(name, x, () => {
    const convolved = t.within('conv', () => conv2d(t, x, convolution));
    const normalized = norm ? t.within('bn', () => batchNorm(t, convolved)) : convolved;
    return activate(t, normalized, options.activation ?? 'relu', options.inPlace ?? true);
  });
}

/** Depthwise 3×3 then pointwise 1×1, each with norm and activation (mmcv's DepthwiseSeparableConvModule). */
export function separableBlock(
  t: Tape,
  name: string,
  x: Tensor,
  options: {
    out: number;
    dilation?: number;
    stride?: number;
    activation?: Activation;
    depthwiseActivation?: Activation;
    /** False: the pointwise convolution has a bias and no norm. */
    pointwiseNorm?: boolean;
  },
): Tensor {
  const { out, dilation = 1, stride = 1, activation = 'relu' } = options;
  const channels = x.shape[1] ?? 1;
  return t.call(name, x, () => {
    const depthwise = convBlock(t, 'depthwise_conv', x, {
      out: channels,
      kernel: 3,
      stride,
      padding: dilation,
      dilation,
      groups: channels,
      activation: options.depthwiseActivation ?? activation,
    });
    return convBlock(t, 'pointwise_conv', depthwise, {
      out,
      kernel: 1,
      activation,
      norm: options.pointwiseNorm ?? true,
    });
  });
}

/** Height and width of B×C×H×W. */
export function sizeOf(x: Tensor): readonly [number, number] {
  return [x.shape[2] ?? 1, x.shape[3] ?? 1];
}

export function channelsOf(x: Tensor): number {
  return x.shape[1] ?? 1;
}

/** LayerNorm over the channels of B×C×H×W. */
export function layerNorm2d(t: Tape, name: string, x: Tensor): Tensor {
  return t.call(name, x, () => permute(t, layerNorm(t, permute(t, x, [0, 2, 3, 1])), [0, 3, 1, 2]));
}

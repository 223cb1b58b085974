import { AppError } from '../../errors.ts';
import { activate, logSoftmax, relu, sigmoid, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { adaptiveAveragePool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { type ResizeMode, resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { ModelSpec } from './../workload.ts';
import { channelsOf, sizeOf } from './blocks.ts';

export interface ConvReluOptions {
  readonly out: number;
  readonly kernel: 1 | 3;
  /** Off: the convolution has a bias and nothing normalises it. */
  readonly norm?: boolean;
}

/** `Conv2dReLU`: convolution, BatchNorm, in-place ReLU (segmentation_models_pytorch 0.6, base/modules.py). */
export function convRelu(t: Tape, name: string, x: Tensor, options: ConvReluOptions): Tensor {
  const { out, kernel, norm = true } = options;
  return t.call(name, x, () => {
    const convolved = t.within('0', () => conv2d(t, x, { out, kernel, padding: kernel === 3 ? 1 : 0, bias: !norm }));
    return relu(t, norm ? t.within('1', () => batchNorm(t, convolved)) : convolved);
  });
}

/** Channel and spatial gates: `x · cSE(x) + x · sSE(x)`. */
export function scse(t: Tape, name: string, x: Tensor): Tensor {
  const channels = channelsOf(x);
  return t.call(name, x, () => {
    const channelGate = t.call('cSE', x, () => {
      const pooled = adaptiveAveragePool(t, x, 1);
      const reduced = relu(t, conv2d(t, pooled, { out: Math.floor(channels / 16), kernel: 1, bias: true }));
      return sigmoid(t, conv2d(t, reduced, { out: channels, kernel: 1, bias: true }));
    });
    const first = multiply(t, x, channelGate);
    const spatialGate = t.call('sSE', x, () => sigmoid(t, conv2d(t, x, { out: 1, kernel: 1, bias: true })));
    const second = multiply(t, x, spatialGate);
    return add(t, first, second);
  });
}

/** Convolution with bias, then a bilinear enlargement where the factor is above 1, then the activation that the constructor names. */
export function segmentationHead(
  t: Tape,
  x: Tensor,
  head: { classes: number; kernel: 1 | 3; upsampling: number; activation: string },
): Tensor {
  return t.call('segmentation_head', x, () => {
    const logits = conv2d(t, x, {
      out: head.classes,
      kernel: head.kernel,
      padding: head.kernel === 3 ? 1 : 0,
      bias: true,
    });
    return headActivation(t, head.upsampling > 1 ? enlarge(t, logits, head.upsampling) : logits, head.activation);
  });
}

/** `Activation` of the library by its name; those without a gradient, or with arguments of their own, are refused. */
export function headActivation(t: Tape, logits: Tensor, name: string): Tensor {
  switch (name) {
    case 'identity':
      return logits;
    case 'sigmoid':
    case 'tanh':
      return activate(t, logits, name);
    case 'softmax':
    case 'softmax2d':
      return softmax(t, logits);
    case 'logsoftmax':
      return logSoftmax(t, logits);
    default:
      throw new AppError('unsupported-combination', `activation ${name} after the head`, {
        details: {
          rule: 'option',
          option: 'activation',
          known: ['identity', 'sigmoid', 'tanh', 'softmax', 'softmax2d', 'logsoftmax'],
        },
      });
  }
}

export function enlarge(t: Tape, x: Tensor, factor: number, mode: ResizeMode = 'bilinear'): Tensor {
  const [height, width] = sizeOf(x);
  return resize(t, x, [Math.floor(height * factor), Math.floor(width * factor)], mode);
}

/** `decoder_use_norm`: BatchNorm or nothing; other norms are refused. */
export function decoderNorm(spec: ModelSpec): boolean {
  const value = spec.options['decoderUseNorm'] ?? 'batchnorm';
  if (value === 'batchnorm' || value === true) return true;
  if (value === 'identity' || value === false) return false;
  throw new AppError('unsupported-combination', `decoder norm ${String(value)}`, {
    details: { rule: 'option', option: 'decoder_use_norm', known: ['batchnorm', 'identity'] },
  });
}

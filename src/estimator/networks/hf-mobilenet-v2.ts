import { AppError } from '../../errors.ts';
import { type Activation, activate } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { adaptiveAveragePool, dropout2d } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat, pad } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { hfSemanticModel, refuseSingleClass, type SemanticOutput } from './hf-loss.ts';
import { type Network, optionNumber, type Run } from './network.ts';

/** Channels after the stem and after each of the 16 blocks, strides of the blocks (Sandler et al. 2018). */
const CHANNELS = [16, 24, 24, 32, 32, 32, 64, 64, 64, 64, 96, 96, 96, 160, 160, 160, 320];
const STRIDES = [2, 1, 2, 1, 1, 2, 1, 1, 1, 1, 1, 1, 2, 1, 1, 1];
const EXPANSION = 6;
const HEAD = 256;

/** Multiples of 8, never more than a tenth below. */
export function toMultiple(value: number, step = 8, least = step): number {
  const rounded = Math.max(least, Math.floor((value + step / 2) / step) * step);
  return rounded < 0.9 * value ? rounded + step : rounded;
}

function scaled(channels: number, multiplier: number): number {
  return toMultiple(Math.round(channels * multiplier));
}

interface Layer {
  readonly out: number;
  readonly kernel: number;
  readonly stride?: number;
  readonly dilation?: number;
  readonly groups?: number;
  readonly activation?: Activation;
  readonly norm?: boolean;
}

/** Padding of TensorFlow, a copy of its own even where it adds nothing. */
function convLayer(t: Tape, name: string, x: Tensor, layer: Layer): Tensor {
  const { kernel, stride = 1, dilation = 1, norm = true, activation = 'relu6' } = layer;
  return t.call(name, x, () => {
    const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
    const padded = (side: number): number =>
      side + dilation * Math.max(kernel - (side % stride === 0 ? stride : side % stride), 0);
    const source = pad(t, x, [batch, channels, padded(height), padded(width)]);
    const geometry = { out: layer.out, kernel, stride, dilation, groups: layer.groups ?? 1 };
    const convolved = conv2d(t, source, { ...geometry, bias: !norm });
    return activate(t, norm ? batchNorm(t, convolved) : convolved, activation);
  });
}

interface Block {
  readonly out: number;
  readonly stride: number;
  readonly dilation: number;
}

function invertedResidual(t: Tape, x: Tensor, { out, stride, dilation }: Block): Tensor {
  const channels = channelsOf(x);
  const hidden = toMultiple(channels * EXPANSION);
  return t.call('layer', x, () => {
    const wide = convLayer(t, 'expand_1x1', x, { out: hidden, kernel: 1 });
    const spatial = convLayer(t, 'conv_3x3', wide, { out: hidden, kernel: 3, stride, dilation, groups: hidden });
    const narrow = convLayer(t, 'reduce_1x1', spatial, { out, kernel: 1, activation: 'none' });
    return stride === 1 && channels === out ? add(t, x, narrow) : narrow;
  });
}

/** Blocks past the output stride keep it, and dilate from the next one on. */
function blocks(outputStride: number, multiplier: number): readonly Block[] {
  let current = 2;
  let dilation = 1;
  return STRIDES.map((stride, index) => {
    const out = scaled(CHANNELS[index + 1] ?? 1, multiplier);
    if (current !== outputStride) {
      current *= stride;
      return { out, stride, dilation: 1 };
    }
    const block = { out, stride: 1, dilation };
    dilation *= stride;
    return block;
  });
}

/** All block outputs are alive to the end of the model, and the last 1×1 convolution runs for nothing. */
function backbone(run: Run, image: Tensor): { last: Tensor; held: readonly Tensor[] } {
  const { t, spec, w } = run;
  const multiplier = optionNumber(spec, 'depthMultiplier', 1);
  const outputStride = w.outputStride ?? optionNumber(spec, 'outputStride', 8);
  return t.call('mobilenet_v2', image, () => {
    const stem = scaled(32, multiplier);
    let x = t.call('conv_stem', image, () => {
      const first = convLayer(t, 'first_conv', image, { out: stem, kernel: 3, stride: 2 });
      const spatial = convLayer(t, 'conv_3x3', first, { out: stem, kernel: 3, groups: stem });
      return convLayer(t, 'reduce_1x1', spatial, { out: scaled(16, multiplier), kernel: 1, activation: 'none' });
    });
    const held: Tensor[] = [];
    for (const block of blocks(outputStride, multiplier)) {
      x = invertedResidual(t, x, block);
      held.push(x);
    }
    const out = multiplier < 1 ? 1280 : scaled(1280, multiplier);
    held.push(convLayer(t, 'conv_1x1', x, { out, kernel: 1 }));
    return { last: x, held };
  });
}

/** Global pooling beside one 1×1 branch: called DeepLabV3+ in the library, without its decoder. */
function segmentationHead(t: Tape, x: Tensor, numClasses: number): Tensor {
  return t.call('segmentation_head', x, () => {
    const branch = { out: HEAD, kernel: 1, activation: 'relu' } as const;
    const pooled = convLayer(t, 'conv_pool', adaptiveAveragePool(t, x, 1), branch);
    const spread = resize(t, pooled, sizeOf(x));
    const local = convLayer(t, 'conv_aspp', x, branch);
    const projected = convLayer(t, 'conv_projection', concat(t, [spread, local], 1), branch);
    const dropped = dropout2d(t, projected, 0.8);
    const logits = convLayer(t, 'classifier', dropped, { out: numClasses, kernel: 1, norm: false, activation: 'none' });
    t.keep(spread, local);
    return logits;
  });
}

function forward(run: Run, image: Tensor): SemanticOutput {
  const { t, w } = run;
  refuseSingleClass(w);
  if (w.gradientCheckpointing) throw noCheckpointing('MobileNetV2');
  const { last, held } = t.freeze(w.frozenBackbone, () => backbone(run, image));
  return { logits: segmentationHead(t, last, w.numClasses), held };
}

/** The library raises when gradient checkpointing is switched on. */
export function noCheckpointing(model: string): AppError {
  return new AppError('unsupported-combination', `${model} of transformers has no gradient checkpointing`, {
    details: { rule: 'no-checkpointing', model },
  });
}

/** MobileNetV2ForSemanticSegmentation of transformers 5.24. */
export const hfMobileNetV2: Readonly<Record<string, Network>> = {
  'transformers/mobilenet-v2': hfSemanticModel(forward),
};

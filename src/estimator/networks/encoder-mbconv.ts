import { type Activation, activate, sigmoid } from '../tape/ops-activation.ts';
import { type ConvOptions, conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { pad } from '../tape/ops-parts.ts';
import { mean } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';

/** `swish`: timm's own in-place product with a sigmoid, which keeps a copy of its input. */
export type MbActivation = Activation | 'swish';

/** A group of equal blocks; the first one strides. */
export interface MbGroup {
  /** `ds` depthwise-separable, `ir` inverted residual, `er` its fused form, `cn` a plain convolution. */
  readonly kind: 'ds' | 'ir' | 'er' | 'cn';
  readonly repeats: number;
  readonly kernel: number;
  readonly stride: number;
  readonly expansion: number;
  readonly out: number;
  /** Width of the squeezed vector over the width named by `MbStyle.gateFrom`; 0: no gate. */
  readonly gate: number;
  readonly activation?: MbActivation;
  /** A plain convolution adds its input where the shape stays. */
  readonly skip?: boolean;
}

/** What all blocks of a network share. */
export interface MbStyle {
  readonly activation: MbActivation;
  /** TensorFlow's SAME padding where a stride needs an uneven one: a copy of the input. */
  readonly same?: boolean;
  readonly gate: { readonly from: 'input' | 'expanded'; readonly activation: MbActivation; readonly hard: boolean };
  /** Stochastic depth of the last block. */
  readonly dropRate: number;
}

/** One block: where it strides, and its share of stochastic depth. */
export interface MbBlock extends MbGroup {
  readonly dropShare: number;
}

/** Rounds to a multiple of `divisor`, never more than 10 % down. */
export function divisible(width: number, divisor = 8): number {
  const rounded = Math.max(divisor, Math.floor((width + divisor / 2) / divisor) * divisor);
  return rounded < 0.9 * width ? rounded + divisor : rounded;
}

export function activateInPlace(t: Tape, x: Tensor, activation: MbActivation): Tensor {
  if (activation !== 'swish') return activate(t, x, activation, true);
  return t.call('', x, () => multiply(t, x, sigmoid(t, x), { inPlace: true }));
}

/** Convolution that keeps the sides at stride 1; `same` pads in a copy where the stride needs it. */
export function samePaddedConv(t: Tape, x: Tensor, options: ConvOptions & { kernel: number; same: boolean }): Tensor {
  const { kernel, same } = options;
  const stride = typeof options.stride === 'number' ? options.stride : 1;
  if (!same || stride === 1) return conv2d(t, x, { ...options, padding: (kernel - 1) / 2 });
  return t.call('', x, () => {
    const [height, width] = sizeOf(x);
    const total = (side: number): number => Math.max((Math.ceil(side / stride) - 1) * stride + kernel - side, 0);
    const shape = [x.shape[0] ?? 1, channelsOf(x), height + total(height), width + total(width)];
    const padded = total(height) > 0 || total(width) > 0 ? pad(t, x, shape) : x;
    return conv2d(t, padded, options);
  });
}

function normAct(t: Tape, x: Tensor, activation: MbActivation): Tensor {
  return t.call('', x, () => activateInPlace(t, batchNorm(t, x), activation));
}

function squeezeExcite(t: Tape, x: Tensor, width: number, style: MbStyle): Tensor {
  return t.call('se', x, () => {
    const pooled = mean(t, x, [2, 3], true);
    const convolved = conv2d(t, pooled, { out: width, kernel: 1, bias: true });
    const reduced = activateInPlace(t, convolved, style.gate.activation);
    const expanded = conv2d(t, reduced, { out: channelsOf(x), kernel: 1, bias: true });
    const gate = style.gate.hard ? activate(t, expanded, 'hardsigmoid') : sigmoid(t, expanded);
    const gated = multiply(t, x, gate);
    t.keep(expanded);
    return gated;
  });
}

/** Blocks of timm 1.0.31 `_efficientnet_blocks.py`. */
export function mbBlock(t: Tape, x: Tensor, block: MbBlock, style: MbStyle): Tensor {
  const skips = block.stride === 1 && channelsOf(x) === block.out && (block.kind !== 'cn' || block.skip === true);
  return t.call('', x, () => {
    const refined = blockBody(t, x, block, style);
    return skips ? add(t, dropPath(t, refined, style.dropRate * block.dropShare, false), x) : refined;
  });
}

function blockBody(t: Tape, x: Tensor, block: MbBlock, style: MbStyle): Tensor {
  const { kind, kernel, stride, out } = block;
  const activation = block.activation ?? style.activation;
  const same = style.same === true;
  const input = channelsOf(x);
  if (kind === 'cn') return normAct(t, samePaddedConv(t, x, { out, kernel, stride, same }), activation);
  const width = kind === 'ds' ? input : divisible(input * block.expansion);
  const spatial = { out: width, kernel, stride, same };
  let feature = x;
  if (kind === 'er') feature = normAct(t, samePaddedConv(t, x, spatial), activation);
  else {
    if (kind === 'ir') feature = normAct(t, conv2d(t, x, { out: width, kernel: 1 }), activation);
    feature = normAct(t, samePaddedConv(t, feature, { ...spatial, groups: width }), activation);
  }
  if (block.gate > 0) feature = squeezeExcite(t, feature, gateWidth(block, style, { input, width }), style);
  return batchNorm(t, conv2d(t, feature, { out, kernel: 1 }));
}

/** EfficientNet squeezes a share of the block's input, MobileNetV3 a share of the expanded width, to a multiple of 8. */
function gateWidth({ gate }: MbBlock, style: MbStyle, { input, width }: { input: number; width: number }): number {
  return style.gate.from === 'expanded' ? divisible(width * gate) : Math.round(input * gate);
}

/** Groups unrolled to blocks, strides beyond the output stride dropped. */
export function unrollGroups(groups: readonly MbGroup[], outputStride: number): MbBlock[][] {
  const total = groups.reduce((sum, group) => sum + group.repeats, 0);
  let stride = 2;
  let index = 0;
  return groups.map((group) =>
    Array.from({ length: group.repeats }, (_, repeat) => {
      const wanted = repeat === 0 ? group.stride : 1;
      const dilated = wanted > 1 && stride * wanted > outputStride;
      if (!dilated) stride *= wanted;
      const block = { ...group, stride: dilated ? 1 : wanted, dropShare: index / total };
      index += 1;
      return block;
    }),
  );
}

import { type Activation, activate, relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { addInPlace, multiply } from '../tape/ops-core.ts';
import { adaptiveAveragePool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';

/** [kernel, expanded, out, squeeze-and-excitation, hard-swish, stride]: Howard et al. 2019, table 1. */
type Row = readonly [number, number, number, boolean, boolean, 1 | 2];

const LARGE: readonly Row[] = [
  [3, 16, 16, false, false, 1],
  [3, 64, 24, false, false, 2],
  [3, 72, 24, false, false, 1],
  [5, 72, 40, true, false, 2],
  [5, 120, 40, true, false, 1],
  [5, 120, 40, true, false, 1],
  [3, 240, 80, false, true, 2],
  [3, 200, 80, false, true, 1],
  [3, 184, 80, false, true, 1],
  [3, 184, 80, false, true, 1],
  [3, 480, 112, true, true, 1],
  [3, 672, 112, true, true, 1],
  [5, 672, 160, true, true, 2],
  [5, 960, 160, true, true, 1],
  [5, 960, 160, true, true, 1],
];

/** Blocks from here on are dilated instead of strided. */
const DILATED_FROM = 12;
const LAST_CHANNELS = 960;

/** Channel counts are multiples of 8, never more than 10 % below the wanted one. */
export function divisibleBy8(value: number): number {
  const rounded = Math.max(8, Math.floor((value + 4) / 8) * 8);
  return rounded < 0.9 * value ? rounded + 8 : rounded;
}

interface Block {
  readonly out: number;
  readonly kernel: number;
  readonly stride?: number;
  readonly dilation?: number;
  readonly groups?: number;
  readonly activation: Activation;
}

function convNormActivation(t: Tape, name: string, x: Tensor, block: Block): Tensor {
  const { dilation = 1 } = block;
  return t.call(name, x, () => {
    const padding = ((block.kernel - 1) / 2) * dilation;
    const convolved = conv2d(t, x, { ...block, padding });
    return activate(t, batchNorm(t, convolved), block.activation, true);
  });
}

/** MobileNetV3-Large of torchvision 0.28, last three blocks dilated; the maps after features 4 (stride 8) and 16. */
export function mobileNetV3Large(t: Tape, image: Tensor): { readonly low: Tensor; readonly high: Tensor } {
  let x = convNormActivation(t, '0', image, { out: 16, kernel: 3, stride: 2, activation: 'hardswish' });
  let low = x;
  for (const [index, row] of LARGE.entries()) {
    const input = x;
    x = t.call(`${index + 1}`, input, () => invertedResidual(t, input, row, index >= DILATED_FROM ? 2 : 1));
    if (index === 3) low = x;
  }
  const high = convNormActivation(t, '16', x, { out: LAST_CHANNELS, kernel: 1, activation: 'hardswish' });
  return { low, high };
}

function invertedResidual(
  t: Tape,
  x: Tensor,
  [kernel, expanded, out, squeeze, swish, stride]: Row,
  dilation: number,
): Tensor {
  const activation = swish ? 'hardswish' : 'relu';
  const actualStride = dilation > 1 ? 1 : stride;
  const result = t.call('block', x, () => {
    const wide =
      expanded === channelsOf(x) ? x : convNormActivation(t, '0', x, { out: expanded, kernel: 1, activation });
    const spatial = convNormActivation(t, '1', wide, {
      out: expanded,
      kernel,
      stride: actualStride,
      dilation,
      groups: expanded,
      activation,
    });
    const gated = squeeze
      ? t.call('2', spatial, () => squeezeExcitation(t, spatial, divisibleBy8(Math.floor(expanded / 4))))
      : spatial;
    return convNormActivation(t, '3', gated, { out, kernel: 1, activation: 'none' });
  });
  return stride === 1 && channelsOf(x) === out ? addInPlace(t, result, x) : result;
}

function squeezeExcitation(t: Tape, x: Tensor, squeezed: number): Tensor {
  const pooled = adaptiveAveragePool(t, x, 1);
  const hidden = relu(t, conv2d(t, pooled, { out: squeezed, kernel: 1, bias: true }), false);
  const gate = activate(t, conv2d(t, hidden, { out: channelsOf(x), kernel: 1, bias: true }), 'hardsigmoid');
  return multiply(t, gate, x);
}

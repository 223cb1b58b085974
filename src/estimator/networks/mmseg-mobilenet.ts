import { type Activation, activate } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply, scale, shift, unary } from '../tape/ops-core.ts';
import { adaptiveAveragePool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { pad } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, convBlock, sizeOf } from './blocks.ts';

/** Expansion, output channels, blocks, stride, dilation of the first block, at output stride 8 (MMSegmentation configs/mobilenet_v2). */
const MOBILENET_V2 = [
  [1, 16, 1, 1, 1],
  [6, 24, 2, 2, 1],
  [6, 32, 3, 2, 1],
  [6, 64, 4, 1, 2],
  [6, 96, 3, 1, 2],
  [6, 160, 3, 1, 4],
  [6, 320, 1, 1, 4],
] as const;

export interface MobileNetOptions {
  readonly checkpoint: boolean;
  /** The first layers that are not trained; −1: none. */
  readonly frozenStages: number;
}

/** MobileNetV2 at stride 8: maps of 24, 32, 96 and 320 channels. Sandler et al. 2018; MMSegmentation 1.2.2. */
export function mobileNetV2(t: Tape, image: Tensor, { checkpoint, frozenStages }: MobileNetOptions): readonly Tensor[] {
  const maps: Tensor[] = [];
  let x = t.freeze(frozenStages >= 0, () =>
    convBlock(t, 'conv1', image, { out: 32, kernel: 3, stride: 2, padding: 1, activation: 'relu6' }),
  );
  for (const [index, [expansion, out, blocks, stride, dilation]] of MOBILENET_V2.entries()) {
    const input = x;
    const layer = (): Tensor => {
      let feature = input;
      for (let block = 0; block < blocks; block += 1) {
        const first = block === 0;
        const shape = { expansion, out, stride: first ? stride : 1, dilation: first ? dilation : 1 };
        const source = feature;
        feature = t.call('', source, () =>
          t.checkpointReentrant(checkpoint && source.requiresGrad, [source], () => invertedResidual(t, source, shape)),
        );
      }
      return feature;
    };
    x = t.freeze(frozenStages > index, () => t.call(`layer${index + 1}`, input, layer));
    if (index === 1 || index === 2 || index === 4 || index === 6) maps.push(x);
  }
  t.keep(...maps);
  return maps;
}

export interface InvertedResidual {
  readonly expansion: number;
  readonly out: number;
  readonly stride: number;
  readonly dilation: number;
  readonly activation?: Activation;
}

/** Widened, depthwise, projected; a shortcut where size and width stay. */
export function invertedResidual(t: Tape, x: Tensor, block: InvertedResidual): Tensor {
  const { expansion, out, stride, dilation, activation = 'relu6' } = block;
  const hidden = channelsOf(x) * expansion;
  const convolved = t.call('conv', x, () => {
    const wide = expansion === 1 ? x : convBlock(t, '0', x, { out: hidden, kernel: 1, activation });
    const spatial = { out: hidden, kernel: 3, stride, padding: dilation, dilation, groups: hidden } as const;
    const depthwise = convBlock(t, '1', wide, { ...spatial, activation });
    return convBlock(t, '2', depthwise, { out, kernel: 1, activation: 'none' });
  });
  return stride === 1 && channelsOf(x) === out ? add(t, x, convolved) : convolved;
}

/** Kernel, hidden channels, output channels, squeeze-and-excitation, activation, stride in the classifier. Howard et al. 2019, tables 1 and 2. */
type BlockRow = readonly [number, number, number, boolean, 'relu' | 'hardswish', 1 | 2];

const LARGE: readonly BlockRow[] = [
  [3, 16, 16, false, 'relu', 1],
  [3, 64, 24, false, 'relu', 2],
  [3, 72, 24, false, 'relu', 1],
  [5, 72, 40, true, 'relu', 2],
  [5, 120, 40, true, 'relu', 1],
  [5, 120, 40, true, 'relu', 1],
  [3, 240, 80, false, 'hardswish', 2],
  [3, 200, 80, false, 'hardswish', 1],
  [3, 184, 80, false, 'hardswish', 1],
  [3, 184, 80, false, 'hardswish', 1],
  [3, 480, 112, true, 'hardswish', 1],
  [3, 672, 112, true, 'hardswish', 1],
  [5, 672, 160, true, 'hardswish', 2],
  [5, 960, 160, true, 'hardswish', 1],
  [5, 960, 160, true, 'hardswish', 1],
];

const SMALL: readonly BlockRow[] = [
  [3, 16, 16, true, 'relu', 2],
  [3, 72, 24, false, 'relu', 2],
  [3, 88, 24, false, 'relu', 1],
  [5, 96, 40, true, 'hardswish', 2],
  [5, 240, 40, true, 'hardswish', 1],
  [5, 240, 40, true, 'hardswish', 1],
  [5, 120, 48, true, 'hardswish', 1],
  [5, 144, 48, true, 'hardswish', 1],
  [5, 288, 96, true, 'hardswish', 2],
  [5, 576, 96, true, 'hardswish', 1],
  [5, 576, 96, true, 'hardswish', 1],
];

/** Layers whose stride became a dilation; all after them are dilated too. */
const DILATED = { large: { from: 7, stretch: 13 }, small: { from: 4, stretch: 9 } } as const;
/** Layers that the LR-ASPP head reads. */
const OUTPUTS = { large: [1, 3, 16], small: [0, 1, 12] } as const;

/** MobileNetV3 at stride 8: the three maps that LR-ASPP reads. Howard et al. 2019; MMSegmentation 1.2.2. */
export function mobileNetV3(
  t: Tape,
  image: Tensor,
  { size, checkpoint, frozenStages }: MobileNetOptions & { readonly size: 'large' | 'small' },
): readonly Tensor[] {
  const outputs: readonly number[] = OUTPUTS[size];
  const rows = size === 'large' ? LARGE : SMALL;
  let x = t.freeze(frozenStages >= 0, () =>
    adaptiveConvBlock(t, 'layer0', image, { out: 16, kernel: 3, stride: 2, groups: 1, activation: 'hardswish' }),
  );
  const maps = outputs.includes(0) ? [x] : [];
  for (const [index, row] of rows.entries()) {
    const input = x;
    const dilation = dilationOf(size, index + 1);
    const block = (): Tensor => invertedResidualV3(t, input, row, dilation);
    x = t.freeze(frozenStages > index, () =>
      t.call(`layer${index + 1}`, input, () => t.checkpointReentrant(checkpoint && input.requiresGrad, [input], block)),
    );
    if (outputs.includes(index + 1)) maps.push(x);
  }
  const last = rows.length + 1;
  const out = size === 'large' ? 960 : 576;
  maps.push(convBlock(t, `layer${last}`, x, { out, kernel: 1, dilation: 4, activation: 'hardswish' }));
  t.keep(...maps);
  return maps;
}

function dilationOf(size: 'large' | 'small', layer: number): number {
  const { from, stretch } = DILATED[size];
  if (layer < from) return 1;
  return layer < stretch ? 2 : 4;
}

/** Rows with stride 2 pad adaptively, also where a dilation has replaced the stride. */
function invertedResidualV3(t: Tape, x: Tensor, row: BlockRow, dilation: number): Tensor {
  const [kernel, hidden, out, squeezed, activation, stride] = row;
  const wide = channelsOf(x) === hidden ? x : convBlock(t, 'expand_conv', x, { out: hidden, kernel: 1, activation });
  const spatial = {
    out: hidden,
    kernel,
    stride: dilation > 1 ? 1 : stride,
    groups: hidden,
    dilation,
    activation,
  } as const;
  const depthwise =
    stride === 2
      ? adaptiveConvBlock(t, 'depthwise_conv', wide, spatial)
      : convBlock(t, 'depthwise_conv', wide, { ...spatial, padding: (dilation * (kernel - 1)) / 2 });
  const gated = squeezed ? squeezeExcite(t, depthwise) : depthwise;
  const projected = convBlock(t, 'linear_conv', gated, { out, kernel: 1, activation: 'none' });
  return stride === 1 && channelsOf(x) === out ? add(t, x, projected) : projected;
}

function squeezeExcite(t: Tape, x: Tensor): Tensor {
  return t.call('se', x, () => {
    const pooled = adaptiveAveragePool(t, x, 1);
    const squeezed = convBlock(t, 'conv1', pooled, { out: divisible(channelsOf(x) / 4), kernel: 1, norm: false });
    const wide = convBlock(t, 'conv2', squeezed, { out: channelsOf(x), kernel: 1, norm: false, activation: 'none' });
    const gate = unary(t, scale(t, shift(t, wide)), 'clamp_', { keeps: 'clone', inPlace: true });
    return multiply(t, x, gate);
  });
}

/** Multiples of 8, never more than a tenth below the wanted width. */
function divisible(value: number): number {
  const floor = Math.floor(value);
  const rounded = Math.max(8, Math.floor((floor + 4) / 8) * 8);
  return rounded < 0.9 * floor ? rounded + 8 : rounded;
}

interface AdaptiveConv {
  readonly out: number;
  readonly kernel: number;
  readonly stride: number;
  readonly groups: number;
  readonly dilation?: number;
  readonly activation: Activation;
}

/** mmcv's Conv2dAdaptivePadding: pads the input itself to "same" size, which is a copy, then convolves without padding. */
function adaptiveConvBlock(t: Tape, name: string, x: Tensor, conv: AdaptiveConv): Tensor {
  const { out, kernel, stride, groups, dilation = 1 } = conv;
  return t.call(name, x, () => {
    const convolved = t.call('conv', x, () => {
      const [height, width] = sizeOf(x);
      const span = (kernel - 1) * dilation + 1;
      const padded = [height, width].map((side) => Math.max(side, (Math.ceil(side / stride) - 1) * stride + span));
      const grown = padded[0] !== height || padded[1] !== width;
      const input = grown ? pad(t, x, [...x.shape.slice(0, 2), ...padded]) : x;
      return conv2d(t, input, { out, kernel, stride, dilation, groups });
    });
    return activate(t, batchNorm(t, convolved), conv.activation, true);
  });
}

import { relu, sigmoid } from '../tape/ops-activation.ts';
import { type ConvOptions, conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { adaptiveAveragePool, maxPool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import { type EncoderTable, runSteps, type Step } from './encoder.ts';

interface Variant {
  readonly layers: readonly number[];
  readonly groups: number;
  /** `resnet` strides in the first 1×1, `resnext` in the 3×3, `senet` too with doubled widths and a deep stem. */
  readonly kind: 'resnet' | 'resnext' | 'senet';
}

const VARIANTS: Readonly<Record<string, Variant>> = {
  senet154: { layers: [3, 8, 36, 3], groups: 64, kind: 'senet' },
  se_resnet50: { layers: [3, 4, 6, 3], groups: 1, kind: 'resnet' },
  se_resnet101: { layers: [3, 4, 23, 3], groups: 1, kind: 'resnet' },
  se_resnet152: { layers: [3, 8, 36, 3], groups: 1, kind: 'resnet' },
  se_resnext50_32x4d: { layers: [3, 4, 6, 3], groups: 32, kind: 'resnext' },
  se_resnext101_32x4d: { layers: [3, 4, 23, 3], groups: 32, kind: 'resnext' },
};

const convNorm = (t: Tape, x: Tensor, options: ConvOptions): Tensor => batchNorm(t, conv2d(t, x, options));

function squeezeExcite(t: Tape, x: Tensor): Tensor {
  const channels = channelsOf(x);
  return t.call('se_module', x, () => {
    const pooled = adaptiveAveragePool(t, x, 1);
    const reduced = relu(t, conv2d(t, pooled, { out: channels / 16, kernel: 1, bias: true }));
    return multiply(t, x, sigmoid(t, conv2d(t, reduced, { out: channels, kernel: 1, bias: true })));
  });
}

interface Block {
  readonly planes: number;
  readonly stride: number;
  readonly dilation: number;
  /** Kernel of the projection beside the block. */
  readonly projection: 1 | 3;
}

function widths({ kind, groups }: Variant, planes: number): readonly [number, number] {
  if (kind === 'senet') return [planes * 2, planes * 4];
  if (kind === 'resnet') return [planes, planes];
  const width = Math.floor((planes * 4) / 64) * groups;
  return [width, width];
}

function bottleneck(t: Tape, x: Tensor, block: Block, variant: Variant): Tensor {
  const { planes, stride, dilation } = block;
  const [first, second] = widths(variant, planes);
  const early = variant.kind === 'resnet';
  return t.call('', x, () => {
    const reduced = relu(t, convNorm(t, x, { out: first, kernel: 1, stride: early ? stride : 1 }));
    const spatial = convNorm(t, reduced, {
      out: second,
      kernel: 3,
      stride: early ? 1 : stride,
      padding: dilation,
      dilation,
      groups: variant.groups,
    });
    const expanded = convNorm(t, relu(t, spatial), { out: planes * 4, kernel: 1 });
    const projected = stride !== 1 || channelsOf(x) !== planes * 4;
    const identity = projected ? projection(t, x, block) : x;
    const out = relu(t, add(t, squeezeExcite(t, expanded), identity));
    t.keep(identity);
    return out;
  });
}

function projection(t: Tape, x: Tensor, { planes, stride, dilation, projection: kernel }: Block): Tensor {
  const padding = kernel === 3 ? dilation : 0;
  return t.call('downsample', x, () => convNorm(t, x, { out: planes * 4, kernel, stride, padding, dilation }));
}

function stem(t: Tape, x: Tensor, { kind }: Variant): Tensor {
  return t.call('layer0', x, () => {
    if (kind !== 'senet') return relu(t, convNorm(t, x, { out: 64, kernel: 7, stride: 2, padding: 3 }));
    let feature = x;
    [64, 64, 128].forEach((out, index) => {
      feature = relu(t, convNorm(t, feature, { out, kernel: 3, stride: index === 0 ? 2 : 1, padding: 1 }));
    });
    return feature;
  });
}

function stage(t: Tape, x: Tensor, index: number, at: { variant: Variant; outputStride: number }): Tensor {
  const { variant, outputStride } = at;
  const scale = 4 * 2 ** index;
  const dilation = scale > outputStride ? scale / outputStride : 1;
  const stride = index === 0 || dilation > 1 ? 1 : 2;
  return t.call(`layer${index + 1}`, x, () => {
    let feature = x;
    for (let block = 0; block < (variant.layers[index] ?? 0); block += 1) {
      feature = bottleneck(
        t,
        feature,
        {
          planes: 64 * 2 ** index,
          stride: block === 0 ? stride : 1,
          dilation,
          projection: variant.kind === 'senet' && index > 0 ? 3 : 1,
        },
        variant,
      );
    }
    return feature;
  });
}

function steps(variant: Variant, outputStride: number): Step[] {
  const at = { variant, outputStride };
  return [
    (t, x) => stem(t, x, variant),
    (t, x) => stage(t, maxPool(t, x, { kernel: 3, stride: 2, ceil: true }), 0, at),
    ...[1, 2, 3].map(
      (index): Step =>
        (t, x) =>
          stage(t, x, index, at),
    ),
  ];
}

/** SENet, SE-ResNet and SE-ResNeXt in the Caffe layout of Cadene's port inside segmentation_models_pytorch 0.6. */
export const senetEncoders: EncoderTable = Object.fromEntries(
  Object.entries(VARIANTS).map(([name, variant]) => [
    name,
    {
      dilates: true,
      features: (t, image, { depth, outputStride }) => [
        image,
        ...runSteps(t, image, steps(variant, outputStride), { count: depth }),
      ],
    },
  ]),
);

import { averagePool } from '../tape/ops-layers.ts';
import type { EncoderRequest, EncoderTable } from './encoder.ts';
import { splitAttention } from './resnest.ts';
import { type ResNetOptions, resnet } from './resnet.ts';

type Variant = Pick<ResNetOptions, 'depth' | 'groups' | 'widthPerGroup' | 'averageDown' | 'stemWidths' | 'middle'>;

/** Split attention, then a 3×3 average pooling where it strides. */
const middle: NonNullable<ResNetOptions['middle']> = (t, x, { width, stride, dilation }) => {
  const attended = t.call('conv2', x, () => splitAttention(t, x, { width, dilation, featuresFirst: true }));
  return stride === 1 ? attended : averagePool(t, attended, { kernel: 3, stride, padding: 1 });
};

/** Deep stem of the given first width and pooled projections: timm's "d" and "e". */
function deep(depth: Variant['depth'], width: number): Variant {
  return { depth, averageDown: 'same', stemWidths: [width, width, 2 * width] };
}

const VARIANTS: Readonly<Record<string, Variant>> = {
  resnet18: { depth: 18 },
  resnet34: { depth: 34 },
  resnet26: { depth: 26 },
  resnet50: { depth: 50 },
  resnet101: { depth: 101 },
  resnet152: { depth: 152 },
  resnet18d: deep(18, 32),
  resnet34d: deep(34, 32),
  resnet26d: deep(26, 32),
  resnet50d: deep(50, 32),
  resnet101d: deep(101, 32),
  resnet152d: deep(152, 32),
  resnext50_32x4d: { depth: 50, groups: 32, widthPerGroup: 4 },
  resnext101_32x4d: { depth: 101, groups: 32, widthPerGroup: 4 },
  resnext101_32x8d: { depth: 101, groups: 32, widthPerGroup: 8 },
  resnext101_64x4d: { depth: 101, groups: 64, widthPerGroup: 4 },
  wide_resnet50_2: { depth: 50, widthPerGroup: 128 },
  wide_resnet101_2: { depth: 101, widthPerGroup: 128 },
  resnest14d: { ...deep(14, 32), middle },
  resnest26d: { ...deep(26, 32), middle },
  resnest50d: { ...deep(50, 32), middle },
  resnest101e: { ...deep(101, 64), middle },
  resnest200e: { ...deep(200, 64), middle },
  resnest269e: { ...deep(269, 64), middle },
};

function options(variant: Variant, outputStride: EncoderRequest['outputStride']): ResNetOptions {
  return {
    ...variant,
    stem: variant.stemWidths === undefined ? 'plain' : 'deep',
    strides: [1, 2, outputStride === 8 ? 1 : 2, outputStride === 32 ? 2 : 1],
    dilations: [1, 1, outputStride === 8 ? 2 : 1, outputStride === 8 ? 4 : outputStride === 16 ? 2 : 1],
    contractDilation: true,
    dilateAll: true,
  };
}

/** timm 1.0.31 ResNet, ResNeXt and ResNeSt behind `features_only`: stages after the deepest map do not exist. */
export const timmResnetEncoders: EncoderTable = Object.fromEntries(
  Object.entries(VARIANTS).map(([name, variant]) => [
    `tu-${name}`,
    {
      dilates: true,
      features: (t, image, { depth, outputStride }) => {
        const { stem, stages } = t.within('model', () =>
          resnet(t, image, { ...options(variant, outputStride), stages: depth - 1 }),
        );
        return [image, stem, ...stages];
      },
    },
  ]),
);

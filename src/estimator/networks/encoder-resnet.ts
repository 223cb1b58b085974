import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { Encoder, EncoderRequest, EncoderTable } from './encoder.ts';
import { type ResNetOptions, resnet, resnetStage } from './resnet.ts';
import { unusedModules } from './unused.ts';

type Variant = Pick<ResNetOptions, 'depth' | 'groups' | 'widthPerGroup'>;

/** torchvision ResNet and ResNeXt as segmentation_models_pytorch 0.6 cuts them. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  resnet18: { depth: 18 },
  resnet34: { depth: 34 },
  resnet50: { depth: 50 },
  resnet101: { depth: 101 },
  resnet152: { depth: 152 },
  resnext50_32x4d: { depth: 50, groups: 32, widthPerGroup: 4 },
  resnext101_32x4d: { depth: 101, groups: 32, widthPerGroup: 4 },
  resnext101_32x8d: { depth: 101, groups: 32, widthPerGroup: 8 },
  resnext101_32x16d: { depth: 101, groups: 32, widthPerGroup: 16 },
  resnext101_32x32d: { depth: 101, groups: 32, widthPerGroup: 32 },
  resnext101_32x48d: { depth: 101, groups: 32, widthPerGroup: 48 },
};

/** Strides of the last stages become dilations of all their convolutions. */
function options(variant: Variant, outputStride: EncoderRequest['outputStride']): ResNetOptions {
  return {
    ...variant,
    stem: 'plain',
    strides: [1, 2, outputStride === 8 ? 1 : 2, outputStride === 32 ? 2 : 1],
    dilations: [1, 1, outputStride === 8 ? 2 : 1, outputStride === 8 ? 4 : outputStride === 16 ? 2 : 1],
    dilateAll: true,
  };
}

function features(variant: Variant): Encoder['features'] {
  return (t: Tape, image: Tensor, { depth, outputStride }: EncoderRequest) => {
    const chosen = options(variant, outputStride);
    const { stem, stages } = resnet(t, image, { ...chosen, stages: depth - 1 });
    const last = stages[stages.length - 1] ?? stem;
    if (depth < 5) {
      unusedModules(t, [1, last.shape[1] ?? 64, 8, 8], (shadow, input) => {
        let feature = input;
        for (let stage = depth - 1; stage < 4; stage += 1) feature = resnetStage(shadow, feature, stage, chosen);
      });
    }
    return [image, stem, ...stages];
  };
}

export const resnetEncoders: EncoderTable = Object.fromEntries(
  Object.entries(VARIANTS).map(([name, variant]) => [name, { features: features(variant), dilates: true }]),
);

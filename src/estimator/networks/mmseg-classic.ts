import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { asppHead, fcnHead, pspHead, separableAsppHead } from './mmseg-heads.ts';
import { encoderDecoder, type Head, type Segmentor } from './mmseg-segmentor.ts';
import { type Network, optionNumber, optionNumbers, optionText, type Run } from './network.ts';
import { type ResNetOptions, resnet } from './resnet.ts';

const DEPTHS = { resnet18: 18, resnet34: 34, resnet50: 50, resnet101: 101, resnet152: 152 } as const;

/** Widths that the configs scale with the backbone: [head, auxiliary head, DeepLabV3+ early map]. */
function headWidths(backbone: string): readonly [number, number, number] {
  return backbone === 'resnet18' || backbone === 'resnet34' ? [128, 64, 12] : [512, 256, 48];
}

/** MMSegmentation's ResNet: deep stem (V1c) unless the name ends in "b" (V1), stride 8 by dilation. */
export function mmsegResnet({ spec, w }: Run): ((t: Tape, image: Tensor) => readonly Tensor[]) | undefined {
  const depth = Object.entries(DEPTHS).find(([name]) => name === spec.backbone)?.[1];
  if (depth === undefined) return undefined;
  const stride = w.outputStride ?? optionNumber(spec, 'outputStride', 8);
  const multiGrid = optionNumbers(spec, 'multiGrid', []);
  const options: ResNetOptions = {
    depth,
    stem: optionText(spec, 'stem', 'v1c') === 'v1' ? 'plain' : 'deep',
    strides: [1, 2, stride === 8 ? 1 : 2, stride === 32 ? 2 : 1],
    dilations: [1, 1, stride === 8 ? 2 : 1, stride === 32 ? 1 : stride === 8 ? 4 : 2],
    contractDilation: true,
    checkpoint: w.gradientCheckpointing,
    ...(multiGrid.length > 0 ? { multiGrid } : {}),
  };
  return (t, image) => t.freeze(w.frozenBackbone, () => resnet(t, image, options).stages);
}

function classicHead(run: Run, channels: number, early: number): Head {
  const { numClasses } = run.w;
  const stride = run.w.outputStride ?? optionNumber(run.spec, 'outputStride', 8);
  const dilations = stride === 8 ? [1, 12, 24, 36] : [1, 6, 12, 18];
  switch (run.spec.architecture) {
    case 'pspnet':
      return pspHead({ index: -1, channels, numClasses });
    case 'deeplabv3':
      return asppHead({ index: -1, channels, numClasses, dilations });
    case 'deeplabv3plus':
      return separableAsppHead({ index: -1, channels, numClasses, dilations, earlyChannels: early });
    default:
      return fcnHead({ index: -1, channels, numClasses, convs: 2, concatInput: true });
  }
}

function classicSegmentor(run: Run): Segmentor {
  const [channels, auxiliary, early] = headWidths(run.spec.backbone ?? 'resnet50');
  const backbone = mmsegResnet(run);
  if (backbone === undefined) throw new RangeError(`no backbone ${run.spec.backbone}`);
  const { numClasses } = run.w;
  const withAuxiliary = run.w.auxiliaryHead ?? true;
  return {
    backbone,
    decodeHead: classicHead(run, channels, early),
    auxiliaryHeads: withAuxiliary
      ? [fcnHead({ index: 2, channels: auxiliary, numClasses, convs: 1, concatInput: false })]
      : [],
  };
}

export const classicNetworks: Readonly<Record<string, Network>> = Object.fromEntries(
  ['fcn', 'pspnet', 'deeplabv3', 'deeplabv3plus'].map((architecture) => [
    `mmseg/${architecture}`,
    encoderDecoder(classicSegmentor),
  ]),
);

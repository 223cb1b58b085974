import { asppHead, separableAsppHead } from './mmseg-aspp-head.ts';
import { mmsegBackbone, mmsegOutputStride } from './mmseg-backbones.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import type { Head } from './mmseg-head.ts';
import { isBasicResnet, lookUp } from './mmseg-names.ts';
import { pspHead } from './mmseg-psp-head.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { type Network, optionBoolean, optionNumbers, type Run } from './network.ts';

/** Widths that the configs scale with the backbone: head, auxiliary head, DeepLabV3+'s early map. */
function headWidths(run: Run): { channels: number; auxiliary: number; early: number } {
  return isBasicResnet(run)
    ? { channels: 128, auxiliary: 64, early: 12 }
    : { channels: 512, auxiliary: 256, early: 48 };
}

/** FCNHead on one map after stage 3, as nearly all dilated networks have it. */
export function stageThreeAuxiliary(run: Run): readonly Head[] {
  if (run.w.auxiliaryHead === false) return [];
  const channels = headWidths(run).auxiliary;
  return [fcnHead({ index: 2, channels, numClasses: run.w.numClasses, convs: 1, concatInput: false })];
}

function classicHead(run: Run): Head {
  const { channels, early } = headWidths(run);
  const { numClasses } = run.w;
  const dilations = mmsegOutputStride(run, 8) === 8 ? [1, 12, 24, 36] : [1, 6, 12, 18];
  const common = { index: -1, channels, numClasses } as const;
  switch (run.spec.architecture) {
    case 'pspnet':
      return pspHead(common);
    case 'deeplabv3':
      return asppHead({ ...common, dilations });
    case 'deeplabv3plus':
      return separableAsppHead({ ...common, dilations, earlyChannels: early });
    default:
      return fcnHead({ ...common, convs: 2, concatInput: true });
  }
}

const KNOWN = ['resnet', 'resnest', 'mobilenet-v2'];

function classicSegmentor(run: Run): Segmentor {
  const { spec } = run;
  if (spec.architecture === 'fcn' && spec.backbone?.startsWith('hrnet') === true) return hrnetSegmentor(run);
  // The official multi-grid configs also train on hard pixels only.
  const hardPixels = optionBoolean(spec, 'ohem', optionNumbers(spec, 'multiGrid', []).length > 0);
  return {
    backbone: mmsegBackbone(run, KNOWN),
    decodeHead: classicHead(run),
    auxiliaryHeads: stageThreeAuxiliary(run),
    ...(hardPixels ? { hardPixels: 'loss' } : {}),
  };
}

/** FCN on HRNet: all maps joined at stride 4, one 1×1 convolution of the same width, no dropout, no auxiliary head. */
function hrnetSegmentor(run: Run): Segmentor {
  return {
    backbone: mmsegBackbone(run, ['hrnet']),
    decodeHead: hrnetFcnHead(run),
    auxiliaryHeads: [],
  };
}

const WIDTHS = {
  'hrnet-w18-small': 18,
  'hrnet-w18': 18,
  'hrnet-w32': 32,
  'hrnet-w40': 40,
  'hrnet-w48': 48,
  'hrnet-w64': 64,
};

export function hrnetFcnHead({ spec, w }: Run): Head {
  const channels = 15 * (lookUp(WIDTHS, spec.backbone) ?? 18);
  const { numClasses } = w;
  return fcnHead({ index: 'all', channels, numClasses, convs: 1, concatInput: false, kernel: 1, dropout: 0 });
}

export const classicNetworks: Readonly<Record<string, Network>> = Object.fromEntries(
  ['fcn', 'pspnet', 'deeplabv3', 'deeplabv3plus'].map((architecture) => [
    `mmseg/${architecture}`,
    encoderDecoder(classicSegmentor),
  ]),
);

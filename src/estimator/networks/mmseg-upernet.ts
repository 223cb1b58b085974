import { AppError } from '../../errors.ts';
import { type Backbone, mmsegResnetOptions } from './mmseg-backbones.ts';
import { beit, featurePyramid } from './mmseg-beit.ts';
import { mmsegConvNext } from './mmseg-convnext.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import { lookUp } from './mmseg-names.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { mmsegSwin } from './mmseg-swin.ts';
import { mmsegTwins } from './mmseg-twins.ts';
import { uperHead } from './mmseg-uper-head.ts';
import { multiLevelNeck, VITS, visionTransformer } from './mmseg-vit.ts';
import { type Network, optionBoolean, optionNumber, type Run } from './network.ts';
import { resnet } from './resnet.ts';

/** Backbones that UPerNet configs use; each answers for its own names. */
const BACKBONES: readonly ((run: Run) => Backbone | undefined)[] = [
  resnetBackbone,
  mmsegSwin,
  mmsegConvNext,
  beitBackbone,
  vitBackbone,
  mmsegTwins,
];

function resnetBackbone(run: Run): Backbone | undefined {
  const options = mmsegResnetOptions(run, 32);
  if (options === undefined) return undefined;
  return (t, image) => t.freeze(run.w.frozenBackbone, () => resnet(t, image, options).stages);
}

/** Plain ViT: four of its layers; the DeiT configs and those with a final norm use stochastic depth 0.1. */
function vitBackbone({ spec, w }: Run): Backbone | undefined {
  const variant = lookUp(VITS, spec.backbone);
  if (variant === undefined) return undefined;
  const [width, layers, heads] = variant;
  const finalNorm = optionBoolean(spec, 'finalNorm', false);
  const side = optionNumber(spec, 'imageSize', 512);
  const options = {
    ...{ width, layers, heads, patch: 16, imageHeight: side, imageWidth: side, classToken: true, finalNorm },
    outIndices: [1, 2, 3, 4].map((quarter) => (layers / 4) * quarter - 1),
    dropPathRate: finalNorm || spec.backbone?.startsWith('deit') === true ? 0.1 : 0,
    resizeMode: 'bicubic' as const,
    checkpoint: w.gradientCheckpointing,
  };
  return (t, image) => t.freeze(w.frozenBackbone, () => visionTransformer(t, image, options));
}

/** [width, layers, heads, layers handed out, stochastic depth]: configs/beit of MMSegmentation 1.2. */
const BEITS: Readonly<Record<string, readonly [number, number, number, readonly number[], number]>> = {
  'beit-b': [768, 12, 12, [3, 5, 7, 11], 0.1],
  'beit-l': [1024, 24, 16, [7, 11, 15, 23], 0.2],
};
/** configs/mae of MMSegmentation 1.2: BEiT's layers with absolute positions too. */
const MAE: (typeof BEITS)[string] = [768, 12, 12, [3, 5, 7, 11], 0.1];

function isMae({ spec }: Run): boolean {
  return spec.options['pretraining'] === 'mae' && spec.backbone === 'vit-b/16';
}

function pyramidVariant(run: Run): (typeof BEITS)[string] | undefined {
  return isMae(run) ? MAE : lookUp(BEITS, run.spec.backbone);
}

function beitBackbone(run: Run): Backbone | undefined {
  const variant = pyramidVariant(run);
  if (variant === undefined) return undefined;
  const [width, layers, heads, outIndices, dropPathRate] = variant;
  const options = { width, layers, heads, outIndices, dropPathRate, masked: isMae(run) };
  return (t, image) => t.freeze(run.w.frozenBackbone, () => beit(t, image, options));
}

/** Plain transformers hand out equal maps; a neck makes a pyramid of them. */
function neckOf(run: Run): Pick<Segmentor, 'neck'> {
  const { spec } = run;
  if (pyramidVariant(run) !== undefined) return { neck: featurePyramid };
  const vit = lookUp(VITS, spec.backbone);
  if (vit !== undefined && spec.options['neck'] === 'mln')
    return { neck: (t, features) => multiLevelNeck(t, features, vit[0]) };
  return {};
}

/** UPerNet of MMSegmentation 1.2: 512 channels on every backbone, FCN auxiliary head on the third map. */
function upernetSegmentor(run: Run): Segmentor {
  const { spec, w } = run;
  const backbone = BACKBONES.map((build) => build(run)).find((built) => built !== undefined);
  if (backbone === undefined) {
    throw new AppError('unknown-backbone', `UPerNet is not known on ${spec.backbone ?? 'no backbone'}`, {
      details: { architecture: 'upernet', backbone: spec.backbone ?? '' },
    });
  }
  const vit = lookUp(VITS, spec.backbone);
  const { numClasses } = w;
  const auxiliary = fcnHead({
    index: vit === undefined || isMae(run) ? 2 : 3,
    channels: 256,
    numClasses,
    convs: 1,
    concatInput: false,
  });
  const beitWidth = pyramidVariant(run)?.[0];
  return {
    backbone,
    ...neckOf(run),
    decodeHead: uperHead({ channels: beitWidth ?? 512, numClasses }),
    auxiliaryHeads: (w.auxiliaryHead ?? true) ? [auxiliary] : [],
  };
}

export const mmsegUpernet: Readonly<Record<string, Network>> = { 'mmseg/upernet': encoderDecoder(upernetSegmentor) };

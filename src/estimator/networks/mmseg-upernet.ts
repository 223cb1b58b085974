import { AppError } from '../../errors.ts';
import { type Backbone, mmsegResnetOptions } from './mmseg-backbones.ts';
import { mmsegConvNext } from './mmseg-convnext.ts';
import { fcnHead } from './mmseg-heads.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { mmsegSwin } from './mmseg-swin.ts';
import { uperHead } from './mmseg-uper-head.ts';
import type { Network, Run } from './network.ts';
import { resnet } from './resnet.ts';

/** Backbones that UPerNet configs use; each answers for its own names. */
const BACKBONES: readonly ((run: Run) => Backbone | undefined)[] = [resnetBackbone, mmsegSwin, mmsegConvNext];

function resnetBackbone(run: Run): Backbone | undefined {
  const options = mmsegResnetOptions(run, 32);
  if (options === undefined) return undefined;
  return (t, image) => t.freeze(run.w.frozenBackbone, () => resnet(t, image, options).stages);
}

/** UPerNet of MMSegmentation 1.2: 512 channels (128 on small ResNets), FCN auxiliary head on the third map. */
function upernetSegmentor(run: Run): Segmentor {
  const { spec, w } = run;
  const backbone = BACKBONES.map((build) => build(run)).find((built) => built !== undefined);
  if (backbone === undefined) {
    throw new AppError('unknown-backbone', `UPerNet is not known on ${spec.backbone ?? 'no backbone'}`, {
      details: { architecture: 'upernet', backbone: spec.backbone ?? '' },
    });
  }
  const small = spec.backbone === 'resnet18';
  const { numClasses } = w;
  const auxiliary = fcnHead({ index: 2, channels: small ? 64 : 256, numClasses, convs: 1, concatInput: false });
  return {
    backbone,
    decodeHead: uperHead({ channels: small ? 128 : 512, numClasses }),
    auxiliaryHeads: (w.auxiliaryHead ?? true) ? [auxiliary] : [],
  };
}

export const mmsegUpernet: Readonly<Record<string, Network>> = { 'mmseg/upernet': encoderDecoder(upernetSegmentor) };

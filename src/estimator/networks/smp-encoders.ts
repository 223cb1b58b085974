import type { Encoder, EncoderTable } from './encoder.ts';
import { densenetEncoders } from './encoder-densenet.ts';
import { dpnEncoders } from './encoder-dpn.ts';
import { efficientnetEncoders } from './encoder-efficientnet.ts';
import { inceptionResnetEncoders } from './encoder-inception-resnet.ts';
import { inceptionV4Encoders } from './encoder-inception-v4.ts';
import { mitEncoders } from './encoder-mit.ts';
import { mobilenetV2Encoders } from './encoder-mobilenet-v2.ts';
import { mobileoneEncoders } from './encoder-mobileone.ts';
import { resnetEncoders } from './encoder-resnet.ts';
import { senetEncoders } from './encoder-senet.ts';
import { timmConvnextEncoders } from './encoder-timm-convnext.ts';
import { timmEfficientnetEncoders } from './encoder-timm-efficientnet.ts';
import { timmHrnetEncoders } from './encoder-timm-hrnet.ts';
import { timmMaxvitEncoders } from './encoder-timm-maxvit.ts';
import { timmMobileEncoders } from './encoder-timm-mobile.ts';
import { timmRegnetEncoders } from './encoder-timm-regnet.ts';
import { timmResnetEncoders } from './encoder-timm-resnet.ts';
import { timmSwinEncoders } from './encoder-timm-swin.ts';
import { vggEncoders } from './encoder-vgg.ts';
import { xceptionEncoders } from './encoder-xception.ts';

/** Encoders by the name that segmentation_models_pytorch 0.6.0 gives them; `tu-` ones are timm 1.0.31. */
const ENCODERS: EncoderTable = {
  ...densenetEncoders,
  ...dpnEncoders,
  ...efficientnetEncoders,
  ...inceptionResnetEncoders,
  ...inceptionV4Encoders,
  ...mitEncoders,
  ...mobilenetV2Encoders,
  ...mobileoneEncoders,
  ...resnetEncoders,
  ...senetEncoders,
  ...timmEfficientnetEncoders,
  ...timmMobileEncoders,
  ...timmConvnextEncoders,
  ...timmResnetEncoders,
  ...timmHrnetEncoders,
  ...timmRegnetEncoders,
  ...timmSwinEncoders,
  ...timmMaxvitEncoders,
  ...vggEncoders,
  ...xceptionEncoders,
};

export function findEncoder(name: string): Encoder | undefined {
  const plain = name.startsWith('tu-') ? name.replace(/\.[\w.]+$/, '') : name;
  return Object.hasOwn(ENCODERS, plain) ? ENCODERS[plain] : undefined;
}

/** Names that begin like the given one, for a refusal that helps. */
export function knownEncoders(name: string): readonly string[] {
  const stem = /^(?:tu-|timm-)?[a-z]+/.exec(name)?.[0] ?? name;
  const near = Object.keys(ENCODERS).filter((known) => known.startsWith(stem));
  return near.length > 0 ? near : Object.keys(ENCODERS).slice(0, 12);
}

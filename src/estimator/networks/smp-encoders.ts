import type { Encoder, EncoderTable } from './encoder.ts';
import { resnetEncoders } from './encoder-resnet.ts';

/** Encoders by the name that segmentation_models_pytorch 0.6.0 gives them; `tu-` ones are timm 1.0.31. */
const ENCODERS: EncoderTable = { ...resnetEncoders };

export function findEncoder(name: string): Encoder | undefined {
  return ENCODERS[name];
}

/** Names that begin like the given one, for a refusal that helps. */
export function knownEncoders(name: string): readonly string[] {
  const stem = /^(?:tu-|timm-)?[a-z]+/.exec(name)?.[0] ?? name;
  const near = Object.keys(ENCODERS).filter((known) => known.startsWith(stem));
  return near.length > 0 ? near : Object.keys(ENCODERS).slice(0, 12);
}

import { concat } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock } from './blocks.ts';
import { feature, type HeadOptions } from './mmseg-feature.ts';
import { classify, type Head } from './mmseg-head.ts';

export interface FcnHeadOptions extends HeadOptions {
  readonly convs: number;
  readonly concatInput: boolean;
  readonly kernel?: number;
}

/** FCNHead: n convolutions, optionally joined with the input. */
export function fcnHead(options: FcnHeadOptions): Head {
  return (t, features) =>
    classify(t, fcnFeature(t, feature(t, features, options.index), options), options.numClasses, options.dropout);
}

export function fcnFeature(t: Tape, x: Tensor, { convs, concatInput, channels, kernel = 3 }: FcnHeadOptions): Tensor {
  const padding = Math.floor(kernel / 2);
  const hidden = t.call('convs', x, () => {
    let out = x;
    for (let index = 0; index < convs; index += 1)
      out = convBlock(t, `${index}`, out, { out: channels, kernel, padding });
    return out;
  });
  if (!concatInput) return hidden;
  const joined = concat(t, [x, hidden], 1);
  t.keep(hidden);
  return convBlock(t, 'conv_cat', joined, { out: channels, kernel, padding });
}

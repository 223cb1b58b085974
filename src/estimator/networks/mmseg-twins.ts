import type { Backbone } from './mmseg-backbones.ts';
import { lookUp } from './mmseg-names.ts';
import type { Run } from './network.ts';
import { type TwinsOptions, twins } from './twins.ts';

type Variant = Pick<TwinsOptions, 'widths' | 'heads' | 'depths'>;

const PCPVT = { widths: [64, 128, 320, 512], heads: [1, 2, 5, 8] };

/** configs/twins of MMSegmentation 1.2. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  'twins-pcpvt-s': { ...PCPVT, depths: [3, 4, 6, 3] },
  'twins-pcpvt-b': { ...PCPVT, depths: [3, 4, 18, 3] },
  'twins-pcpvt-l': { ...PCPVT, depths: [3, 8, 27, 3] },
  'twins-svt-s': { widths: [64, 128, 256, 512], heads: [2, 4, 8, 16], depths: [2, 2, 10, 4] },
  'twins-svt-b': { widths: [96, 192, 384, 768], heads: [3, 6, 12, 24], depths: [2, 2, 18, 2] },
  'twins-svt-l': { widths: [128, 256, 512, 1024], heads: [4, 8, 16, 32], depths: [2, 2, 18, 2] },
};

/** Twins as a backbone of UPerNet and Semantic FPN; the original has no gradient checkpointing. */
export function mmsegTwins({ spec, w }: Run): Backbone | undefined {
  const variant = lookUp(VARIANTS, spec.backbone);
  if (variant === undefined) return undefined;
  const local = spec.backbone?.startsWith('twins-svt') === true;
  const ratios = local ? [4, 4, 4, 4] : [8, 8, 4, 4];
  const options = { ...variant, ratios, local, dropPathRate: dropPathRate(spec.backbone ?? '', spec.architecture) };
  return (t, image) => t.freeze(w.frozenBackbone, () => twins(t, image, options));
}

/** 0.2, and 0.3 in the larger configs. */
function dropPathRate(backbone: string, architecture: string): number {
  if (backbone === 'twins-svt-l') return 0.3;
  return architecture === 'upernet' && (backbone === 'twins-pcpvt-b' || backbone === 'twins-pcpvt-l') ? 0.3 : 0.2;
}

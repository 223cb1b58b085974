import type { Tensor } from '../tape/storage.ts';
import { HF_RESNETS, hfResnetBackbone } from './hf-resnet.ts';
import { HF_SWINS, hfSwinBackbone } from './hf-swin.ts';
import { lookUp, unknownBackbone } from './mmseg-names.ts';
import { optionNumber, type Run } from './network.ts';

/** Stochastic depth of the Swin backbones of the mask classifiers (Mask2FormerConfig, MaskFormerConfig). */
const DROP_PATH = 0.3;

/** Maps at strides 4, 8, 16, 32 of the backbones that the mask classifiers of transformers are built on. */
export function hfMaskBackbone(run: Run, image: Tensor): readonly Tensor[] {
  const { t, spec, w } = run;
  const depth = lookUp(HF_RESNETS, spec.backbone);
  if (depth !== undefined) return hfResnetBackbone(t, image, depth);
  const swin = lookUp(HF_SWINS, spec.backbone);
  if (swin === undefined) throw unknownBackbone(run, [...Object.keys(HF_SWINS), ...Object.keys(HF_RESNETS)]);
  const [width, depths, heads] = swin;
  return hfSwinBackbone(t, image, {
    ...{ width, depths, heads, window: optionNumber(spec, 'window', 7), dropPathRate: DROP_PATH },
    ...{ attention: w.attention, checkpoint: w.gradientCheckpointing },
  });
}

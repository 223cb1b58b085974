import { CONVNEXTS, convNext } from './convnext.ts';
import type { Backbone } from './mmseg-backbones.ts';
import { lookUp } from './mmseg-names.ts';
import type { Run } from './network.ts';

/** ConvNeXt under MMSegmentation's UPerNet: stochastic depth 0.4, checkpointed by block. */
export function mmsegConvNext({ spec, w }: Run): Backbone | undefined {
  const variant = lookUp(CONVNEXTS, spec.backbone);
  if (variant === undefined) return undefined;
  const [depths, channels] = variant;
  const options = { depths, channels, dropPathRate: 0.4, checkpoint: w.gradientCheckpointing };
  return (t, image) => t.freeze(w.frozenBackbone, () => convNext(t, image, options));
}

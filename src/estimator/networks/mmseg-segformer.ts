import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { mixTransformer } from './mit.ts';
import { classify, type Head } from './mmseg-head.ts';
import { encoderDecoder } from './mmseg-segmentor.ts';
import type { Network, Run } from './network.ts';

/** [first width, blocks per stage]: SegFormer paper, table 6. */
const VARIANTS: Readonly<Record<string, readonly [number, readonly number[]]>> = {
  'mit-b0': [32, [2, 2, 2, 2]],
  'mit-b1': [64, [2, 2, 2, 2]],
  'mit-b2': [64, [3, 4, 6, 3]],
  'mit-b3': [64, [3, 4, 18, 3]],
  'mit-b4': [64, [3, 8, 27, 3]],
  'mit-b5': [64, [3, 6, 40, 3]],
};

/** MMSegmentation's backbone of SegFormer: stochastic depth 0.1, checkpointed by encoder layer. */
export function mmsegMit({ spec, w }: Run): ((t: Run['t'], image: Tensor) => readonly Tensor[]) | undefined {
  const variant = VARIANTS[spec.backbone ?? ''];
  if (variant === undefined) return undefined;
  const options = { width: variant[0], depths: variant[1], dropPathRate: 0.1, checkpoint: w.gradientCheckpointing };
  return (t, image) => t.freeze(w.frozenBackbone, () => mixTransformer(t, image, options));
}

/** SegformerHead: 256 channels for every size, 1×1 convolutions with BatchNorm, maps resized to stride 4. */
function segformerHead(numClasses: number): Head {
  return (t, features) => {
    const first = features[0];
    const outputs = features.map((x, index) =>
      resize(t, convBlock(t, `convs.${index}`, x, { out: 256, kernel: 1 }), sizeOf(first ?? x)),
    );
    const joined = concat(t, outputs, 1);
    const fused = convBlock(t, 'fusion_conv', joined, { out: 256, kernel: 1 });
    const logits = classify(t, fused, numClasses);
    t.keep(...outputs);
    return logits;
  };
}

export const mmsegSegformer: Readonly<Record<string, Network>> = {
  'mmseg/segformer': encoderDecoder((run) => {
    const backbone = mmsegMit(run);
    if (backbone === undefined) throw new RangeError(`no backbone ${run.spec.backbone}`);
    return { backbone, decodeHead: segformerHead(run.w.numClasses), auxiliaryHeads: [] };
  }),
};

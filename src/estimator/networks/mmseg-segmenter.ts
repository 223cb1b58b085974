import { AppError } from '../../errors.ts';
import { linear, matmul } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat, slice } from '../tape/ops-parts.ts';
import { contiguous, expand, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { l2Norm } from './l2-norm.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import { feature } from './mmseg-feature.ts';
import type { Head } from './mmseg-head.ts';
import { lookUp } from './mmseg-names.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { encoderLayer, VITS, visionTransformer } from './mmseg-vit.ts';
import { type Network, optionNumber, optionText, type Run } from './network.ts';

/** Mask transformer: class tokens join the patches for two layers; masks are products of patches and classes. */
function maskHead(options: { width: number; heads: number; numClasses: number; checkpoint: boolean }): Head {
  const { width, heads, numClasses } = options;
  return (t, features) => {
    const map = feature(t, features, -1);
    const [batch = 1, channels = 1, height = 1, rows = 1] = map.shape;
    const tokens = reshape(t, contiguous(t, permute(t, map, [0, 2, 3, 1])), [batch, height * rows, channels]);
    const projected = t.within('dec_proj', () => linear(t, tokens, width));
    const classes = expand(t, t.param(1, numClasses, width), [batch, numClasses, width]);
    let x = concat(t, [projected, classes], 1);
    for (const rate of [0, 0.1]) x = encoderLayer(t, x, { heads, rate, dropRate: 0, checkpoint: false });
    const normalised = layerNorm(t, x);
    const patches = t.within('patch_proj', () =>
      linear(t, slice(t, normalised, 1, height * rows), width, { bias: false }),
    );
    const queries = t.within('classes_proj', () =>
      linear(t, slice(t, normalised, 1, numClasses), width, { bias: false }),
    );
    const left = l2Norm(t, patches, 2);
    const right = l2Norm(t, queries, 2);
    const masks = layerNorm(t, matmul(t, left, transpose(t, right, 1, 2)));
    const logits = reshape(t, contiguous(t, permute(t, masks, [0, 2, 1])), [batch, numClasses, height, rows]);
    t.keep(normalised, classes, left, right);
    return logits;
  };
}

function segmenterSegmentor(run: Run): Segmentor {
  const { spec, w } = run;
  const variant = lookUp(VITS, spec.backbone);
  if (variant === undefined)
    throw new AppError('unknown-backbone', `Segmenter is built on a plain ViT, not ${spec.backbone}`, {
      details: { architecture: 'segmenter', known: Object.keys(VITS) },
    });
  const [width, layers, heads] = variant;
  const side = optionNumber(spec, 'imageSize', spec.backbone === 'vit-l/16' ? 640 : 512);
  const vit = {
    ...{ width, layers, heads, patch: 16, imageHeight: side, imageWidth: side, outIndices: [layers - 1] },
    ...{ dropPathRate: 0.1, classToken: true, finalNorm: true, resizeMode: 'bicubic' as const },
    checkpoint: w.gradientCheckpointing,
  };
  const mask = optionText(spec, 'head', 'mask') === 'mask';
  const { numClasses } = w;
  return {
    backbone: (t: Tape, image: Tensor) => t.freeze(w.frozenBackbone, () => visionTransformer(t, image, vit)),
    decodeHead: mask
      ? maskHead({ width, heads, numClasses, checkpoint: w.gradientCheckpointing })
      : fcnHead({ index: -1, channels: width, numClasses, convs: 0, concatInput: false, dropout: 0 }),
    auxiliaryHeads: [],
  };
}

/** Segmenter of MMSegmentation 1.2 (Strudel et al. 2021): mask transformer or linear decoder, no auxiliary head. */
export const mmsegSegmenter: Readonly<Record<string, Network>> = {
  'mmseg/segmenter': encoderDecoder(segmenterSegmentor),
};

import { add, cast, shift } from '../tape/ops-core.ts';
import { mean } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { deformablePixelDecoder } from './deformable-pixel-decoder.ts';
import { detrDecoder, imageSize } from './detr-mask-decoder.ts';
import { maskLosses } from './mask-losses.ts';
import { truthOfInstances } from './mask-matching.ts';
import { type MaskPredictions, maskedAttentionDecoder } from './masked-attention-decoder.ts';
import { maskBackbone, semanticMap } from './mmseg-mask2former.ts';
import { type Network, optionNumber, type Run, trainingImage } from './network.ts';

const LAYERS = 9;

/** Each loss averaged, then added up one after the other (mmengine's parse_losses). */
function averagedSum(t: Tape, losses: readonly Tensor[]): Tensor {
  const [first, ...rest] = losses;
  if (first === undefined) throw new RangeError('no losses');
  const total = rest.reduce((sum, loss) => add(t, sum, mean(t, loss, [], false)), shift(t, mean(t, first, [], false)));
  t.keep(...losses);
  return total;
}

type Forward = (t: Tape, maps: readonly Tensor[], run: Run) => MaskPredictions;

/** Deformable attention runs in fp32 in the official code, whatever autocast says (pixel_decoder/msdeformattn.py). */
function mask2former(t: Tape, maps: readonly Tensor[], { spec, w }: Run): MaskPredictions {
  const options = { queries: optionNumber(spec, 'numQueries', 100), layers: LAYERS, numClasses: w.numClasses };
  const decode = (): ReturnType<typeof deformablePixelDecoder> =>
    deformablePixelDecoder(
      t,
      maps.map((map) => cast(t, map, 'float')),
    );
  const pixels = spec.implementation === 'detectron2' ? t.withoutAutocast(decode) : deformablePixelDecoder(t, maps);
  return maskedAttentionDecoder(t, pixels, options);
}

/** MMDetection's ResNet configs encode the coarsest map first; the official semantic ones and all on Swin do not. */
function maskformer(t: Tape, maps: readonly Tensor[], { spec, w }: Run): MaskPredictions {
  const encodes = spec.implementation === 'mmdetection' && spec.backbone?.startsWith('resnet') === true;
  const queries = optionNumber(spec, 'numQueries', 100);
  return detrDecoder(t, maps, { queries, numClasses: w.numClasses, encoderLayers: encodes ? 6 : 0 });
}

/**
 * Mask classifiers as detectors train them, on masks of instances. MMDetection 3.3: BatchNorm without trained scale, int64
 * targets. facebookresearch's Mask2Former and MaskFormer on detectron2 0.6: frozen statistics, targets as bytes.
 */
function maskClassifier(forward: Forward, by: 'points' | 'pixels'): Network {
  const backboneOf = (run: Run): ReturnType<typeof maskBackbone> =>
    maskBackbone(run, run.spec.implementation === 'detectron2' ? 'detectron2' : 'untrained');
  const features = (run: Run, image: Tensor): readonly Tensor[] => {
    const backbone = backboneOf(run);
    return run.t.call('backbone', image, () => backbone(run.t, image));
  };
  return {
    train: (run) => {
      const { t, w } = run;
      const official = run.spec.implementation === 'detectron2';
      const image = trainingImage(run);
      const maps = features(run, image);
      const losses = t.within('panoptic_head', () => {
        const predictions = t.call('', maps, () => forward(t, maps, run));
        const truth = truthOfInstances(t, {
          images: w.batchSize,
          count: w.instancesPerImage,
          height: w.imageHeight,
          width: w.imageWidth,
          widened: !official,
        });
        return maskLosses(t, predictions, truth, { by, style: official ? 'official' : 'mmdet' });
      });
      t.keep(...maps);
      return averagedSum(t, losses);
    },
    infer: (run, image) => {
      const maps = features(run, image);
      return run.t.within('panoptic_head', () => semanticMap(run.t, forward(run.t, maps, run), imageSize(maps)));
    },
  };
}

export const detectionMaskNetworks: Readonly<Record<string, Network>> = {
  'mmdetection/mask2former': maskClassifier(mask2former, 'points'),
  'mmdetection/maskformer': maskClassifier(maskformer, 'pixels'),
  'detectron2/mask2former': maskClassifier(mask2former, 'points'),
  'detectron2/maskformer': maskClassifier(maskformer, 'pixels'),
};

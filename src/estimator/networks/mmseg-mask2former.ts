import { sigmoid, softmax } from '../tape/ops-activation.ts';
import { bmm } from '../tape/ops-linear.ts';
import { slice } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { deformablePixelDecoder } from './deformable-pixel-decoder.ts';
import { imageSize } from './detr-mask-decoder.ts';
import { maskLosses } from './mask-losses.ts';
import { truthFromLabels } from './mask-matching.ts';
import { type MaskPredictions, maskedAttentionDecoder } from './masked-attention-decoder.ts';
import { type Backbone, mmsegResnetOptions } from './mmseg-backbones.ts';
import { unknownBackbone } from './mmseg-names.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { mmsegSwin } from './mmseg-swin.ts';
import { type Network, optionNumber, type Run } from './network.ts';
import { type ResNetOptions, resnet } from './resnet.ts';

/** Predictions after the first: decoder layers. */
const LAYERS = 9;

/** Plain-stem ResNet at stride 32, or Swin; `norm` as in the config of the family. */
export function maskBackbone(run: Run, norm: NonNullable<ResNetOptions['norm']>): Backbone {
  const swin = mmsegSwin(run);
  if (swin !== undefined) return swin;
  const plain = { ...run, spec: { ...run.spec, options: { ...run.spec.options, stem: 'v1' } } };
  const options = mmsegResnetOptions(plain, 32);
  if (options === undefined) throw unknownBackbone(run, ['resnet50', 'resnet101', 'swin']);
  return (t, image) => t.freeze(run.w.frozenBackbone, () => resnet(t, image, { ...options, norm }).stages);
}

/** `semantic inference`: masks at the image's size weighted by their class probabilities, B×K×H×W. */
export function semanticMap(t: Tape, predictions: MaskPredictions, size: readonly [number, number]): Tensor {
  const [classes] = predictions.classes.slice(-1);
  const [masks] = predictions.masks.slice(-1);
  if (classes === undefined || masks === undefined) throw new RangeError('no predictions');
  const [height, width] = size;
  const [batch = 1, queries = 1, all = 1] = classes.shape;
  const resized = resize(t, masks, size);
  const scores = slice(t, softmax(t, classes), -1, all - 1);
  const probability = sigmoid(t, resized);
  const flat = reshape(t, probability, [batch, queries, height * width]);
  const map = bmm(t, permute(t, scores, [0, 2, 1]), flat);
  t.keep(...predictions.classes, ...predictions.masks, resized, scores, probability);
  return reshape(t, map, [batch, all - 1, height, width]);
}

function mask2former(run: Run): Segmentor {
  const { spec, w } = run;
  const options = { queries: optionNumber(spec, 'numQueries', 100), layers: LAYERS, numClasses: w.numClasses };
  const forward = (t: Tape, maps: readonly Tensor[]): MaskPredictions =>
    t.call('', maps, () => maskedAttentionDecoder(t, deformablePixelDecoder(t, maps), options));
  return {
    backbone: maskBackbone(run, 'untrained'),
    decodeHead: (t, maps) => semanticMap(t, forward(t, maps), imageSize(maps)),
    decodeLosses: (t, maps, label) => {
      const truth = truthFromLabels(t, label, w.instancesPerImage);
      const predictions = forward(t, maps);
      return { losses: maskLosses(t, predictions, truth, { by: 'points', style: 'mmdet' }), accuracies: [] };
    },
    auxiliaryHeads: [],
  };
}

export const mask2formerNetworks: Readonly<Record<string, Network>> = {
  'mmseg/mask2former': encoderDecoder(mask2former),
};

import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { crossEntropy } from '../tape/ops-loss.ts';
import { groupNorm } from '../tape/ops-norm.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { detector, detectorFeatures } from './mask-rcnn.ts';
import { type Network, optionNumber, type Run, trainingImage } from './network.ts';

const CHANNELS = 128;
const GROUPS = 32;
/** COCO panoptic: 53 kinds of stuff, and one for all things (SEM_SEG_HEAD.NUM_CLASSES of detectron2 0.6). */
const STUFF_CLASSES = 54;

/**
 * SemSegFPNHead (Kirillov et al. 2019; detectron2 0.6): every map is convolved and doubled until it has the finest size, all
 * are added, then classified. B×K×H/4×W/4.
 */
function semanticLogits(t: Tape, features: readonly Tensor[], classes: number): Tensor {
  return t.call('sem_seg_head', features, () => {
    const [first, ...rest] = features.map((map, level) => t.call(`p${level + 2}`, map, () => scaleHead(t, map, level)));
    if (first === undefined) throw new RangeError('no feature maps');
    const sum = rest.reduce((total, map) => add(t, total, map), first);
    return t.within('predictor', () => conv2d(t, sum, { out: classes, kernel: 1, bias: true }));
  });
}

function scaleHead(t: Tape, map: Tensor, level: number): Tensor {
  let x = map;
  for (let step = 0; step < Math.max(1, level); step += 1) {
    x = relu(t, groupNorm(t, conv2d(t, x, { out: CHANNELS, kernel: 3, padding: 1 }), GROUPS), false);
    const [height, width] = sizeOf(x);
    if (level > 0) x = resize(t, x, [2 * height, 2 * width]);
  }
  return x;
}

/** Logits four times as large against the label map, mean over its pixels. */
function semanticLoss(t: Tape, features: readonly Tensor[], { w }: Run, classes: number): Tensor {
  const logits = semanticLogits(t, features, classes);
  const target = t.target([w.batchSize, w.imageHeight, w.imageWidth], 'long');
  const [height, width] = sizeOf(logits);
  const resized = resize(t, logits, [4 * height, 4 * width]);
  const loss = crossEntropy(t, resized, target);
  t.keep(resized);
  return loss;
}

/** SemanticSegmentor with a Semantic FPN head, detectron2 0.6. */
const semanticFpn: Network = {
  train: (run) => {
    const { t, w } = run;
    const image = trainingImage(run);
    const features = detectorFeatures(run, image);
    const loss = semanticLoss(t, features, run, w.numClasses);
    t.keep(image, ...features);
    return loss;
  },
  infer: (run, image) => semanticLogits(run.t, detectorFeatures(run, image), run.w.numClasses),
};

/** Panoptic FPN: Mask R-CNN and a semantic head on one pyramid (detectron2 0.6; MMDetection 3.3 builds the same head). */
const panopticFpn = detector({
  extraLoss: (t, features, run) =>
    semanticLoss(t, features, run, optionNumber(run.spec, 'stuffClasses', STUFF_CLASSES)),
});

export const detectionSemanticNetworks: Readonly<Record<string, Network>> = {
  'detectron2/semantic-fpn': semanticFpn,
  'detectron2/panoptic-fpn': panopticFpn,
  'mmdetection/panoptic-fpn': panopticFpn,
};

import { AppError } from '../../errors.ts';
import { relu } from '../tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { constant } from '../tape/ops-core.ts';
import { linear } from '../tape/ops-linear.ts';
import { binaryCrossEntropy, crossEntropy } from '../tape/ops-loss.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { flatten } from '../tape/ops-shape.ts';
import type { BackwardRule, Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { detectionPyramid } from './fpn.ts';
import { lookUp } from './mmseg-names.ts';
import { type Network, optionBoolean, optionNumber, optionText, type Run } from './network.ts';
import { gatherRows, regionProposalLoss, smoothL1, sumOf } from './region-proposals.ts';
import { type ResNetOptions, resnet } from './resnet.ts';

/** RoIs per image that the box head sees in training. */
const SAMPLED_ROIS = 512;
/** Small kernels an image in matching, sampling and suppression, each followed by a copy to the host (torchvision 0.28, counted from its source; calibrated in docs/estimator.md). */
const WAITING_LAUNCHES = 740;
/** Detections an image that evaluation keeps. */
const DETECTIONS = 100;
const CHANNELS = 256;

type Variant = Pick<ResNetOptions, 'depth' | 'groups' | 'widthPerGroup'>;

const VARIANTS: Readonly<Record<string, Variant>> = {
  resnet50: { depth: 50 },
  resnet101: { depth: 101 },
  resnext101_32x4d: { depth: 101, groups: 32, widthPerGroup: 4 },
  resnext101_32x8d: { depth: 101, groups: 32, widthPerGroup: 8 },
  resnext101_64x4d: { depth: 101, groups: 64, widthPerGroup: 4 },
};

interface Design {
  /** BatchNorm in pyramid and heads, two RPN convolutions, a convolutional box head (torchvision's v2). */
  readonly normalised: boolean;
  readonly norm: NonNullable<ResNetOptions['norm']>;
  /** Stem and the first n stages are not trained. */
  readonly frozenStages: number;
}

/**
 * torchvision: BatchNorm and everything trained with `weights_backbone=None`; else frozen statistics and
 * `5 − trainable_backbone_layers` frozen parts. detectron2: frozen statistics; MMDetection 3.3: BatchNorm in evaluation
 * mode, whose scale is trained and which keeps its input as in training; stem and first stage frozen in both.
 */
function designOf({ spec, w }: Run): Design {
  const normalised = optionText(spec, 'version', 'v1') === 'v2';
  const own = spec.implementation === 'torchvision';
  const pretrained = optionBoolean(spec, 'pretrainedBackbone', true) || optionBoolean(spec, 'pretrained', false);
  const trainable = optionNumber(spec, 'trainableBackboneLayers', 3);
  const norm = w.norm === 'batch' || w.norm === 'frozen' ? w.norm : usualNorm(spec, pretrained && !normalised);
  const usual = !own ? 1 : pretrained ? 4 - trainable : -1;
  return { normalised, norm, frozenStages: w.frozenBackbone ? 4 : (w.frozenStages ?? usual) };
}

function usualNorm({ implementation }: Run['spec'], frozen: boolean): Design['norm'] {
  if (implementation === 'detectron2') return 'detectron2';
  return implementation === 'torchvision' && frozen ? 'frozen' : 'batch';
}

/** Images are normalised and copied into a padded batch; the original list and masks at the network's size stay alive. */
function batchImages(t: Tape, w: Run['w']): { batch: Tensor; held: Tensor[] } {
  const held: Tensor[] = [];
  for (let image = 0; image < w.batchSize; image += 1) {
    t.target([3, w.imageHeight, w.imageWidth], 'float');
    t.target([w.instancesPerImage, 4], 'float');
    t.target([w.instancesPerImage], 'long');
    t.target([w.instancesPerImage, w.imageHeight, w.imageWidth], 'byte');
    const masks = constant(t, 'to', [w.instancesPerImage, 1, w.imageHeight, w.imageWidth], 'float');
    const resized = constant(t, 'upsample_nearest2d', masks.shape, 'float');
    t.keep(masks);
    held.push(constant(t, 'to', [w.instancesPerImage, w.imageHeight, w.imageWidth], 'byte'));
    t.keep(resized);
  }
  const padded = (side: number): number => Math.ceil(side / 32) * 32;
  const images = Array.from({ length: w.batchSize }, () =>
    constant(t, 'upsample_bilinear2d', [3, w.imageHeight, w.imageWidth], 'float'),
  );
  const batch = constant(
    t,
    'new_full',
    [w.batchSize, w.inputChannels, padded(w.imageHeight), padded(w.imageWidth)],
    'float',
  );
  t.keep(...images);
  return { batch, held };
}

/** RoIAlign over the levels: keeps boxes, not features; backward fills gradients of all levels. */
export function roiAlign(t: Tape, features: readonly Tensor[], size: { rois: number; side: number }): Tensor {
  const boxes = constant(t, 'cat', [size.rois, 5], 'float');
  t.begin('roi_align', features);
  const shape = [size.rois, CHANNELS, size.side, size.side];
  const dtype = features[0]?.dtype ?? 'float';
  const storage = t.allocate(shape, dtype);
  t.work('resample', dtype === 'half', { macs: 0, bytes: 5 * storage.bytes });
  const rule: BackwardRule = (walk, node) => {
    for (const [index, input] of node.inputs.entries())
      if (input.edge !== null) walk.emit(index, walk.fresh(input.shape, input.dtype));
  };
  return t.result({ storage, shape, dtype }, { name: 'roi_align', inputs: features, saved: [boxes.storage], rule });
}

function convRelu(t: Tape, x: Tensor, normalised: boolean): Tensor {
  return t.call('', x, () => {
    const convolved = conv2d(t, x, { out: CHANNELS, kernel: 3, padding: 1, bias: !normalised });
    return relu(t, normalised ? batchNorm(t, convolved) : convolved);
  });
}

function boxLoss(t: Tape, features: readonly Tensor[], run: Run, design: Design): Tensor {
  const { w } = run;
  const rois = SAMPLED_ROIS * w.batchSize;
  let x = roiAlign(t, features, { rois, side: 7 });
  if (design.normalised) for (let index = 0; index < 4; index += 1) x = convRelu(t, x, true);
  let hidden = relu(t, linear(t, flatten(t, x, 1), 1024), false);
  if (!design.normalised) hidden = relu(t, linear(t, hidden, 1024), false);
  const background = run.spec.implementation === 'torchvision' ? 0 : 1;
  const scores = linear(t, hidden, w.numClasses + background);
  const deltas = linear(t, hidden, 4 * w.numClasses);
  const labels = constant(t, 'cat', [rois], 'long');
  const classification = crossEntropy(t, scores, labels);
  const regression = smoothL1(t, gatherRows(t, deltas, w.positiveRoisPerImage * w.batchSize));
  t.keep(scores, deltas);
  return sumOf(t, [classification, regression]);
}

/** Four convolutions, a transposed one, one mask per class; targets are cut from the masks image by image. */
function maskLoss(t: Tape, features: readonly Tensor[], run: Run, design: Design): Tensor {
  const { w } = run;
  const rois = w.positiveRoisPerImage * w.batchSize;
  let x = roiAlign(t, features, { rois, side: 14 });
  for (let index = 0; index < 4; index += 1) x = convRelu(t, x, design.normalised);
  const upsampled = relu(t, convTranspose2d(t, x, { out: CHANNELS, kernel: 2, stride: 2, bias: true }));
  const logits = conv2d(t, upsampled, { out: w.numClasses, kernel: 1, bias: true });
  for (let image = 0; image < w.batchSize; image += 1) {
    const masks = constant(t, 'to', [w.instancesPerImage, 1, w.imageHeight, w.imageWidth], 'float');
    constant(t, 'roi_align', [w.positiveRoisPerImage, 28, 28], 'float');
    t.keep(masks);
  }
  const target = constant(t, 'cat', [rois, 28, 28], 'float');
  const chosen = pickClass(t, logits, rois);
  const loss = binaryCrossEntropy(t, chosen, target);
  t.keep(logits);
  return loss;
}

function pickClass(t: Tape, logits: Tensor, rois: number): Tensor {
  const index = constant(t, 'arange', [rois], 'long');
  t.begin('index', [logits, index]);
  const shape = [rois, 28, 28];
  const storage = t.allocate(shape, logits.dtype);
  const rule: BackwardRule = (walk, node) => {
    const input = node.inputs[0];
    if (input !== undefined) walk.emit(0, walk.fresh(input.shape, input.dtype));
  };
  return t.result(
    { storage, shape, dtype: logits.dtype },
    { name: 'index', inputs: [logits], saved: [index.storage], rule },
  );
}

function pyramid(run: Run, images: Tensor, design: Design): readonly Tensor[] {
  const { t, spec } = run;
  const variant = lookUp(VARIANTS, spec.backbone);
  if (variant === undefined) {
    throw new AppError('unknown-backbone', `Mask R-CNN is not known on ${spec.backbone}`, {
      details: { architecture: 'maskrcnn', known: Object.keys(VARIANTS) },
    });
  }
  return t.call('backbone', images, () => {
    const options = {
      ...variant,
      stem: 'plain',
      strides: [1, 2, 2, 2],
      dilations: [1, 1, 1, 1],
      norm: design.norm,
      frozenStages: design.frozenStages,
      checkpoint: run.w.gradientCheckpointing,
    } as const;
    const { stages } = t.call('body', images, () => resnet(t, images, options));
    return detectionPyramid(t, stages, { channels: CHANNELS, norm: design.normalised });
  });
}

/** Losses beside those of boxes: of masks, and of whatever else shares the pyramid. */
export interface DetectorParts {
  readonly maskLoss?: (t: Tape, features: readonly Tensor[], run: Run) => Tensor;
  readonly extraLoss?: (t: Tape, features: readonly Tensor[], run: Run) => Tensor;
}

/** Mask R-CNN (He et al. 2017) with FPN: torchvision v1 and v2, detectron2 and MMDetection conventions. */
export const detector = (parts: DetectorParts): Network => ({
  train: (run) => {
    const { t, w } = run;
    t.works.waitingLaunches += WAITING_LAUNCHES * w.batchSize;
    const { batch, held } = batchImages(t, w);
    const design = designOf(run);
    const features = pyramid(run, batch, design);
    const proposals = {
      channels: CHANNELS,
      convs: design.normalised ? 2 : 1,
      instances: w.instancesPerImage,
      batch: w.batchSize,
    };
    const rpn = regionProposalLoss(t, features, proposals);
    const levels = features.slice(0, 4);
    const losses = t.within('roi_heads', () => [
      t.within('box_head', () => boxLoss(t, levels, run, design)),
      t.within('mask_head', () => parts.maskLoss?.(t, levels, run) ?? maskLoss(t, levels, run, design)),
    ]);
    const extra = parts.extraLoss === undefined ? [] : [parts.extraLoss(t, levels, run)];
    t.keep(batch, ...held, ...features);
    return sumOf(t, [...losses, rpn, ...extra]);
  },
  /** At most 100 detections an image go through the mask head. */
  infer: (run, image) => {
    const { t, w } = run;
    const design = designOf(run);
    const features = pyramid(run, image, design);
    let x = roiAlign(t, features.slice(0, 4), { rois: DETECTIONS * w.validationBatch, side: 14 });
    for (let index = 0; index < 4; index += 1) x = convRelu(t, x, design.normalised);
    const upsampled = relu(t, convTranspose2d(t, x, { out: CHANNELS, kernel: 2, stride: 2, bias: true }));
    conv2d(t, upsampled, { out: w.numClasses, kernel: 1, bias: true });
    t.keep(...features);
    return null;
  },
});

const maskRcnn = detector({});

/** FPN maps at strides 4, 8, 16, 32 as the detectors of the library make them. */
export function detectorFeatures(run: Run, images: Tensor): readonly Tensor[] {
  return pyramid(run, images, designOf(run)).slice(0, 4);
}

export const maskRcnnNetworks: Readonly<Record<string, Network>> = {
  'torchvision/maskrcnn': maskRcnn,
  'detectron2/maskrcnn': maskRcnn,
  'mmdetection/maskrcnn': maskRcnn,
};

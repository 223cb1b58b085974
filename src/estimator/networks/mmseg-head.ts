import { conv2d } from '../tape/ops-conv.ts';
import { dropout2d } from '../tape/ops-layers.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { type HeadLosses, type LossOptions, lossByFeature } from './mmseg-loss.ts';

/** Gives a head's low-resolution logits from the backbone's feature maps. */
export type Head = (t: Tape, features: readonly Tensor[]) => Tensor;

/** Forward and losses of a head in training. */
export type HeadTraining = (t: Tape, features: readonly Tensor[], target: Tensor) => HeadLosses;

/** `cls_seg`: channel dropout, then a 1×1 convolution with bias. */
export function classify(t: Tape, x: Tensor, numClasses: number, dropoutRatio = 0.1): Tensor {
  const dropped = dropout2d(t, x, dropoutRatio);
  return t.within('conv_seg', () => conv2d(t, dropped, { out: numClasses, kernel: 1, bias: true }));
}

/** A head with one output and losses on all its pixels. */
export function plainTraining(head: Head, options: LossOptions): HeadTraining {
  return (t, features, target) => lossByFeature(t, head(t, features), target, options);
}

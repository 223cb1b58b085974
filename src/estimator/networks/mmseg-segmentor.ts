import { add, reshape, scale, shift } from '../tape/ops-core.ts';
import { conv2d, dropout2d, mean, resize, sum } from '../tape/ops-layers.ts';
import { accuracy, crossEntropy } from '../tape/ops-loss.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { type Network, type Run, trainingImage } from './network.ts';

/** Gives a head's low-resolution logits from the backbone's feature maps. */
export type Head = (t: Tape, features: readonly Tensor[]) => Tensor;

export interface Segmentor {
  readonly backbone: (t: Tape, image: Tensor) => readonly Tensor[];
  readonly neck?: (t: Tape, features: readonly Tensor[]) => readonly Tensor[];
  readonly decodeHead: Head;
  readonly auxiliaryHeads: readonly Head[];
}

/** `cls_seg`: channel dropout, then a 1×1 convolution with bias. */
export function classify(t: Tape, x: Tensor, numClasses: number, dropoutRatio = 0.1): Tensor {
  const dropped = dropout2d(t, x, dropoutRatio);
  return t.within('conv_seg', () => conv2d(t, dropped, { out: numClasses, kernel: 1, bias: true }));
}

/** `BaseDecodeHead.loss_by_feat`: resize to the label, cross entropy averaged by hand, accuracy; the logits are held throughout. */
export function lossByFeature(t: Tape, logits: Tensor, target: Tensor): Tensor {
  const [batch = 1, , height = 1, width = 1] = target.shape;
  const resized = resize(t, logits, [height, width]);
  const label = reshape(t, target, [batch, height, width]);
  const map = crossEntropy(t, resized, label, false);
  const total = sum(t, map, [0, 1, 2], false);
  const average = scale(t, total);
  t.keep(map);
  const loss = scale(t, average);
  accuracy(t, resized, label);
  t.keep(resized, logits);
  return loss;
}

/** Backbone, heads and losses in the order of `EncoderDecoder.loss`; the feature maps live until the last loss. */
export function encoderDecoder(build: (run: Run) => Segmentor): Network {
  return {
    train: (run) => {
      const { t, w } = run;
      const model = build(run);
      const image = trainingImage(run);
      const target = t.target([w.batchSize, 1, w.imageHeight, w.imageWidth], 'long');
      const features = extract(t, model, image);
      const losses = [t.within('decode_head', () => headLoss(t, model.decodeHead, features, target))];
      model.auxiliaryHeads.forEach((head, index) => {
        const name = model.auxiliaryHeads.length === 1 ? 'auxiliary_head' : `auxiliary_head.${index}`;
        losses.push(t.within(name, () => headLoss(t, head, features, target)));
      });
      t.keep(...features);
      return sumOfMeans(t, losses);
    },
    infer: (run, image) => {
      const model = build(run);
      const features = extract(run.t, model, image);
      return run.t.within('decode_head', () => model.decodeHead(run.t, features));
    },
  };
}

/** `sum(loss.mean() for loss in losses)`, as mmengine's parse_losses does. */
export function sumOfMeans(t: Tape, losses: readonly Tensor[]): Tensor {
  let total: Tensor | undefined;
  for (const loss of losses) {
    const average = mean(t, loss, [], false);
    total = total === undefined ? shift(t, average) : add(t, total, average);
  }
  if (total === undefined) throw new RangeError('no loss');
  return total;
}

function extract(t: Tape, model: Segmentor, image: Tensor): readonly Tensor[] {
  const features = t.call('backbone', image, () => model.backbone(t, image));
  if (model.neck === undefined) return features;
  const { neck } = model;
  return t.call('neck', features, () => neck(t, features));
}

function headLoss(t: Tape, head: Head, features: readonly Tensor[], target: Tensor): Tensor {
  const logits = head(t, features);
  return t.within('loss', () => lossByFeature(t, logits, target));
}

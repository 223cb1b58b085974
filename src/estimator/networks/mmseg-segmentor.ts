import { add, shift } from '../tape/ops-core.ts';
import { mean, resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { type Head, type HeadTraining, plainTraining } from './mmseg-head.ts';
import type { HeadLosses, LossOptions } from './mmseg-loss.ts';
import { type Network, type Run, trainingImage } from './network.ts';

export interface Segmentor {
  readonly backbone: (t: Tape, image: Tensor) => readonly Tensor[];
  readonly neck?: (t: Tape, features: readonly Tensor[]) => readonly Tensor[];
  readonly decodeHead: Head;
  readonly auxiliaryHeads: readonly Head[];
  /** Forward and losses of a decode head that has several outputs; `decodeHead` is its inference. */
  readonly decodeLosses?: HeadTraining;
  /** Forward and losses of auxiliary heads that are more than cross entropy; instead of `auxiliaryHeads`. */
  readonly auxiliaryLosses?: readonly HeadTraining[];
  /** Pixel sampler of the decode head. */
  readonly hardPixels?: LossOptions['hardPixels'];
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
      const options = { loss: w.loss, ...(model.hardPixels === undefined ? {} : { hardPixels: model.hardPixels }) };
      const decodeLosses = model.decodeLosses ?? plainTraining(model.decodeHead, options);
      const parts = [t.within('decode_head', () => decodeLosses(t, features, target))];
      // Cross entropy of a single class is constant: whoever trains one class changes the loss of every head.
      const side = w.numClasses === 1 ? { loss: w.loss } : {};
      const auxiliary = model.auxiliaryLosses ?? model.auxiliaryHeads.map((head) => plainTraining(head, side));
      auxiliary.forEach((train, index) => {
        const name = auxiliary.length === 1 ? 'auxiliary_head' : `auxiliary_head.${index}`;
        parts.push(t.within(name, () => train(t, features, target)));
      });
      t.keep(...features);
      return sumOfLosses(t, parts);
    },
    infer: (run, image) => {
      const { t } = run;
      const model = build(run);
      const features = extract(t, model, image);
      const logits = t.within('decode_head', () => model.decodeHead(t, features));
      const resized = resize(t, logits, [image.shape[2] ?? 1, image.shape[3] ?? 1]);
      t.keep(...features, logits);
      return resized;
    },
  };
}

/** `sum(loss.mean() for loss in losses)`, as mmengine's parse_losses does; the dict of losses is alive meanwhile. */
function sumOfLosses(t: Tape, parts: readonly HeadLosses[]): Tensor {
  const losses = parts.flatMap((part) => part.losses);
  let total: Tensor | undefined;
  for (const loss of losses) {
    const average = mean(t, loss, [], false);
    total = total === undefined ? shift(t, average) : add(t, total, average);
  }
  if (total === undefined) throw new RangeError('no loss');
  t.keep(...losses, ...parts.flatMap((part) => part.accuracies));
  return total;
}

function extract(t: Tape, model: Segmentor, image: Tensor): readonly Tensor[] {
  const features = t.call('backbone', image, () => model.backbone(t, image));
  if (model.neck === undefined) return features;
  const { neck } = model;
  return t.call('neck', features, () => neck(t, features));
}

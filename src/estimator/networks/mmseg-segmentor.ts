import { add, shift } from '../tape/ops-core.ts';
import { conv2d, dropout2d, mean } from '../tape/ops-layers.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { LossName } from '../workload.ts';
import { type HeadLosses, type LossOptions, lossByFeature } from './mmseg-loss.ts';
import { type Network, type Run, trainingImage } from './network.ts';

/** Gives a head's low-resolution logits from the backbone's feature maps. */
export type Head = (t: Tape, features: readonly Tensor[]) => Tensor;

export interface Segmentor {
  readonly backbone: (t: Tape, image: Tensor) => readonly Tensor[];
  readonly neck?: (t: Tape, features: readonly Tensor[]) => readonly Tensor[];
  readonly decodeHead: Head;
  readonly auxiliaryHeads: readonly Head[];
  /** Forward and losses of a decode head that has several outputs; `decodeHead` is its inference. */
  readonly decodeLosses?: (t: Tape, features: readonly Tensor[], target: Tensor) => HeadLosses;
  /** Pixel sampler of the decode head. */
  readonly hardPixels?: LossOptions['hardPixels'];
}

/** `cls_seg`: channel dropout, then a 1×1 convolution with bias. */
export function classify(t: Tape, x: Tensor, numClasses: number, dropoutRatio = 0.1): Tensor {
  const dropped = dropout2d(t, x, dropoutRatio);
  return t.within('conv_seg', () => conv2d(t, dropped, { out: numClasses, kernel: 1, bias: true }));
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
      const decodeLosses = model.decodeLosses ?? plainLosses(model, w.loss);
      const parts = [t.within('decode_head', () => decodeLosses(t, features, target))];
      model.auxiliaryHeads.forEach((head, index) => {
        const name = model.auxiliaryHeads.length === 1 ? 'auxiliary_head' : `auxiliary_head.${index}`;
        parts.push(t.within(name, () => lossByFeature(t, head(t, features), target)));
      });
      t.keep(...features);
      return sumOfLosses(t, parts);
    },
    infer: (run, image) => {
      const model = build(run);
      const features = extract(run.t, model, image);
      return run.t.within('decode_head', () => model.decodeHead(run.t, features));
    },
  };
}

function plainLosses(model: Segmentor, loss: LossName): NonNullable<Segmentor['decodeLosses']> {
  const options = { loss, ...(model.hardPixels === undefined ? {} : { hardPixels: model.hardPixels }) };
  return (t, features, target) => lossByFeature(t, model.decodeHead(t, features), target, options);
}

/** `sum(loss.mean() for loss in losses)`, as mmengine's parse_losses does; the dict of losses is alive meanwhile. */
export function sumOfLosses(t: Tape, parts: readonly HeadLosses[]): Tensor {
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

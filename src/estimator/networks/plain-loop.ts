import { AppError } from '../../errors.ts';
import { add } from '../tape/ops-core.ts';
import { diceLoss } from '../tape/ops-dice.ts';
import { binaryCrossEntropy, crossEntropy } from '../tape/ops-loss.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { Workload } from '../workload.ts';
import { type Network, type Run, trainingImage } from './network.ts';

/** A model that returns logits of the image's size; the caller's loop computes the loss. */
export type LogitsModel = (run: Run, image: Tensor) => Tensor;

/** Losses that want a float target of the logits' shape: BCE, and Dice of one class. */
function wantsFloatTarget(w: Workload): boolean {
  return w.loss === 'bce' || w.loss === 'dice+bce' || (w.loss === 'dice' && w.numClasses === 1);
}

/** Target of a plain loop: int64 B×H×W, or float32 B×C×H×W for binary and multi-label losses (truth/README.md). */
export function plainTarget({ t, w }: Run): Tensor {
  const { batchSize, numClasses, imageHeight, imageWidth } = w;
  if (wantsFloatTarget(w)) return t.target([batchSize, numClasses, imageHeight, imageWidth], 'float');
  return t.target([batchSize, imageHeight, imageWidth], 'long');
}

/** The loss as plain training scripts write it; the logits are held until all its terms are done. */
export function plainLoss(t: Tape, logits: Tensor, target: Tensor, w: Workload): Tensor {
  checkSizes(logits, target);
  const loss = t.within('loss', () => lossTerms(t, logits, target, w));
  t.keep(logits);
  return loss;
}

/** A loss between maps of different sizes raises (smp.FPN with four encoder stages enlarges too much, for one). */
function checkSizes(logits: Tensor, target: Tensor): void {
  const [height, width] = logits.shape.slice(-2);
  const [wantedHeight, wantedWidth] = target.shape.slice(-2);
  if (height === wantedHeight && width === wantedWidth) return;
  throw new AppError('unsupported-combination', 'the logits do not have the size of the target', {
    details: { rule: 'unequal-sizes', logits: `${height}×${width}`, target: `${wantedHeight}×${wantedWidth}` },
  });
}

/** The terms of the caller's criterion, summed in the order in which their name lists them. */
export function lossTerms(t: Tape, logits: Tensor, target: Tensor, w: Workload): Tensor {
  switch (w.loss) {
    case 'cross-entropy':
      return crossEntropy(t, logits, target);
    case 'dice':
      return diceLoss(t, logits, target);
    case 'bce':
      return binaryCrossEntropy(t, logits, target);
    case 'cross-entropy+dice': {
      const entropy = crossEntropy(t, logits, target);
      return add(t, entropy, diceLoss(t, logits, target));
    }
    case 'dice+bce': {
      const dice = diceLoss(t, logits, target);
      return add(t, dice, binaryCrossEntropy(t, logits, target));
    }
  }
}

/** `loss = criterion(model(image), target)`; with `outputHeld` the loop keeps the logits through backward. */
export function plainLoop(model: LogitsModel): Network {
  return {
    train: (run) => {
      const { t, w } = run;
      const image = trainingImage(run);
      const target = plainTarget(run);
      const logits = model(run, image);
      const loss = plainLoss(t, logits, target, w);
      if (w.outputHeld) t.hold(logits);
      return loss;
    },
    infer: model,
  };
}

import { AppError } from '../../errors.ts';
import { add, constant, multiply, scale } from '../tape/ops-core.ts';
import { binaryCrossEntropy, crossEntropy } from '../tape/ops-loss.ts';
import { derived } from '../tape/ops-masks.ts';
import { mean, resize } from '../tape/ops-resize.ts';
import { reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { Workload } from '../workload.ts';
import { type Network, type Run, trainingImage } from './network.ts';

export interface SemanticOutput {
  readonly logits: Tensor;
  /** Auxiliary logits, if the model has such a head. */
  readonly auxiliary?: Tensor;
  /** What the output object of the backbone keeps alive until the model's forward returns. */
  readonly held: readonly Tensor[];
  /** The model has resized its logits itself, before the loss. */
  readonly atImageSize?: boolean;
  /** The auxiliary logits are resized after the main loss (BEiT), not before both. */
  readonly oneByOne?: boolean;
  /** The auxiliary loss is a local variable of its own (DPT). */
  readonly namesAuxiliaryLoss?: boolean;
}

/**
 * A transformers model for semantic segmentation that computes its loss: logits (and auxiliary ones) are resized to
 * the labels first, all of them alive, then cross entropy; one class is a BCE.
 */
export function hfSemanticModel(forward: (run: Run, image: Tensor) => SemanticOutput): Network {
  return {
    train: (run) => {
      const { t, w } = run;
      const image = trainingImage(run);
      const labels = t.target([w.batchSize, w.imageHeight, w.imageWidth], 'long');
      const output = forward(run, image);
      const loss = t.within('loss', () => semanticLoss(run, output, labels));
      t.keep(output.logits, ...output.held, ...(output.auxiliary === undefined ? [] : [output.auxiliary]));
      if (w.outputHeld) t.hold(output.logits);
      return loss;
    },
    infer: (run, image) => {
      const { logits, held } = forward(run, image);
      run.t.keep(...held);
      return logits;
    },
  };
}

/** Most models refuse to compute a loss for one class. */
export function refuseSingleClass({ numClasses }: Workload): void {
  if (numClasses > 1) return;
  throw new AppError('unsupported-combination', 'the library computes no loss for a single class: use 2', {
    details: { rule: 'two-classes', numClasses, least: 2 },
  });
}

function semanticLoss({ t, w }: Run, output: SemanticOutput, labels: Tensor): Tensor {
  const size = [w.imageHeight, w.imageWidth] as const;
  const toLabels = (logits: Tensor): Tensor => (output.atImageSize === true ? logits : resize(t, logits, size));
  const single = w.numClasses === 1;
  const lossOf = (logits: Tensor): Tensor =>
    single ? maskedBinaryLoss(t, logits, labels) : crossEntropy(t, logits, labels);
  const main = toLabels(output.logits);
  if (output.auxiliary === undefined) {
    const loss = lossOf(main);
    t.keep(main);
    return loss;
  }
  const early = output.oneByOne === true ? lossOf(main) : undefined;
  const auxiliary = toLabels(output.auxiliary);
  const mainLoss = early ?? lossOf(main);
  const auxiliaryLoss = lossOf(auxiliary);
  const loss = add(t, mainLoss, scale(t, auxiliaryLoss));
  if (output.namesAuxiliaryLoss === true) t.keep(auxiliaryLoss);
  t.keep(main, auxiliary);
  return loss;
}

/** SegFormer's loss of one class: BCE against labels as floats, times a float mask of valid pixels, then its mean. */
function maskedBinaryLoss(t: Tape, logits: Tensor, labels: Tensor): Tensor {
  const { shape } = labels;
  const positive = constant(t, 'ge', shape, 'byte');
  const known = constant(t, 'ne', shape, 'byte');
  const both = derived(t, 'and', [positive, known], { shape, dtype: 'byte' });
  const valid = derived(t, 'to', [both], { shape, dtype: 'float' });
  const single = reshape(t, logits, shape);
  const wanted = derived(t, 'to', [labels], { shape, dtype: 'float' });
  const values = binaryCrossEntropy(t, single, wanted, false);
  const loss = mean(t, multiply(t, values, valid), [0, 1, 2], false);
  t.keep(valid, values);
  return loss;
}

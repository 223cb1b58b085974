import { AppError } from '../../errors.ts';
import { relu, sigmoid } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply, scale } from '../tape/ops-core.ts';
import { adaptiveAveragePool, dropout } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { mobileNetV3Large } from './mobilenet-v3.ts';
import { type Network, optionBoolean, type Run, trainingImage } from './network.ts';
import { lossTerms, plainTarget } from './plain-loop.ts';
import { resnet } from './resnet.ts';

interface Features {
  readonly out: Tensor;
  readonly aux: Tensor;
}

const DEPTHS = { resnet50: 50, resnet101: 101 } as const;

function features(run: Run, image: Tensor): Features {
  const { t, spec, w } = run;
  return t.call('backbone', image, () =>
    t.freeze(w.frozenBackbone, () => {
      if (spec.backbone === 'mobilenet-v3-large') {
        const { low, high } = mobileNetV3Large(t, image);
        return { out: high, aux: low };
      }
      const depth = spec.backbone === 'resnet50' || spec.backbone === 'resnet101' ? DEPTHS[spec.backbone] : undefined;
      if (depth === undefined) throw unknownBackbone(run);
      const options = {
        depth,
        stem: 'plain',
        strides: [1, 2, 1, 1],
        dilations: [1, 1, 2, 4],
        contractDilation: true,
        frozenStages: w.frozenStages ?? -1,
      } as const;
      const { stages } = resnet(t, image, options);
      const [, , aux = image, out = image] = stages;
      return { out, aux };
    }),
  );
}

function unknownBackbone({ spec }: Run): AppError {
  return new AppError('unknown-backbone', `torchvision has no ${spec.architecture} on ${spec.backbone}`, {
    details: { architecture: spec.architecture, known: [...Object.keys(DEPTHS), 'mobilenet-v3-large'] },
  });
}

/** 3×3 convolution to a quarter of the channels, dropout, 1×1. */
function fcnHead(t: Tape, x: Tensor, numClasses: number): Tensor {
  return t.call('', x, () => {
    const hidden = relu(t, batchNorm(t, conv2d(t, x, { out: channelsOf(x) / 4, kernel: 3, padding: 1 })), false);
    return conv2d(t, dropout(t, hidden, 0.1), { out: numClasses, kernel: 1, bias: true });
  });
}

function convNormRelu(t: Tape, x: Tensor, options: { out: number; kernel: 1 | 3; dilation?: number }): Tensor {
  const { dilation = 1 } = options;
  return t.call('', x, () =>
    relu(t, batchNorm(t, conv2d(t, x, { ...options, padding: options.kernel === 3 ? dilation : 0 })), false),
  );
}

function deepLabHead(t: Tape, x: Tensor, numClasses: number): Tensor {
  return t.call('', x, () => {
    const pyramid = t.call('0', x, () => asppModule(t, x));
    const hidden = relu(t, batchNorm(t, conv2d(t, pyramid, { out: 256, kernel: 3, padding: 1 })), false);
    return conv2d(t, hidden, { out: numClasses, kernel: 1, bias: true });
  });
}

/** Branches stay alive through the projection. */
function asppModule(t: Tape, x: Tensor): Tensor {
  const branches = [convNormRelu(t, x, { out: 256, kernel: 1 })];
  for (const dilation of [12, 24, 36]) branches.push(convNormRelu(t, x, { out: 256, kernel: 3, dilation }));
  branches.push(
    t.call('', x, () => {
      const pooled = relu(t, batchNorm(t, conv2d(t, adaptiveAveragePool(t, x, 1), { out: 256, kernel: 1 })), false);
      return resize(t, pooled, sizeOf(x));
    }),
  );
  const joined = concat(t, branches, 1);
  const projected = t.call('project', joined, () =>
    dropout(t, relu(t, batchNorm(t, conv2d(t, joined, { out: 256, kernel: 1 })), false), 0.5),
  );
  t.keep(joined, ...branches);
  return projected;
}

/** `criterion(out) + 0.5 · criterion(aux)`; the result dictionary lives until both are done. */
function referenceLoss({ t, w }: Run, out: Tensor, aux: Tensor | undefined, target: Tensor): Tensor {
  return t.within('loss', () => {
    const main = lossTerms(t, out, target, w);
    const loss = aux === undefined ? main : add(t, main, scale(t, lossTerms(t, aux, target, w)));
    t.keep(out, ...(aux === undefined ? [] : [aux]));
    return loss;
  });
}

type ClassifierHead = (t: Tape, x: Tensor, numClasses: number) => Tensor;

/** Logits of both heads at image size, each enlarged before the next is computed; the third stage is kept for its head only. */
function simpleForward(run: Run, image: Tensor, head: ClassifierHead): { out: Tensor; aux: Tensor | undefined } {
  const { t, w, spec } = run;
  const maps = features(run, image);
  const size = sizeOf(image);
  const out = resize(
    t,
    t.within('classifier', () => head(t, maps.out, w.numClasses)),
    size,
  );
  t.keep(maps.out);
  if (!(w.auxiliaryHead ?? optionBoolean(spec, 'auxiliaryHead', false))) return { out, aux: undefined };
  const aux = t.within('aux_classifier', () => fcnHead(t, maps.aux, w.numClasses));
  const enlarged = resize(t, aux, size);
  t.keep(maps.out, maps.aux);
  return { out, aux: enlarged };
}

/** The auxiliary head runs in evaluation too. */
function simpleSegmentation(head: ClassifierHead): Network {
  return {
    train: (run) => {
      const image = trainingImage(run);
      const target = plainTarget(run);
      const { out, aux } = simpleForward(run, image, head);
      if (run.w.outputHeld) for (const held of aux === undefined ? [out] : [out, aux]) run.t.hold(held);
      return referenceLoss(run, out, aux, target);
    },
    infer: (run, image) => {
      const { out, aux } = simpleForward(run, image, head);
      if (aux !== undefined) run.t.keep(aux);
      return out;
    },
  };
}

/** LR-ASPP: a gated high-level map and a low-level one, each classified, summed. */
function lrasppHead(t: Tape, { low, high }: { low: Tensor; high: Tensor }, numClasses: number): Tensor {
  return t.call('classifier', [low, high], () => {
    const reduced = t.call('cbr', high, () => relu(t, batchNorm(t, conv2d(t, high, { out: 128, kernel: 1 }))));
    const gate = t.call('scale', high, () =>
      sigmoid(t, conv2d(t, adaptiveAveragePool(t, high, 1), { out: 128, kernel: 1 })),
    );
    const gated = multiply(t, reduced, gate);
    const resized = resize(t, gated, sizeOf(low));
    t.keep(gate);
    const fine = conv2d(t, low, { out: numClasses, kernel: 1, bias: true });
    return add(t, fine, conv2d(t, resized, { out: numClasses, kernel: 1, bias: true }));
  });
}

function lrasppLogits(run: Run, image: Tensor): Tensor {
  const maps = features(run, image);
  const logits = lrasppHead(run.t, { low: maps.aux, high: maps.out }, run.w.numClasses);
  const out = resize(run.t, logits, sizeOf(image));
  run.t.keep(maps.out, maps.aux);
  return out;
}

const lraspp: Network = {
  train: (run) => {
    const target = plainTarget(run);
    const out = lrasppLogits(run, trainingImage(run));
    if (run.w.outputHeld) run.t.hold(out);
    return referenceLoss(run, out, undefined, target);
  },
  infer: lrasppLogits,
};

/** torchvision 0.28 segmentation models (references/segmentation: cross entropy, auxiliary weight 0.5). */
export const torchvisionSegmentation: Readonly<Record<string, Network>> = {
  'torchvision/fcn': simpleSegmentation(fcnHead),
  'torchvision/deeplabv3': simpleSegmentation(deepLabHead),
  'torchvision/lraspp': lraspp,
};

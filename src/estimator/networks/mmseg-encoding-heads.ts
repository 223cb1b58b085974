import { relu, sigmoid, softmax } from '../tape/ops-activation.ts';
import { add, constant, multiply, scale } from '../tape/ops-core.ts';
import { linear, matmul } from '../tape/ops-linear.ts';
import { binaryCrossEntropy } from '../tape/ops-loss.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { square, subtract } from '../tape/ops-reduce.ts';
import { mean, sum } from '../tape/ops-resize.ts';
import { contiguous, expand, permute, reshape, transpose } from '../tape/ops-shape.ts';
import { elements, type Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { LossName } from '../workload.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { feature } from './mmseg-feature.ts';
import { classify, type Head, type HeadTraining } from './mmseg-head.ts';
import { lossByFeature } from './mmseg-loss.ts';

const CODES = 32;

/** Encoding layer: every pixel against 32 codewords, twice as a B×N×32×C difference (Zhang et al. 2018; MMSegmentation 1.2.2). */
function encode(t: Tape, map: Tensor): Tensor {
  const [batch = 1, channels = 1] = map.shape;
  const codewords = t.param(CODES, channels);
  const smoothing = t.param(CODES);
  return t.call('encoding.0', map, () => {
    const x = contiguous(t, transpose(t, reshape(t, map, [batch, channels, -1]), 1, 2));
    const pixels = x.shape[1] ?? 1;
    const expanded = (): Tensor =>
      expand(t, reshape(t, x, [batch, pixels, 1, channels]), [batch, pixels, CODES, channels]);
    const codes = (): Tensor => reshape(t, codewords, [1, 1, CODES, channels]);
    const factors = reshape(t, smoothing, [1, 1, CODES]);
    const distances = sum(t, square(t, subtract(t, expanded(), codes())), [3], false);
    const weights = softmax(t, multiply(t, factors, distances));
    const assigned = reshape(t, weights, [batch, pixels, CODES, 1]);
    const encoded = sum(t, multiply(t, assigned, subtract(t, expanded(), codes())), [1], false);
    t.keep(x, weights);
    return encoded;
  });
}

interface EncodingOutputs {
  readonly logits: Tensor;
  readonly encoded: Tensor;
}

/** EncModule: the encoding becomes one gate per channel. */
function encodingFeature(t: Tape, x: Tensor): { encoded: Tensor; out: Tensor } {
  return t.call('enc_module', x, () => {
    const [batch = 1, channels = 1] = x.shape;
    const projected = convBlock(t, 'encoding_project', x, { out: channels, kernel: 1 });
    const codes = relu(t, batchNorm(t, encode(t, projected)));
    const encoded = mean(t, codes, [1], false);
    const gamma = sigmoid(t, linear(t, encoded, channels));
    const out = relu(t, add(t, x, multiply(t, x, reshape(t, gamma, [batch, channels, 1, 1]))));
    t.keep(projected, encoded, gamma);
    return { encoded, out };
  });
}

function encodingOutputs(t: Tape, features: readonly Tensor[], options: EncodingOptions): EncodingOutputs {
  const x = convBlock(t, 'bottleneck', feature(t, features, -1), { out: options.channels, kernel: 3, padding: 1 });
  const { encoded, out } = encodingFeature(t, x);
  const logits = classify(t, out, options.numClasses);
  t.keep(x, encoded);
  return { logits, encoded };
}

export interface EncodingOptions {
  readonly channels: number;
  readonly numClasses: number;
}

export function encodingHead(options: EncodingOptions): Head {
  return (t, features) => encodingOutputs(t, features, options).logits;
}

/** EncHead in training: the pixel loss, and a loss on which classes occur in the image. */
export function encodingLosses(options: EncodingOptions, loss: LossName): HeadTraining {
  return (t, features, target) => {
    const { logits, encoded } = encodingOutputs(t, features, options);
    const scores = t.within('se_layer', () => linear(t, encoded, options.numClasses));
    const pixel = lossByFeature(t, logits, target, { loss });
    const presence = presenceLoss(t, scores, target);
    t.keep(logits, scores);
    return { losses: [...pixel.losses, presence], accuracies: pixel.accuracies };
  };
}

function presenceLoss(t: Tape, scores: Tensor, target: Tensor): Tensor {
  const [batch = 1, , height = 1, width = 1] = target.shape;
  const classes = scores.shape[1] ?? 1;
  const hot = constant(t, 'new_zeros', [batch, classes], 'long');
  for (let image = 0; image < batch; image += 1) {
    const pixels = constant(t, 'to', [height, width], 'float');
    const histogram = constant(t, 'histc', [classes], 'float');
    t.keep(pixels);
    constant(t, 'gt', [classes], 'byte');
    t.keep(histogram);
  }
  return scale(t, presenceEntropy(t, scores, hot));
}

function presenceEntropy(t: Tape, scores: Tensor, hot: Tensor): Tensor {
  const valid = constant(t, 'to', scores.shape, 'float');
  const truth = constant(t, 'to', scores.shape, 'float');
  const values = binaryCrossEntropy(t, scores, truth, false);
  const average = mean(t, multiply(t, values, valid), [0, 1], false);
  t.keep(hot, valid, values);
  return average;
}

const BASES = 64;
const STAGES = 3;

/** EMAModule: three expectation-maximisation rounds without gradient, then a reconstruction from the bases (Li et al. 2019). */
function expectationMaximization(t: Tape, x: Tensor): Tensor {
  const [batch = 1, channels = 1] = x.shape;
  t.buffer([1, channels, BASES]);
  return t.call('ema_module', x, () => {
    const pixels = reshape(t, x, [batch, channels, -1]);
    const count = pixels.shape[2] ?? 1;
    const { bases, attention } = rounds(t, pixels, { batch, channels, count });
    const recon = matmul(t, bases, permute(t, attention, [0, 2, 1]));
    // The moving average replaces the buffer, so the new one stays.
    if (t.training) t.hold(constant(t, 'add', [1, channels, BASES], 'float'));
    t.keep(bases, attention);
    return reshape(t, recon, [batch, channels, ...sizeOf(x)]);
  });
}

/** A batched matrix product without gradient. */
function product(t: Tape, shape: readonly number[], inner: number): Tensor {
  const out = constant(t, 'bmm', shape, t.autocast ? 'half' : 'float');
  t.work('matmul', t.autocast, { macs: elements(shape) * inner, bytes: out.storage.bytes });
  return out;
}

function rounds(
  t: Tape,
  pixels: Tensor,
  { batch, channels, count }: { batch: number; channels: number; count: number },
): { bases: Tensor; attention: Tensor } {
  let bases = constant(t, 'repeat', [batch, channels, BASES], 'float');
  let attention = bases;
  for (let stage = 0; stage < STAGES; stage += 1) {
    t.keep(pixels);
    const scores = product(t, [batch, count, BASES], channels);
    attention = constant(t, 'softmax', [batch, count, BASES], 'float');
    t.keep(scores);
    const normed = constant(t, 'div', [batch, count, BASES], 'float');
    const previous = bases;
    const raw = product(t, [batch, channels, BASES], count);
    t.keep(previous);
    bases = constant(t, 'div', [batch, channels, BASES], 'float');
    t.keep(raw, normed);
  }
  return { bases, attention };
}

/** EMAHead: a frozen middle convolution, reconstruction, residual, bottleneck, joined with the input. */
export function expectationHead({ numClasses }: { numClasses: number }): Head {
  return (t, features) => {
    const x = feature(t, features, -1);
    const identity = convBlock(t, 'ema_in_conv', x, { out: 512, kernel: 3, padding: 1 });
    const middle = t.freeze(true, () =>
      convBlock(t, 'ema_mid_conv', identity, { out: 512, kernel: 1, norm: false, activation: 'none' }),
    );
    const active = relu(t, expectationMaximization(t, middle));
    const recon = convBlock(t, 'ema_out_conv', active, { out: 512, kernel: 1, activation: 'none' });
    const output = relu(t, add(t, identity, recon));
    const narrowed = convBlock(t, 'bottleneck', output, { out: 256, kernel: 3, padding: 1 });
    const out = convBlock(t, 'conv_cat', concat(t, [x, narrowed], 1), { out: 256, kernel: 3, padding: 1 });
    const logits = classify(t, out, numClasses);
    t.keep(middle, recon, identity);
    return logits;
  };
}

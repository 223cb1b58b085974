import { AppError } from '../../errors.ts';
import { gelu, relu, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, scale } from '../tape/ops-core.ts';
import { dropout, maxPool } from '../tape/ops-layers.ts';
import { linear, matmul } from '../tape/ops-linear.ts';
import { batchNorm, groupNorm, layerNorm } from '../tape/ops-norm.ts';
import { concat, pad } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { contiguous, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import type { Network, Run } from './network.ts';
import { plainLoop } from './plain-loop.ts';
import { standardizedConv } from './standardized-conv.ts';

/** Units, output width of the three stages of the ResNet-50 part; the fourth is left out. */
const STAGES = [
  [3, 256],
  [4, 512],
  [9, 1024],
] as const;
const HIDDEN = 768;
const HEADS = 12;
const LAYERS = 12;

/** Bottleneck of weight-standardised convolutions and GroupNorm; the projection's norm has a group per channel. */
function unit(t: Tape, x: Tensor, { out, stride }: { out: number; stride: number }): Tensor {
  const width = out / 4;
  return t.call('', x, () => {
    const projected = stride !== 1 || channelsOf(x) !== out;
    const residual = projected ? groupNorm(t, standardizedConv(t, x, { out, kernel: 1, stride }), out) : x;
    const first = relu(t, groupNorm(t, standardizedConv(t, x, { out: width, kernel: 1 }), 32));
    const spatial = standardizedConv(t, first, { out: width, kernel: 3, stride, padding: 1 });
    const second = relu(t, groupNorm(t, spatial, 32));
    const third = groupNorm(t, standardizedConv(t, second, { out, kernel: 1 }), 32);
    const sum = relu(t, add(t, residual, third));
    t.keep(residual);
    return sum;
  });
}

/** Maps of the root and the first two stages as skips (zero-padded to an even share of the image), and the third stage. */
function resnetPart(t: Tape, image: Tensor): { deepest: Tensor; skips: readonly Tensor[] } {
  return t.call('hybrid_model', image, () => {
    const root = t.call('root', image, () =>
      relu(t, groupNorm(t, standardizedConv(t, image, { out: 64, kernel: 7, stride: 2, padding: 3 }), 32)),
    );
    const skips = [root];
    let x = maxPool(t, root, { kernel: 3, stride: 2 });
    STAGES.forEach(([count, out], stage) => {
      const input = x;
      x = t.call(`body.block${stage + 1}`, input, () => {
        let feature = input;
        for (let index = 0; index < count; index += 1) {
          feature = unit(t, feature, { out, stride: stage > 0 && index === 0 ? 2 : 1 });
        }
        return feature;
      });
      if (stage < 2) skips.push(evenMap(t, x, Math.floor(sizeOf(image)[0] / 4 / (stage + 1))));
    });
    t.keep(...skips);
    return { deepest: x, skips };
  });
}

/** The unpadded pooling loses a row: a zero map of the right size takes the values. */
function evenMap(t: Tape, x: Tensor, side: number): Tensor {
  const [height] = sizeOf(x);
  if (height === side) return x;
  return pad(t, x, [x.shape[0] ?? 1, channelsOf(x), side, side]);
}

function attention(t: Tape, x: Tensor): Tensor {
  const [batch = 1, tokens = 1] = x.shape;
  const size = HIDDEN / HEADS;
  return t.call('attn', x, () => {
    const project = (): Tensor => linear(t, x, HIDDEN);
    const split = (mixed: Tensor): Tensor => permute(t, reshape(t, mixed, [batch, tokens, HEADS, size]), [0, 2, 1, 3]);
    const [q, k, v] = [split(project()), split(project()), split(project())] as const;
    const scores = scale(t, matmul(t, q, transpose(t, k, -1, -2)));
    const weights = softmax(t, scores);
    t.keep(scores);
    const context = contiguous(t, permute(t, matmul(t, weights, v), [0, 2, 1, 3]));
    const out = linear(t, reshape(t, context, [batch, tokens, HIDDEN]), HIDDEN);
    t.keep(q, k, v, weights, context, scores);
    return out;
  });
}

function layer(t: Tape, x: Tensor): Tensor {
  return t.call('', x, () => {
    const attended = add(t, attention(t, layerNorm(t, x)), x);
    const normalized = layerNorm(t, attended);
    const expanded = t.call('ffn', normalized, () => {
      const hidden = dropout(t, gelu(t, linear(t, normalized, 4 * HIDDEN)), 0.1);
      return dropout(t, linear(t, hidden, HIDDEN), 0.1);
    });
    return add(t, expanded, attended);
  });
}

function transformer(t: Tape, deepest: Tensor): Tensor {
  const [batch = 1, , height = 1, width = 1] = deepest.shape;
  const patches = t.within('patch_embeddings', () => conv2d(t, deepest, { out: HIDDEN, kernel: 1, bias: true }));
  const tokens = transpose(t, flatten(t, patches, 2), -1, -2);
  const embedded = add(t, tokens, t.param(1, height * width, HIDDEN));
  let x = dropout(t, embedded, 0.1);
  t.keep(embedded, patches);
  for (let index = 0; index < LAYERS; index += 1) x = t.within(`encoder.layer.${index}`, () => layer(t, x));
  const encoded = layerNorm(t, x);
  const map = contiguous(t, permute(t, encoded, [0, 2, 1]));
  t.keep(encoded, x);
  return reshape(t, map, [batch, HIDDEN, height, width]);
}

function convRelu(t: Tape, x: Tensor, out: number): Tensor {
  return t.call('', x, () => relu(t, batchNorm(t, conv2d(t, x, { out, kernel: 3, padding: 1 }))));
}

function decoder(t: Tape, map: Tensor, skips: readonly Tensor[]): Tensor {
  let x = convRelu(t, map, 512);
  [256, 128, 64, 16].forEach((out, index) => {
    const input = x;
    const skip = skips[index];
    x = t.call(`decoder.blocks.${index}`, skip === undefined ? input : [input, skip], () => {
      const [height, width] = sizeOf(input);
      const enlarged = resize(t, input, [2 * height, 2 * width]);
      const joined = skip === undefined ? enlarged : concat(t, [enlarged, skip], 1);
      return convRelu(t, convRelu(t, joined, out), out);
    });
  });
  return x;
}

function transUnet({ t, w }: Run, image: Tensor): Tensor {
  const [height, width] = sizeOf(image);
  if (height !== width || height % 16 !== 0) {
    throw new AppError('unsupported-combination', 'TransUNet needs a square image with sides in multiples of 16', {
      details: { rule: 'square-multiple-of', height, width, multipleOf: 16 },
    });
  }
  return t.call('', image, () => {
    const { deepest, skips } = resnetPart(t, image);
    const map = transformer(t, deepest);
    const decoded = decoder(t, map, [...skips].reverse());
    const logits = t.call('segmentation_head', decoded, () =>
      conv2d(t, decoded, { out: w.numClasses, kernel: 3, padding: 1, bias: true }),
    );
    t.keep(...skips, decoded);
    return logits;
  });
}

/** TransUNet R50-ViT-B/16 (Beckschen/TransUNet, Chen et al. 2021): B×3×S×S → B×classes×S×S; position embeddings follow the size. */
export const transUnetNetworks: Readonly<Record<string, Network>> = { 'original/transunet': plainLoop(transUnet) };

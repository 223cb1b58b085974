import { relu, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, addInPlace, constant, multiply, unary } from '../tape/ops-core.ts';
import { matmul } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { mean } from '../tape/ops-resize.ts';
import { contiguous, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, convBlock, sizeOf } from './blocks.ts';
import { feature } from './mmseg-feature.ts';
import { classify, type Head } from './mmseg-head.ts';

/** A block between the two convolutions of an FCN head whose result is joined with its input. */
export type ContextBlock = (t: Tape, x: Tensor) => Tensor;

/** FCNHead with a block in the middle: NLHead, DNLHead, GCHead, CCHead of MMSegmentation 1.2.2. */
export function contextHead(
  block: ContextBlock,
  { channels, numClasses }: { channels: number; numClasses: number },
): Head {
  return (t, features) => {
    const x = feature(t, features, -1);
    const first = convBlock(t, 'convs.0', x, { out: channels, kernel: 3, padding: 1 });
    const second = convBlock(t, 'convs.1', block(t, first), { out: channels, kernel: 3, padding: 1 });
    const joined = concat(t, [x, second], 1);
    t.keep(second);
    const out = convBlock(t, 'conv_cat', joined, { out: channels, kernel: 3, padding: 1 });
    return classify(t, out, numClasses);
  };
}

const plain = { kernel: 1, norm: false, activation: 'none' } as const;

/** B×N×C view of a B×C×H×W map. */
function transposedTokens(t: Tape, x: Tensor): Tensor {
  return permute(t, reshape(t, x, [x.shape[0] ?? 1, channelsOf(x), -1]), [0, 2, 1]);
}

/** Back from B×N×C to B×C×H×W: a copy. */
function toMap(t: Tape, y: Tensor, size: readonly [number, number]): Tensor {
  const [batch = 1, , channels = 1] = y.shape;
  return reshape(t, contiguous(t, permute(t, y, [0, 2, 1])), [batch, channels, ...size]);
}

/** NonLocal2d, embedded Gaussian, half the channels inside (Wang et al. 2018; mmcv 2). */
export function nonLocalBlock(t: Tape, x: Tensor): Tensor {
  return t.call('nl_block', x, () => {
    const { g, theta, phi } = embeddings(t, x);
    const weights = softmax(t, unary(t, matmul(t, theta, phi), 'div_', { keeps: 'nothing', inPlace: true }));
    const y = toMap(t, matmul(t, weights, g), sizeOf(x));
    const out = add(t, x, convBlock(t, 'conv_out', y, { out: channelsOf(x), kernel: 1, activation: 'none' }));
    t.keep(g, theta, phi, weights, y);
    return out;
  });
}

function embeddings(t: Tape, x: Tensor): { g: Tensor; theta: Tensor; phi: Tensor } {
  const inner = { ...plain, out: Math.max(Math.floor(channelsOf(x) / 2), 1) };
  const g = transposedTokens(t, convBlock(t, 'g', x, inner));
  const theta = transposedTokens(t, convBlock(t, 'theta', x, inner));
  const phi = convBlock(t, 'phi', x, inner);
  return { g, theta, phi: reshape(t, phi, [phi.shape[0] ?? 1, channelsOf(phi), -1]) };
}

/** DisentangledNonLocal2d: whitened pairwise term plus one unary map (Yin et al. 2020). */
export function disentangledNonLocalBlock(t: Tape, x: Tensor): Tensor {
  return t.call('dnl_block', x, () => {
    const raw = embeddings(t, x);
    const { g } = raw;
    const theta = addInPlace(t, raw.theta, mean(t, raw.theta, [-2], true));
    const phi = addInPlace(t, raw.phi, mean(t, raw.phi, [-1], true));
    const weights = softmax(t, dividedByTensor(t, dividedByTensor(t, matmul(t, theta, phi))));
    const y = toMap(t, matmul(t, weights, g), sizeOf(x));
    const mask = conv2d(t, x, { out: 1, kernel: 1, bias: true });
    const unaryWeights = softmax(t, reshape(t, mask, [x.shape[0] ?? 1, 1, -1]));
    const unaryTerm = toMap(t, matmul(t, unaryWeights, g), [1, 1]);
    const sum = add(t, y, unaryTerm);
    const out = add(t, x, convBlock(t, 'conv_out', sum, { out: channelsOf(x), kernel: 1, activation: 'none' }));
    t.keep(g, theta, phi, weights, y, unaryWeights, unaryTerm);
    return out;
  });
}

/** In-place division by a scalar tensor, which is kept. */
function dividedByTensor(t: Tape, x: Tensor): Tensor {
  return multiply(t, x, constant(t, 'tensor', [], 'float'), { inPlace: true, name: 'div_' });
}

/** ContextBlock: attention pooling to one vector, a bottleneck of a quarter of the channels, added everywhere (Cao et al. 2019; mmcv 2). */
export function globalContextBlock(t: Tape, x: Tensor): Tensor {
  return t.call('gc_block', x, () => {
    const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
    const tokens = reshape(t, x, [batch, 1, channels, height * width]);
    const mask = reshape(t, conv2d(t, x, { out: 1, kernel: 1, bias: true }), [batch, 1, height * width]);
    const weights = reshape(t, softmax(t, mask), [batch, 1, height * width, 1]);
    const context = reshape(t, matmul(t, tokens, weights), [batch, channels, 1, 1]);
    const term = t.call('channel_add_conv', context, () => {
      const squeezed = conv2d(t, context, { out: Math.floor(channels / 4), kernel: 1, bias: true });
      const active = relu(t, layerNorm(t, squeezed, { axes: 3 }));
      return conv2d(t, active, { out: channels, kernel: 1, bias: true });
    });
    const out = add(t, x, term);
    t.keep(context, term);
    return out;
  });
}

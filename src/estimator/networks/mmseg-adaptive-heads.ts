import { relu, sigmoid } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { adaptiveAveragePool } from '../tape/ops-layers.ts';
import { matmul } from '../tape/ops-linear.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat, pad } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { contiguous, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { feature } from './mmseg-feature.ts';
import { classify, type Head } from './mmseg-head.ts';

const CHANNELS = 512;

/** Adaptive context module: every pixel weighs s×s pooled regions (He et al. 2019). */
function adaptiveContext(t: Tape, input: Tensor, side: number): Tensor {
  return t.call('', input, () => {
    const pooledInput = adaptiveAveragePool(t, input, side);
    const x = convBlock(t, 'input_redu_conv', input, { out: CHANNELS, kernel: 1 });
    const pooledMap = convBlock(t, 'pooled_redu_conv', pooledInput, { out: CHANNELS, kernel: 1 });
    const [batch = 1] = x.shape;
    const regions = contiguous(t, permute(t, reshape(t, pooledMap, [batch, CHANNELS, -1]), [0, 2, 1]));
    const affinity = sigmoid(t, affinities(t, x, side));
    const product = contiguous(t, permute(t, matmul(t, affinity, regions), [0, 2, 1]));
    const residual = convBlock(t, 'residual_conv', reshape(t, product, x.shape), { out: CHANNELS, kernel: 1 });
    const out = convBlock(t, 'fusion_conv', relu(t, add(t, residual, x), false), { out: CHANNELS, kernel: 1 });
    t.keep(x, regions, affinity);
    return out;
  });
}

function affinities(t: Tape, x: Tensor, side: number): Tensor {
  const average = adaptiveAveragePool(t, x, 1);
  const global = resize(t, convBlock(t, 'global_info', average, { out: CHANNELS, kernel: 1 }), sizeOf(x));
  const scores = conv2d(t, add(t, x, global), { out: side * side, kernel: 1, bias: true });
  return reshape(t, permute(t, scores, [0, 2, 3, 1]), [x.shape[0] ?? 1, -1, side * side]);
}

/** Dynamic convolution module: depthwise filters made from the image itself (He et al. 2019). */
function dynamicConvolution(t: Tape, input: Tensor, side: number): Tensor {
  return t.call('', input, () => {
    const pooled = adaptiveAveragePool(t, input, side);
    const filters = conv2d(t, pooled, { out: CHANNELS, kernel: 1, bias: true });
    const x = convBlock(t, 'input_redu_conv', input, { out: CHANNELS, kernel: 1 });
    const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
    const flat = reshape(t, x, [1, batch * channels, height, width]);
    const weight = reshape(t, filters, [batch * channels, 1, side, side]);
    const padded = pad(t, flat, [1, batch * channels, height + side - 1, width + side - 1]);
    const options = { out: batch * channels, kernel: side, groups: batch * channels } as const;
    const convolved = conv2d(t, padded, { ...options, shared: { weight, bias: null } });
    const out = relu(t, batchNorm(t, reshape(t, convolved, x.shape)), false);
    t.keep(filters, padded);
    return out;
  });
}

type Module = (t: Tape, x: Tensor, side: number) => Tensor;

function pyramidHead(numClasses: number, module: Module, sides: readonly number[], name: string): Head {
  return (t, features) => {
    const x = feature(t, features, -1);
    const outputs = sides.map((side, index) => t.within(`${name}.${index}`, () => module(t, x, side)));
    const joined = concat(t, [x, ...outputs], 1);
    const out = convBlock(t, 'bottleneck', joined, { out: CHANNELS, kernel: 3, padding: 1 });
    t.keep(joined);
    return classify(t, out, numClasses);
  };
}

/** APCHead of MMSegmentation 1.2.2. */
export const adaptivePyramidHead = (numClasses: number): Head =>
  pyramidHead(numClasses, adaptiveContext, [1, 2, 3, 6], 'acm_modules');

/** DMHead of MMSegmentation 1.2.2. */
export const dynamicFilterHead = (numClasses: number): Head =>
  pyramidHead(numClasses, dynamicConvolution, [1, 3, 5, 7], 'dcm_modules');

import { relu } from '../tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropout, maxPool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import type { Network, Run } from './network.ts';

const DROPOUT = 0.1;

function downsampler(t: Tape, x: Tensor, out: number): Tensor {
  return t.call('', x, () => {
    const convolved = conv2d(t, x, { out: out - channelsOf(x), kernel: 3, stride: 2, padding: 1, bias: true });
    const pooled = resize(t, maxPool(t, x, { kernel: 2, stride: 2 }), sizeOf(convolved));
    const joined = concat(t, [convolved, pooled], 1);
    const active = relu(t, batchNorm(t, joined), false);
    t.keep(convolved, pooled);
    return active;
  });
}

/** Two pairs of 3×1 and 1×3 convolutions, residual; activations are not in place. */
function nonBottleneck(t: Tape, x: Tensor, dropoutRatio: number, dilation: number): Tensor {
  return t.call('', x, () => {
    const first = relu(t, pairOfConvs(t, x, 1), false);
    const output = dropout(t, pairOfConvs(t, first, dilation), dropoutRatio);
    const sum = add(t, output, x);
    const active = relu(t, sum, false);
    t.keep(output);
    return active;
  });
}

function pairOfConvs(t: Tape, x: Tensor, dilation: number): Tensor {
  const out = channelsOf(x);
  const vertical = conv2d(t, x, { out, kernel: [3, 1], padding: [dilation, 0], dilation, bias: true });
  const active = relu(t, vertical, false);
  return batchNorm(t, conv2d(t, active, { out, kernel: [1, 3], padding: [0, dilation], dilation, bias: true }));
}

function upsampler(t: Tape, x: Tensor, out: number): Tensor {
  return t.call('', x, () => {
    const options = { out, kernel: 3, stride: 2, padding: 1, outputPadding: 1, bias: true } as const;
    return relu(t, batchNorm(t, convTranspose2d(t, x, options)), false);
  });
}

/** ERFNet (Romera et al. 2018; MMSegmentation 1.2.2): stride 8 encoder, decoder back to stride 2. */
function erfnetMap(t: Tape, image: Tensor): Tensor {
  const encoded = t.within('encoder', () => {
    let x = downsampler(t, downsampler(t, image, 16), 64);
    for (let block = 0; block < 5; block += 1) x = nonBottleneck(t, x, DROPOUT, 1);
    x = downsampler(t, x, 128);
    for (const dilation of [2, 4, 8, 16, 2, 4, 8, 16]) x = nonBottleneck(t, x, DROPOUT, dilation);
    return x;
  });
  return t.within('decoder', () => {
    let x = encoded;
    for (const out of [64, 16]) {
      x = upsampler(t, x, out);
      for (let block = 0; block < 2; block += 1) x = nonBottleneck(t, x, 0, 1);
    }
    return x;
  });
}

function erfnet({ w }: Run): Segmentor {
  return {
    backbone: (t, image) => t.freeze(w.frozenBackbone, () => [erfnetMap(t, image)]),
    decodeHead: fcnHead({ index: -1, channels: 128, numClasses: w.numClasses, convs: 1, concatInput: false }),
    auxiliaryHeads: [],
  };
}

export const erfnetNetworks: Readonly<Record<string, Network>> = { 'mmseg/erfnet': encoderDecoder(erfnet) };

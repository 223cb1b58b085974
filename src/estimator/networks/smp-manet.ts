import { relu, sigmoid, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { adaptiveAveragePool } from '../tape/ops-layers.ts';
import { bmm } from '../tape/ops-linear.ts';
import { concat } from '../tape/ops-parts.ts';
import { flatten, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import { type Network, optionNumber } from './network.ts';
import { convRelu, enlarge } from './smp-blocks.ts';
import { encoderRequest, smpModel } from './smp-model.ts';
import { type DecoderOptions, decoderOptions, refine } from './smp-unet.ts';

/** Position attention over all pixels of the deepest map: an (HW)² matrix. */
function positionAttention(t: Tape, x: Tensor, width: number): Tensor {
  const channels = channelsOf(x);
  const [batch = 1, , height = 1, columns = 1] = x.shape;
  const area = height * columns;
  return t.call('center', x, () => {
    const topMap = t.within('top_conv', () => conv2d(t, x, { out: width, kernel: 1, bias: true }));
    const centerMap = t.within('center_conv', () => conv2d(t, x, { out: width, kernel: 1, bias: true }));
    const bottomMap = t.within('bottom_conv', () => conv2d(t, x, { out: channels, kernel: 3, padding: 1, bias: true }));
    const top = flatten(t, topMap, 2);
    const center = transpose(t, flatten(t, centerMap, 2), 1, 2);
    const bottom = transpose(t, flatten(t, bottomMap, 2), 1, 2);
    const scores = softmax(t, reshape(t, bmm(t, center, top), [batch, area * area]));
    const attended = bmm(t, reshape(t, scores, [batch, area, area]), bottom);
    const sum = add(t, x, reshape(t, attended, [batch, channels, height, columns]));
    const out = t.within('out_conv', () => conv2d(t, sum, { out: channels, kernel: 3, padding: 1, bias: true }));
    t.keep(top, center, bottom, attended, sum);
    return out;
  });
}

function squeezeGate(t: Tape, name: string, x: Tensor): Tensor {
  const channels = channelsOf(x);
  return t.call(name, x, () => {
    const pooled = adaptiveAveragePool(t, x, 1);
    const out = Math.max(1, Math.floor(channels / 16));
    const reduced = relu(t, conv2d(t, pooled, { out, kernel: 1, bias: true }));
    return sigmoid(t, conv2d(t, reduced, { out: channels, kernel: 1, bias: true }));
  });
}

/** Multi-scale fusion: gates of the enlarged map and of the skip are added. */
function fusion(t: Tape, x: Tensor, skip: Tensor, options: DecoderOptions & { out: number }): Tensor {
  const { norm, mode, out } = options;
  const projected = t.call('hl_conv', x, () => {
    const first = convRelu(t, '0', x, { out: channelsOf(x), kernel: 3, norm });
    return convRelu(t, '1', first, { out: channelsOf(skip), kernel: 1, norm });
  });
  const enlarged = enlarge(t, projected, 2, mode);
  const high = squeezeGate(t, 'SE_hl', enlarged);
  const low = squeezeGate(t, 'SE_ll', skip);
  const gate = add(t, high, low);
  const joined = concat(t, [multiply(t, enlarged, gate), skip], 1);
  const refined = refine(t, joined, out, { ...options, gated: false });
  t.keep(low, gate);
  return refined;
}

function decoder(t: Tape, features: readonly Tensor[], options: DecoderOptions & { pab: number }): Tensor {
  const maps = features.slice(1).reverse();
  let x = positionAttention(t, maps[0] ?? t.input([1]), options.pab);
  options.channels.forEach((out, index) => {
    const input = x;
    const skip = maps[index + 1];
    x = t.call(`blocks.${index}`, skip === undefined ? input : [input, skip], () => {
      if (skip !== undefined && channelsOf(skip) > 0) return fusion(t, input, skip, { ...options, out });
      const enlarged = enlarge(t, input, 2, options.mode);
      const joined = skip === undefined ? enlarged : concat(t, [enlarged, skip], 1);
      return refine(t, joined, out, { ...options, gated: false });
    });
  });
  return x;
}

/** `smp.MAnet`: B×C×H×W → B×classes×H×W. */
export const smpManetNetworks: Readonly<Record<string, Network>> = {
  'smp/manet': smpModel((run) => {
    const request = encoderRequest(run, { depth: 5, outputStrides: [32] });
    const options = {
      ...decoderOptions(run, request.depth),
      attention: false,
      pab: optionNumber(run.spec, 'decoderPabChannels', 64),
    };
    return { request, decoder: (t, features) => decoder(t, features, options), kernel: 3, upsampling: 1 };
  }),
};

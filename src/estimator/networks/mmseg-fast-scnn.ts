import { relu } from '../tape/ops-activation.ts';
import { add } from '../tape/ops-core.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, separableBlock, sizeOf } from './blocks.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import { feature } from './mmseg-feature.ts';
import { classify, type Head, plainTraining } from './mmseg-head.ts';
import { invertedResidual } from './mmseg-mobilenet.ts';
import { pyramidPooling } from './mmseg-psp-head.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { sigmoidCrossEntropy } from './mmseg-sigmoid-loss.ts';
import type { Network, Run } from './network.ts';

function learningToDownsample(t: Tape, image: Tensor): Tensor {
  return t.call('learning_to_downsample', image, () => {
    const first = convBlock(t, 'conv', image, { out: 32, kernel: 3, stride: 2, padding: 1 });
    const second = separableBlock(t, 'dsconv1', first, { out: 48, stride: 2, depthwiseActivation: 'none' });
    return separableBlock(t, 'dsconv2', second, { out: 64, stride: 2, depthwiseActivation: 'none' });
  });
}

/** Output channels and stride of the three bottlenecks of three blocks each. */
const BOTTLENECKS = [
  [64, 2],
  [96, 2],
  [128, 1],
] as const;

function globalFeatures(t: Tape, input: Tensor): Tensor {
  return t.call('global_feature_extractor', input, () => {
    let x = input;
    for (const [stage, [out, stride]] of BOTTLENECKS.entries()) {
      const source = x;
      x = t.call(`bottleneck${stage + 1}`, source, () => bottleneck(t, source, out, stride));
    }
    const joined = concat(t, [x, ...pyramidPooling(t, x, { channels: 32 })], 1);
    return convBlock(t, 'out', joined, { out: 128, kernel: 3, padding: 1 });
  });
}

function bottleneck(t: Tape, source: Tensor, out: number, stride: number): Tensor {
  let x = source;
  for (let block = 0; block < 3; block += 1) {
    const input = x;
    const shape = { expansion: 6, out, stride: block === 0 ? stride : 1, dilation: 1, activation: 'relu' } as const;
    x = t.call(`${block}`, input, () => invertedResidual(t, input, shape));
  }
  return x;
}

function featureFusion(t: Tape, higher: Tensor, lower: Tensor): Tensor {
  return t.call('feature_fusion', [higher, lower], () => {
    const plain = { out: 128, kernel: 1, activation: 'none' } as const;
    const resized = resize(t, lower, sizeOf(higher));
    const depthwise = convBlock(t, 'dwconv', resized, { out: 128, kernel: 3, padding: 1, groups: 128 });
    const low = convBlock(t, 'conv_lower_res', depthwise, plain);
    const high = convBlock(t, 'conv_higher_res', higher, plain);
    const out = relu(t, add(t, high, low));
    t.keep(low, high);
    return out;
  });
}

/** DepthwiseSeparableFCNHead: two separable convolutions without an activation between depth and point. */
function separableFcnHead(numClasses: number): Head {
  return (t, features) => {
    const x = feature(t, features, -1);
    const hidden = t.call('convs', x, () => {
      const first = separableBlock(t, '0', x, { out: 128, depthwiseActivation: 'none' });
      return separableBlock(t, '1', first, { out: 128, depthwiseActivation: 'none' });
    });
    return classify(t, hidden, numClasses);
  };
}

/** Fast-SCNN (Poudel et al. 2019; MMSegmentation 1.2.2): three heads, each with a binary loss per class. */
function fastScnn({ w }: Run): Segmentor {
  const { numClasses } = w;
  const options = { terms: [sigmoidCrossEntropy] };
  const decodeHead = separableFcnHead(numClasses);
  const auxiliary = (index: number) =>
    plainTraining(fcnHead({ index, channels: 32, numClasses, convs: 1, concatInput: false }), options);
  return {
    backbone: (t, image) =>
      t.freeze(w.frozenBackbone, () => {
        const higher = learningToDownsample(t, image);
        const lower = globalFeatures(t, higher);
        const fused = featureFusion(t, higher, lower);
        t.keep(higher, lower);
        return [higher, lower, fused];
      }),
    decodeHead,
    decodeLosses: plainTraining(decodeHead, options),
    auxiliaryHeads: [],
    auxiliaryLosses: w.auxiliaryHead === false ? [] : [auxiliary(-2), auxiliary(-3)],
  };
}

export const fastScnnNetworks: Readonly<Record<string, Network>> = { 'mmseg/fast-scnn': encoderDecoder(fastScnn) };

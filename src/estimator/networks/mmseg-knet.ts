import { conv2d, convWeights } from '../tape/ops-conv.ts';
import { dropout2d } from '../tape/ops-layers.ts';
import { clone, expand, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { asppFeature } from './mmseg-aspp-head.ts';
import { type Backbone, mmsegResnetOptions } from './mmseg-backbones.ts';
import { stageThreeAuxiliary } from './mmseg-classic.ts';
import { fcnFeature } from './mmseg-fcn-head.ts';
import { feature } from './mmseg-feature.ts';
import { type Kernels, updateStage } from './mmseg-kernel-update.ts';
import { lossByFeature } from './mmseg-loss.ts';
import { unknownBackbone } from './mmseg-names.ts';
import { pspFeature } from './mmseg-psp-head.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { mmsegSwin } from './mmseg-swin.ts';
import { uperFeature } from './mmseg-uper-head.ts';
import { type Network, optionText, type Run } from './network.ts';
import { resnet } from './resnet.ts';

const CHANNELS = 512;
const STAGES = 3;

type FeatureMaker = (t: Tape, features: readonly Tensor[]) => Tensor;

/** The head that makes the first masks and kernels, without its classifier. */
function generator({ spec, w }: Run): FeatureMaker {
  const common = { index: -1, channels: CHANNELS, numClasses: w.numClasses } as const;
  switch (optionText(spec, 'head', 'upernet')) {
    case 'fcn':
      return (t, maps) => fcnFeature(t, feature(t, maps, -1), { ...common, convs: 2, concatInput: true });
    case 'pspnet':
      return (t, maps) => pspFeature(t, feature(t, maps, -1), CHANNELS);
    case 'deeplabv3':
      return (t, maps) => asppFeature(t, feature(t, maps, -1), { ...common, dilations: [1, 12, 24, 36] });
    default:
      return (t, maps) => uperFeature(t, maps, { channels: CHANNELS, numClasses: w.numClasses });
  }
}

/** Masks of all stages; the weights of the first classifier are the first kernels (Zhang et al. 2021; MMSegmentation 1.2.2). */
function iterate(t: Tape, maps: readonly Tensor[], make: FeatureMaker, numClasses: number): readonly Tensor[] {
  const features = t.within('kernel_generate_head', () => make(t, maps));
  const [batch = 1] = features.shape;
  const weights = convWeights(t, CHANNELS, { out: numClasses, kernel: 1, bias: true });
  const dropped = dropout2d(t, features, 0.1);
  const masks = conv2d(t, dropped, { out: numClasses, kernel: 1, shared: weights });
  const copied = clone(t, weights.weight);
  const kernels = expand(t, reshape(t, copied, [1, numClasses, CHANNELS, 1, 1]), [batch, numClasses, CHANNELS, 1, 1]);
  let state: Kernels = { masks, kernels };
  const all = [masks];
  for (let stage = 0; stage < STAGES; stage += 1) {
    const current = state;
    state = t.within(`kernel_update_head.${stage}`, () => updateStage(t, features, current));
    t.keep(current.kernels);
    all.push(state.masks);
  }
  t.keep(features, state.kernels, ...all);
  return all;
}

function knetBackbone(run: Run): Backbone {
  const { spec, w } = run;
  const pyramid = optionText(spec, 'head', 'upernet') === 'upernet';
  const swin = pyramid ? mmsegSwin(run) : undefined;
  if (swin !== undefined) return swin;
  const options = mmsegResnetOptions({ ...run, w: { ...w, outputStride: pyramid ? 32 : 8 } }, 32);
  if (options === undefined) throw unknownBackbone(run, ['resnet50', 'resnet101', 'swin (with head upernet)']);
  return (t, image) => t.freeze(w.frozenBackbone, () => resnet(t, image, options).stages);
}

function knet(run: Run): Segmentor {
  const { numClasses } = run.w;
  const make = generator(run);
  return {
    backbone: knetBackbone(run),
    decodeHead: (t, maps) => {
      const masks = iterate(t, maps, make, numClasses);
      return feature(t, masks, -1);
    },
    decodeLosses: (t, maps, target) => {
      const masks = iterate(t, maps, make, numClasses);
      const parts = masks.map((logits) => lossByFeature(t, logits, target, { loss: run.w.loss }));
      t.keep(...masks);
      return { losses: parts.flatMap((part) => part.losses), accuracies: parts.flatMap((part) => part.accuracies) };
    },
    auxiliaryHeads: stageThreeAuxiliary(run),
  };
}

export const knetNetworks: Readonly<Record<string, Network>> = { 'mmseg/knet': encoderDecoder(knet) };

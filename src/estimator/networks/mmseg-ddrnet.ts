import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, addInPlace } from '../tape/ops-core.ts';
import { accuracy } from '../tape/ops-loss.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { resize } from '../tape/ops-resize.ts';
import { clone, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { dualStem, residualStage } from './mmseg-dual-branch.ts';
import { preActivated, sequentialPyramid } from './mmseg-dual-pyramid.ts';
import { feature } from './mmseg-feature.ts';
import type { HeadTraining } from './mmseg-head.ts';
import { lookUp, unknownBackbone } from './mmseg-names.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { hardPixelCrossEntropy } from './mmseg-weighted-loss.ts';
import type { Network, Run } from './network.ts';

/** Channels and head channels. */
const VARIANTS = { 'ddrnet-23-slim': [32, 64], 'ddrnet-23': [64, 128] } as const;

const plain = { activation: 'none' } as const;

interface Branches {
  readonly context: Tensor;
  readonly spatial: Tensor;
}

/** Each branch gets the other's features: the context strided down, the spatial one enlarged. */
function exchange(
  t: Tape,
  { context, spatial }: Branches,
  { channels, stage, size }: { channels: number; stage: 1 | 2; size: readonly [number, number] },
): Branches {
  const compressed = convBlock(t, `compression_${stage}`, relu(t, context, false), {
    ...plain,
    out: 2 * channels,
    kernel: 1,
  });
  const down = downward(t, relu(t, spatial, false), channels, stage);
  const newContext = addInPlace(t, context, down);
  const newSpatial = addInPlace(t, spatial, resize(t, compressed, size));
  t.keep(compressed);
  return { context: newContext, spatial: newSpatial };
}

function downward(t: Tape, x: Tensor, channels: number, stage: 1 | 2): Tensor {
  const strided = { kernel: 3, stride: 2, padding: 1 } as const;
  if (stage === 1) return convBlock(t, 'down_1', x, { ...plain, ...strided, out: 4 * channels });
  return t.call('down_2', x, () => {
    const half = convBlock(t, '0', x, { ...strided, out: 4 * channels });
    return convBlock(t, '1', half, { ...plain, ...strided, out: 8 * channels });
  });
}

/** DDRNet-23 (Hong et al. 2021; MMSegmentation 1.2.2): in training also the spatial map after stage 3. */
function ddrnetMaps(t: Tape, image: Tensor, channels: number): readonly Tensor[] {
  const [height, width] = sizeOf(image);
  const size = [Math.floor(height / 8), Math.floor(width / 8)] as const;
  const stem = dualStem(t, image, channels, 2);
  const context3 = residualStage(t, 'context_branch_layers.0', stem, {
    kind: 'basic',
    planes: 4 * channels,
    blocks: 2,
    stride: 2,
  });
  const spatial3 = residualStage(t, 'spatial_branch_layers.0', stem, {
    kind: 'basic',
    planes: 2 * channels,
    blocks: 2,
  });
  t.keep(stem);
  const three = exchange(t, { context: context3, spatial: spatial3 }, { channels, stage: 1, size });
  const early = t.training ? [clone(t, three.spatial)] : [];
  const context4 = residualStage(t, 'context_branch_layers.1', relu(t, three.context, false), {
    kind: 'basic',
    planes: 8 * channels,
    blocks: 2,
    stride: 2,
  });
  const spatial4 = residualStage(t, 'spatial_branch_layers.1', relu(t, three.spatial, false), {
    kind: 'basic',
    planes: 2 * channels,
    blocks: 2,
  });
  const four = exchange(t, { context: context4, spatial: spatial4 }, { channels, stage: 2, size });
  const spatial5 = residualStage(t, 'spatial_branch_layers.2', relu(t, four.spatial, false), {
    kind: 'bottleneck',
    planes: 2 * channels,
    blocks: 1,
  });
  const context5 = residualStage(t, 'context_branch_layers.2', relu(t, four.context, false), {
    kind: 'bottleneck',
    planes: 8 * channels,
    blocks: 1,
    stride: 2,
  });
  const pyramid = sequentialPyramid(t, context5, { branch: 128, out: 4 * channels });
  const enlarged = resize(t, pyramid, size);
  const out = add(t, spatial5, enlarged);
  t.keep(...early, spatial5, enlarged);
  return [...early, out];
}

function branchHead(
  t: Tape,
  x: Tensor,
  names: readonly [string, string],
  options: { channels: number; numClasses: number },
): Tensor {
  const hidden = t.call(names[0], x, () =>
    relu(t, batchNorm(t, preActivated(t, '0', x, { out: options.channels, kernel: 3 }))),
  );
  return t.within(names[1], () => conv2d(t, hidden, { out: options.numClasses, kernel: 1, bias: true }));
}

function ddrTraining(options: { channels: number; numClasses: number }): HeadTraining {
  return (t, features, target) => {
    const context = branchHead(t, feature(t, features, -1), ['head', 'conv_seg'], options);
    const spatial = branchHead(t, feature(t, features, 0), ['aux_head', 'aux_cls_seg'], options);
    const [batch = 1, , height = 1, width = 1] = target.shape;
    const contextLogits = resize(t, context, [height, width]);
    const spatialLogits = resize(t, spatial, [height, width]);
    const label = reshape(t, target, [batch, height, width]);
    const losses = [contextLogits, spatialLogits].map((logits) => hardPixelCrossEntropy(t, logits, label));
    const correct = accuracy(t, contextLogits, label);
    t.keep(context, spatial, contextLogits, spatialLogits);
    return { losses, accuracies: [correct] };
  };
}

function ddrnet(run: Run): Segmentor {
  const { spec, w } = run;
  const variant = lookUp(VARIANTS, spec.backbone);
  if (variant === undefined) throw unknownBackbone(run, Object.keys(VARIANTS));
  const [channels, headChannels] = variant;
  const options = { channels: headChannels, numClasses: w.numClasses };
  return {
    backbone: (t, image) => t.freeze(w.frozenBackbone, () => ddrnetMaps(t, image, channels)),
    decodeHead: (t, features) => branchHead(t, feature(t, features, -1), ['head', 'conv_seg'], options),
    decodeLosses: ddrTraining(options),
    auxiliaryHeads: [],
  };
}

export const ddrnetNetworks: Readonly<Record<string, Network>> = { 'mmseg/ddrnet': encoderDecoder(ddrnet) };

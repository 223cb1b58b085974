import { prelu, relu, sigmoid } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { adaptiveAveragePool, averagePool } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import { feature } from './mmseg-feature.ts';
import { classify, type Head, plainTraining } from './mmseg-head.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { weightedCrossEntropy } from './mmseg-weighted-loss.ts';
import type { Network, Run } from './network.ts';

const POOL = { kernel: 3, stride: 2, padding: 1 } as const;

function normPrelu(t: Tape, x: Tensor): Tensor {
  return t.call('norm_prelu', x, () => prelu(t, batchNorm(t, x), channelsOf(x)));
}

function convPrelu(t: Tape, x: Tensor, options: { out: number; kernel: number; stride?: number }): Tensor {
  return t.call('conv', x, () => {
    const padding = (options.kernel - 1) / 2;
    return prelu(t, batchNorm(t, conv2d(t, x, { ...options, padding })), options.out);
  });
}

/** Gate of two linear layers on the mean. */
function globalContext(t: Tape, x: Tensor, options: { reduction: number; checkpoint: boolean }): Tensor {
  const [batch = 1, channels = 1] = x.shape;
  return t.call('f_glo', x, () =>
    t.checkpointReentrant(options.checkpoint && x.requiresGrad, [x], () => {
      const pooled = reshape(t, adaptiveAveragePool(t, x, 1), [batch, channels]);
      const hidden = relu(t, linear(t, pooled, Math.floor(channels / options.reduction)));
      const gate = reshape(t, sigmoid(t, linear(t, hidden, channels)), [batch, channels, 1, 1]);
      return multiply(t, x, gate);
    }),
  );
}

interface GuidedBlock {
  readonly out: number;
  readonly dilation: number;
  readonly reduction: number;
  readonly downsample: boolean;
  readonly checkpoint: boolean;
}

/** Context guided block: local and surrounding depthwise features joined, gated by global ones. */
function guidedBlock(t: Tape, x: Tensor, block: GuidedBlock): Tensor {
  return t.call('', x, () =>
    t.checkpointReentrant(block.checkpoint && x.requiresGrad, [x], () => {
      const { out, dilation, downsample } = block;
      const width = downsample ? out : out / 2;
      const reduced = convPrelu(t, x, { out: width, kernel: downsample ? 3 : 1, stride: downsample ? 2 : 1 });
      const local = conv2d(t, reduced, { out: width, kernel: 3, padding: 1, groups: width });
      const around = conv2d(t, reduced, { out: width, kernel: 3, padding: dilation, dilation, groups: width });
      const joined = prelu(t, batchNorm(t, concat(t, [local, around], 1)), 2 * width);
      const features = downsample ? conv2d(t, joined, { out, kernel: 1 }) : joined;
      const gated = globalContext(t, features, block);
      const result = downsample ? gated : add(t, x, gated);
      t.keep(reduced, local, around, features, gated);
      return result;
    }),
  );
}

function level(
  t: Tape,
  input: Tensor,
  blocks: number,
  block: Omit<GuidedBlock, 'downsample'>,
): readonly [Tensor, Tensor] {
  const down = guidedBlock(t, input, { ...block, downsample: true });
  let x = down;
  for (let index = 1; index < blocks; index += 1) x = guidedBlock(t, x, { ...block, downsample: false });
  return [down, x];
}

/** CGNet M3N21 (Wu et al. 2021; MMSegmentation 1.2.2): the pooled image is joined in at strides 2 and 4. */
function cgnetMaps(t: Tape, image: Tensor, checkpoint: boolean): readonly Tensor[] {
  const half = averagePool(t, image, POOL);
  const quarter = averagePool(t, averagePool(t, image, POOL), POOL);
  let x = convPrelu(t, image, { out: 32, kernel: 3, stride: 2 });
  for (let index = 0; index < 2; index += 1) x = convPrelu(t, x, { out: 32, kernel: 3 });
  const first = normPrelu(t, concat(t, [x, half], 1));
  const [down1, level1] = t.within('level1', () =>
    level(t, first, 3, { out: 64, dilation: 2, reduction: 8, checkpoint }),
  );
  const second = normPrelu(t, concat(t, [level1, down1, quarter], 1));
  const [down2, level2] = t.within('level2', () =>
    level(t, second, 21, { out: 128, dilation: 4, reduction: 16, checkpoint }),
  );
  const third = normPrelu(t, concat(t, [down2, level2], 1));
  t.keep(half, quarter, first, down1, second, down2);
  return [first, second, third];
}

/** FCNHead without convolutions and dropout. */
function classifier(numClasses: number): Head {
  return (t, features) => classify(t, feature(t, features, -1), numClasses, 0);
}

function cgnet({ w }: Run): Segmentor {
  const decodeHead = classifier(w.numClasses);
  return {
    backbone: (t, image) => t.freeze(w.frozenBackbone, () => cgnetMaps(t, image, w.gradientCheckpointing)),
    decodeHead,
    decodeLosses: plainTraining(decodeHead, { terms: [weightedCrossEntropy] }),
    auxiliaryHeads: [],
  };
}

export const cgnetNetworks: Readonly<Record<string, Network>> = { 'mmseg/cgnet': encoderDecoder(cgnet) };

import { softmax } from '../tape/ops-activation.ts';
import { scale } from '../tape/ops-core.ts';
import { matmul } from '../tape/ops-linear.ts';
import { concat } from '../tape/ops-parts.ts';
import { contiguous, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock } from './blocks.ts';
import { mmsegBackbone } from './mmseg-backbones.ts';
import { cascade, type RefiningHead } from './mmseg-cascade.ts';
import { hrnetFcnHead } from './mmseg-classic.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import { feature } from './mmseg-feature.ts';
import { classify } from './mmseg-head.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { selfAttentionBlock } from './mmseg-self-attention.ts';
import type { Network, Run } from './network.ts';

const CHANNELS = 512;
const OBJECT_CHANNELS = 256;

/** One vector per class: pixels weighted by the softmax of that class over the image. */
function gatherObjects(t: Tape, features: Tensor, logits: Tensor): Tensor {
  return t.call('spatial_gather_module', [features, logits], () => {
    const [batch = 1, classes = 1] = logits.shape;
    const flat = reshape(t, logits, [batch, classes, -1]);
    const pixels = permute(t, reshape(t, features, [batch, CHANNELS, -1]), [0, 2, 1]);
    const weights = softmax(t, scale(t, flat));
    const objects = contiguous(t, permute(t, matmul(t, weights, pixels), [0, 2, 1]));
    t.keep(weights);
    return reshape(t, objects, [batch, CHANNELS, classes, 1]);
  });
}

/** OCRHead (Yuan et al. 2020; MMSegmentation 1.2.2): every pixel attends to the class vectors. */
function objectContextHead(options: { index: number | 'all'; numClasses: number; dropout: number }): RefiningHead {
  return (t, maps, previous) => {
    const x = feature(t, maps, options.index);
    const pixels = convBlock(t, 'bottleneck', x, { out: CHANNELS, kernel: 3, padding: 1 });
    const objects = gatherObjects(t, pixels, previous);
    const context = t.call('object_context_block', [pixels, objects], () => attendObjects(t, pixels, objects));
    const logits = classify(t, context, options.numClasses, options.dropout);
    t.keep(x, pixels, objects, context);
    return logits;
  };
}

function attendObjects(t: Tape, pixels: Tensor, objects: Tensor): Tensor {
  const context = selfAttentionBlock(t, pixels, objects, {
    channels: OBJECT_CHANNELS,
    out: CHANNELS,
    keyQueryConvs: 2,
    keyQueryNorm: true,
    valueNorm: true,
    scaled: true,
    withOut: true,
  });
  const out = convBlock(t, 'bottleneck', concat(t, [context, pixels], 1), { out: CHANNELS, kernel: 1 });
  t.keep(context);
  return out;
}

function ocrSegmentor(run: Run): Segmentor {
  const { numClasses } = run.w;
  const onHrnet = run.spec.backbone?.startsWith('hrnet') === true;
  const first = onHrnet
    ? hrnetFcnHead(run)
    : fcnHead({ index: 2, channels: 256, numClasses, convs: 1, concatInput: false });
  const second = objectContextHead({ index: onHrnet ? 'all' : -1, numClasses, dropout: onHrnet ? 0 : 0.1 });
  return {
    backbone: mmsegBackbone(run, ['hrnet', 'resnet']),
    ...cascade(run.w.loss, first, { head: second }),
    auxiliaryHeads: [],
  };
}

export const ocrNetworks: Readonly<Record<string, Network>> = { 'mmseg/ocrnet': encoderDecoder(ocrSegmentor) };

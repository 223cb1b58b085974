import { relu } from '../tape/ops-activation.ts';
import { add } from '../tape/ops-core.ts';
import { maxPool } from '../tape/ops-layers.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { mmsegResnetOptions } from './mmseg-backbones.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import { unknownBackbone } from './mmseg-names.ts';
import { pyramidPooling } from './mmseg-psp-head.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import type { Network, Run } from './network.ts';
import { type ResNetOptions, resnetStage, resnetStem } from './resnet.ts';

const FUSED = 128;

function halve(t: Tape, x: Tensor): Tensor {
  const [height, width] = sizeOf(x);
  return resize(t, x, [Math.floor(height / 2), Math.floor(width / 2)]);
}

function lightBranch(t: Tape, image: Tensor): Tensor {
  return t.call('conv_sub1', image, () =>
    [32, 32, 64].reduce(
      (x, out, index) => convBlock(t, `${index}`, x, { out, kernel: 3, stride: 2, padding: 1 }),
      image,
    ),
  );
}

/** Three branches on the full, half and quarter image; the two smaller ones share one ResNet (Zhao et al. 2018; MMSegmentation 1.2.2). */
function icnetMaps(t: Tape, image: Tensor, options: ResNetOptions): readonly Tensor[] {
  const light = lightBranch(t, image);
  const stem = t.within('backbone', () => resnetStem(t, halve(t, image), options));
  const pooled = maxPool(t, stem, { kernel: 3, stride: 2, padding: 1, ceil: true });
  const second = [0, 1].reduce((x, stage) => t.within('backbone', () => resnetStage(t, x, stage, options)), pooled);
  const middle = convBlock(t, 'conv_sub2', second, { out: 256, kernel: 1 });
  const last = [2, 3].reduce(
    (x, stage) => t.within('backbone', () => resnetStage(t, x, stage, options)),
    halve(t, second),
  );
  const joined = concat(t, [...pyramidPooling(t, last, { channels: 512 }), last], 1);
  const deep = convBlock(t, 'psp_bottleneck', joined, { out: 512, kernel: 3, padding: 1 });
  const coarse = convBlock(t, 'conv_sub4', deep, { out: 256, kernel: 1 });
  t.keep(light, middle, joined);
  return [light, middle, coarse];
}

/** Cascade feature fusion: a coarse map doubled and convolved, a fine one projected, added. */
function fuse(t: Tape, name: string, low: Tensor, high: Tensor): { fused: Tensor; low: Tensor } {
  return t.call(name, [low, high], () => {
    const resized = resize(t, low, sizeOf(high));
    const lowOut = convBlock(t, 'conv_low', resized, { out: FUSED, kernel: 3, padding: 2, dilation: 2 });
    t.keep(resized);
    const highOut = convBlock(t, 'conv_high', high, { out: FUSED, kernel: 1 });
    const fused = relu(t, add(t, lowOut, highOut));
    t.keep(lowOut, highOut);
    return { fused, low: lowOut };
  });
}

function icNeck(t: Tape, features: readonly Tensor[]): readonly Tensor[] {
  const [light, middle, coarse] = features;
  if (light === undefined || middle === undefined || coarse === undefined) throw new RangeError('no feature maps');
  const first = fuse(t, 'cff_24', coarse, middle);
  const second = fuse(t, 'cff_12', first.fused, light);
  t.keep(first.fused, first.low, second.low);
  return [first.low, second.low, second.fused];
}

function icnet(run: Run): Segmentor {
  const options = mmsegResnetOptions(run, 8);
  if (options === undefined) throw unknownBackbone(run, ['resnet18', 'resnet50', 'resnet101']);
  const { w } = run;
  const head = (index: number, dropout: number) =>
    fcnHead({ index, channels: FUSED, numClasses: w.numClasses, convs: 1, concatInput: false, dropout });
  return {
    backbone: (t, image) => t.freeze(w.frozenBackbone, () => icnetMaps(t, image, options)),
    neck: icNeck,
    decodeHead: head(2, 0),
    auxiliaryHeads: w.auxiliaryHead === false ? [] : [head(0, 0.1), head(1, 0.1)],
  };
}

export const icnetNetworks: Readonly<Record<string, Network>> = { 'mmseg/icnet': encoderDecoder(icnet) };

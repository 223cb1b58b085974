import { sigmoid } from '../tape/ops-activation.ts';
import { add, byteSize, constant, multiply } from '../tape/ops-core.ts';
import { adaptiveAveragePool, averagePool } from '../tape/ops-layers.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { type DType, elements, type Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { attentionRefinement } from './mmseg-bisenet-v1.ts';
import { mmsegDice } from './mmseg-dice.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import { type HeadTraining, plainTraining } from './mmseg-head.ts';
import { lossByFeature } from './mmseg-loss.ts';
import { lookUp, unknownBackbone } from './mmseg-names.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { sigmoidCrossEntropy } from './mmseg-sigmoid-loss.ts';
import type { Network, Run } from './network.ts';

/** Modules of stages 3 to 5; the first of each halves the map. */
const STAGES = { stdc1: [2, 2, 2], stdc2: [4, 5, 3] } as const;
const WIDTHS = [256, 512, 1024] as const;
const CONVS = 4;
const CONTEXT = 128;
const EDGE_CLASSES = 2;

/** Short-term dense concatenation: every convolution has half the channels of the one before, all outputs are joined. */
function denseModule(t: Tape, input: Tensor, out: number, stride: number): Tensor {
  return t.call('', input, () => {
    const first = convBlock(t, 'layers.0', input, { out: out / 2, kernel: 1 });
    const reduced = { out: out / 2, kernel: 3, stride: 2, padding: 1, groups: out / 2, activation: 'none' } as const;
    let x = stride === 2 ? convBlock(t, 'downsample', first, reduced) : first;
    const outputs = [first];
    for (let index = 1; index < CONVS; index += 1) {
      const width = out / 2 ** (index === CONVS - 1 ? index : index + 1);
      x = convBlock(t, `layers.${index}`, x, { out: width, kernel: 3, padding: 1 });
      outputs.push(x);
    }
    if (stride === 2) outputs[0] = averagePool(t, first, { kernel: 3, stride: 2, padding: 1 });
    const joined = concat(t, outputs, 1);
    t.keep(first, ...outputs);
    return joined;
  });
}

function stdcMaps(t: Tape, image: Tensor, modules: readonly number[]): readonly Tensor[] {
  return t.call('backbone', image, () => {
    const first = convBlock(t, 'stages.0', image, { out: 32, kernel: 3, stride: 2, padding: 1 });
    let x = convBlock(t, 'stages.1', first, { out: 64, kernel: 3, stride: 2, padding: 1 });
    const maps: Tensor[] = [];
    for (const [stage, out] of WIDTHS.entries()) {
      const input = x;
      x = t.call(`stages.${stage + 2}`, input, () => {
        let feature = denseModule(t, input, out, 2);
        for (let module = 1; module < (modules[stage] ?? 0); module += 1) feature = denseModule(t, feature, out, 1);
        return feature;
      });
      maps.push(x);
    }
    t.keep(...maps);
    return maps;
  });
}

function featureFusion(t: Tape, spatial: Tensor, context: Tensor): Tensor {
  return t.call('ffm', [spatial, context], () => {
    const joined = concat(t, [spatial, context], 1);
    const x = convBlock(t, 'conv0', joined, { out: 256, kernel: 1 });
    const gate = t.call('attention', x, () => {
      const plain = { kernel: 1, norm: false, bias: false } as const;
      const narrow = convBlock(t, '1', adaptiveAveragePool(t, x, 1), { ...plain, out: 64 });
      return sigmoid(t, convBlock(t, '2', narrow, { ...plain, out: 256, activation: 'none' }));
    });
    const attended = multiply(t, x, gate);
    const out = add(t, attended, x);
    t.keep(joined, x, attended);
    return out;
  });
}

/** STDCContextPathNet (Fan et al. 2021; MMSegmentation 1.2.2): shallow map, two context maps, fused map. */
function contextPathNet(t: Tape, image: Tensor, modules: readonly number[]): readonly Tensor[] {
  const maps = stdcMaps(t, image, modules);
  const [finest = image, , coarsest = image] = maps;
  const pooled = adaptiveAveragePool(t, coarsest, 1);
  const average = convBlock(t, 'conv_avg', pooled, { out: CONTEXT, kernel: 1 });
  let up = resize(t, average, sizeOf(coarsest), 'nearest');
  const context: Tensor[] = [];
  for (const index of [0, 1]) {
    const map = maps[maps.length - 1 - index] ?? coarsest;
    const finer = maps[maps.length - 2 - index] ?? finest;
    const sum = add(t, attentionRefinement(t, `arms.${index}`, map, CONTEXT), up);
    const resized = resize(t, sum, sizeOf(finer), 'nearest');
    up = convBlock(t, `convs.${index}`, resized, { out: CONTEXT, kernel: 3, padding: 1 });
    t.keep(sum, resized);
    context.push(up);
  }
  const fused = featureFusion(t, finest, context[1] ?? finest);
  t.keep(...maps, ...context, pooled, average);
  return [finest, ...context, fused];
}

/** STDCHead: class edges of the label at three scales, a binary and a Dice loss against them. */
function detailTraining(): HeadTraining {
  const head = fcnHead({ index: 0, channels: 64, numClasses: EDGE_CLASSES, convs: 1, concatInput: false });
  return (t, features, target) => {
    t.buffer([1, 1, 3, 3]);
    t.freeze(true, () => t.param(1, 3, 1, 1));
    const logits = head(t, features);
    const edges = edgeLabels(t, target);
    const label = constant(t, 'stack', target.shape, 'long');
    const parts = lossByFeature(t, logits, label, { terms: [sigmoidCrossEntropy, mmsegDice] });
    t.keep(logits, label, ...edges);
    return parts;
  };
}

/** Laplacians of the label at strides 1, 2 and 4, enlarged, stacked and fused; all are alive until the loss is done. */
function edgeLabels(t: Tape, target: Tensor): readonly Tensor[] {
  const [batch = 1, , height = 1, width = 1] = target.shape;
  const convolved: DType = t.autocast ? 'half' : 'float';
  const made: Tensor[] = [constant(t, 'to', target.shape, 'float')];
  for (const stride of [1, 2, 4])
    made.push(laplacian(t, [batch, 1, Math.ceil(height / stride), Math.ceil(width / stride)]));
  for (const _ of [4, 2]) made.push(constant(t, 'upsample_nearest2d', target.shape, 'float'));
  made.push(constant(t, 'stack', [batch, 3, height, width], 'float'));
  const input = t.autocast ? constant(t, 'to', [batch, 3, height, width], 'half') : undefined;
  made.push(constant(t, 'convolution', target.shape, convolved));
  t.work('convolution', t.autocast, { macs: 3 * batch * height * width, bytes: 4 * byteSize(target) });
  if (input !== undefined) t.keep(input);
  made.push(constant(t, 'to', target.shape, 'long'));
  t.keep(...made);
  return made;
}

function laplacian(t: Tape, shape: readonly number[]): Tensor {
  const dtype: DType = t.autocast ? 'half' : 'float';
  const edges = constant(t, 'convolution', shape, dtype);
  t.work('convolution', t.autocast, { macs: 9 * elements(shape), bytes: 2 * edges.storage.bytes });
  const clamped = constant(t, 'clamp', shape, dtype);
  t.keep(edges);
  return clamped;
}

function stdc(run: Run): Segmentor {
  const { spec, w } = run;
  const modules = lookUp<readonly number[]>(STAGES, spec.backbone);
  if (modules === undefined) throw unknownBackbone(run, ['stdc1', 'stdc2']);
  const { numClasses } = w;
  const context = (index: number) =>
    plainTraining(fcnHead({ index, channels: 64, numClasses, convs: 1, concatInput: false }), {
      hardPixels: 'threshold',
    });
  return {
    backbone: (t, image) => t.freeze(w.frozenBackbone, () => contextPathNet(t, image, modules)),
    decodeHead: fcnHead({ index: 3, channels: 256, numClasses, convs: 1, concatInput: false }),
    hardPixels: 'threshold',
    auxiliaryHeads: [],
    auxiliaryLosses: w.auxiliaryHead === false ? [] : [context(2), context(1), detailTraining()],
  };
}

export const stdcNetworks: Readonly<Record<string, Network>> = { 'mmseg/stdc': encoderDecoder(stdc) };

import { sigmoid } from '../tape/ops-activation.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { adaptiveAveragePool } from '../tape/ops-layers.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { mmsegResnetOptions } from './mmseg-backbones.ts';
import { fcnHead } from './mmseg-fcn-head.ts';
import { unknownBackbone } from './mmseg-names.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import type { Network, Run } from './network.ts';
import { type ResNetOptions, resnet } from './resnet.ts';

interface Widths {
  readonly context: number;
  readonly spatial: number;
  readonly fused: number;
  readonly auxiliary: number;
}

const BASIC: Widths = { context: 128, spatial: 64, fused: 256, auxiliary: 64 };
const DEEP: Widths = { context: 512, spatial: 256, fused: 1024, auxiliary: 256 };

/** Attention refinement: a map times a gate made from its mean (BiSeNet and STDC). */
export function attentionRefinement(t: Tape, name: string, x: Tensor, out: number): Tensor {
  return t.call(name, x, () => {
    const convolved = convBlock(t, 'conv_layer', x, { out, kernel: 3, padding: 1 });
    const gate = t.call('atten_conv_layer', convolved, () =>
      sigmoid(t, convBlock(t, '1', adaptiveAveragePool(t, convolved, 1), { out, kernel: 1, activation: 'none' })),
    );
    const refined = multiply(t, convolved, gate);
    t.keep(convolved, gate);
    return refined;
  });
}

function contextPath(t: Tape, image: Tensor, width: number, options: ResNetOptions): readonly [Tensor, Tensor] {
  return t.call('context_path', image, () => {
    const maps = t.call('backbone', image, () => resnet(t, image, options).stages);
    const [, x8 = image, x16 = image, x32 = image] = maps;
    const pooled = t.call('gap_conv', x32, () =>
      convBlock(t, '1', adaptiveAveragePool(t, x32, 1), { out: width, kernel: 1 }),
    );
    const coarse = add(t, attentionRefinement(t, 'arm32', x32, width), pooled);
    const coarseUp = resize(t, coarse, sizeOf(x16), 'nearest');
    const coarseOut = convBlock(t, 'conv_head32', coarseUp, { out: width, kernel: 3, padding: 1 });
    t.keep(coarseUp);
    const fine = add(t, attentionRefinement(t, 'arm16', x16, width), coarseOut);
    const fineUp = resize(t, fine, sizeOf(x8), 'nearest');
    const fineOut = convBlock(t, 'conv_head16', fineUp, { out: width, kernel: 3, padding: 1 });
    t.keep(...maps, pooled, coarse, fine, fineUp);
    return [fineOut, coarseOut] as const;
  });
}

function spatialPath(t: Tape, image: Tensor, width: number): Tensor {
  return t.call('spatial_path', image, () => {
    const first = convBlock(t, 'layer1', image, { out: width, kernel: 7, stride: 2, padding: 3 });
    const second = convBlock(t, 'layer2', first, { out: width, kernel: 3, stride: 2, padding: 1 });
    const third = convBlock(t, 'layer3', second, { out: width, kernel: 3, stride: 2, padding: 1 });
    return convBlock(t, 'layer4', third, { out: 2 * width, kernel: 1 });
  });
}

function featureFusion(t: Tape, spatial: Tensor, context: Tensor, out: number): Tensor {
  return t.call('ffm', [spatial, context], () => {
    const joined = concat(t, [spatial, context], 1);
    const fused = convBlock(t, 'conv1', joined, { out, kernel: 1 });
    const pooled = adaptiveAveragePool(t, fused, 1);
    const gate = t.call('conv_atten', pooled, () => sigmoid(t, convBlock(t, '0', pooled, { out, kernel: 1 })));
    const attended = multiply(t, fused, gate);
    const result = add(t, attended, fused);
    t.keep(joined, fused, attended);
    return result;
  });
}

/** BiSeNetV1 (Yu et al. 2018; MMSegmentation 1.2.2): fused map and two context maps, a loss on each. */
function bisenetV1(run: Run): Segmentor {
  const options = mmsegResnetOptions(run, 32);
  if (options === undefined) throw unknownBackbone(run, ['resnet18', 'resnet50', 'resnet101']);
  const { w } = run;
  const widths = options.depth < 50 ? BASIC : DEEP;
  const plain: ResNetOptions = { ...options, stem: 'plain' };
  const auxiliary = (index: number) =>
    fcnHead({ index, channels: widths.auxiliary, numClasses: w.numClasses, convs: 1, concatInput: false });
  return {
    backbone: (t, image) =>
      t.freeze(w.frozenBackbone, () => {
        const [context8, context16] = contextPath(t, image, widths.context, plain);
        const spatial = spatialPath(t, image, widths.spatial);
        const fused = featureFusion(t, spatial, context8, widths.fused);
        t.keep(spatial, context8, context16);
        return [fused, context8, context16];
      }),
    decodeHead: fcnHead({
      index: 0,
      channels: widths.fused,
      numClasses: w.numClasses,
      convs: 1,
      concatInput: false,
    }),
    auxiliaryHeads: w.auxiliaryHead === false ? [] : [auxiliary(1), auxiliary(2)],
  };
}

export const bisenetV1Networks: Readonly<Record<string, Network>> = { 'mmseg/bisenetv1': encoderDecoder(bisenetV1) };

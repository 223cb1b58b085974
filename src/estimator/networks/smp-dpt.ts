import { AppError } from '../../errors.ts';
import { gelu, relu } from '../tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropout } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { mean } from '../tape/ops-resize.ts';
import { contiguous, expand, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import { type VitRequest, type VitShape, vitFeatures, vitShape } from './encoder-timm-vit.ts';
import { type Network, optionBoolean, optionNumber, optionNumbers, optionText, type Run } from './network.ts';
import { plainLoop } from './plain-loop.ts';
import { enlarge, headActivation } from './smp-blocks.ts';
import { unsupported } from './smp-model.ts';

interface DptOptions {
  readonly readout: string;
  readonly intermediate: readonly number[];
  readonly fusion: number;
  readonly patch: number;
}

/** `cat`: the class token joins every patch and is projected away; `add`: it is added; else ignored. */
function readout(t: Tape, map: Tensor, prefix: Tensor, kind: string): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = map.shape;
  if (kind === 'ignore') return map;
  return t.call('', [map, prefix], () => {
    if (kind === 'add') return add(t, map, reshape(t, mean(t, prefix, [1], false), [batch, channels, 1, 1]));
    const tokens = contiguous(t, transpose(t, reshape(t, map, [batch, channels, height * width]), 1, 2));
    const joined = concat(t, [tokens, expand(t, prefix, [batch, height * width, channels])], 2);
    const projected = t.call('project', joined, () => gelu(t, linear(t, joined, channels)));
    return reshape(t, transpose(t, projected, 1, 2), [batch, channels, height, width]);
  });
}

/** Projection, change of size by `factor`, projection to the fusion width. */
function reassemble(
  t: Tape,
  x: Tensor,
  { width, factor, out }: { width: number; factor: number; out: number },
): Tensor {
  return t.call('', x, () => {
    const projected = conv2d(t, x, { out: width, kernel: 1, bias: true });
    const resized =
      factor > 1
        ? convTranspose2d(t, projected, { out: width, kernel: factor, stride: factor, bias: true })
        : factor < 1
          ? conv2d(t, projected, { out: width, kernel: 3, stride: 1 / factor, padding: 1, bias: true })
          : projected;
    return conv2d(t, resized, { out, kernel: 3, padding: 1 });
  });
}

function residual(t: Tape, x: Tensor): Tensor {
  const shape = { out: channelsOf(x), kernel: 3, padding: 1 };
  return t.call('', x, () => {
    const first = batchNorm(t, conv2d(t, relu(t, x, false), shape));
    const second = batchNorm(t, conv2d(t, relu(t, first, false), shape));
    return add(t, second, x);
  });
}

function fuse(t: Tape, feature: Tensor, previous: Tensor | undefined): Tensor {
  return t.call('', previous === undefined ? feature : [feature, previous], () => {
    const refined = residual(t, feature);
    const summed = residual(t, previous === undefined ? refined : add(t, refined, previous));
    return conv2d(t, enlarge(t, summed, 2), { out: channelsOf(feature), kernel: 1, bias: true });
  });
}

function decoder(t: Tape, maps: readonly Tensor[], prefixes: readonly Tensor[], options: DptOptions): Tensor {
  let last: Tensor | undefined;
  const processed = maps.map((map, index) => {
    const prefix = prefixes[index] ?? map;
    const projected = t.within(`projection_blocks.${index}`, () => readout(t, map, prefix, options.readout));
    last = projected;
    const shape = {
      width: options.intermediate[index] ?? 256,
      factor: options.patch / 2 ** (index + 2),
      out: options.fusion,
    };
    return t.within(`reassemble_blocks.${index}`, () => reassemble(t, projected, shape));
  });
  let fused: Tensor | undefined;
  [...processed].reverse().forEach((feature, index) => {
    const previous = fused;
    fused = t.within(`fusion_blocks.${index}`, () => fuse(t, feature, previous));
  });
  t.keep(...processed, ...(last === undefined ? [] : [last]));
  return fused ?? t.input([1]);
}

function head(t: Tape, x: Tensor, { classes, activation }: { classes: number; activation: string }): Tensor {
  return t.call('segmentation_head', x, () => {
    const logits = t.call('head', x, () => {
      const refined = relu(t, batchNorm(t, conv2d(t, x, { out: channelsOf(x), kernel: 3, padding: 1 })));
      return conv2d(t, dropout(t, refined, 0.1), { out: classes, kernel: 1, bias: true });
    });
    const enlarged = enlarge(t, logits, 2);
    const activated = headActivation(t, enlarged, activation);
    t.keep(logits, enlarged);
    return activated;
  });
}

function shapeOf({ spec }: Run): VitShape {
  const name = spec.backbone ?? 'tu-vit_base_patch16_224.augreg_in21k';
  const shape = vitShape(name);
  if (shape !== undefined) return shape;
  throw new AppError('unknown-backbone', `smp.DPT has no encoder ${name} here`, {
    details: { implementation: 'smp', backbone: name, known: ['tu-vit_base_patch16_224', 'tu-vit_large_patch16_384'] },
  });
}

function requestOf({ spec, w }: Run, shape: VitShape, depth: number): VitRequest {
  const uniform = Array.from({ length: depth }, (_, index) => Math.floor((shape.layers / depth) * (index + 1)) - 1);
  const indices = optionNumbers(spec, 'encoderOutputIndices', uniform);
  return {
    taken: indices.map((index) => (index < 0 ? index + shape.layers : index)),
    fused: w.attention === 'sdpa',
    imageSize: optionNumber(spec, 'imgSize', shape.side),
    dynamic: optionBoolean(spec, 'dynamicImgSize', false),
  };
}

/** `smp.DPT` (0.6.0) with a plain ViT of timm: B×C×H×W → B×classes×H×W. */
export const smpDptNetworks: Readonly<Record<string, Network>> = {
  'smp/dpt': plainLoop((run, image) => {
    const { t, spec, w } = run;
    const shape = shapeOf(run);
    const depth = optionNumber(spec, 'encoderDepth', 4);
    const intermediate = optionNumbers(spec, 'decoderIntermediateChannels', [256, 512, 1024, 1024]);
    if (intermediate.length !== depth) throw unsupported(spec, { rule: 'widths', count: intermediate.length, depth });
    const options: DptOptions = {
      readout: optionText(spec, 'decoderReadout', 'cat'),
      intermediate,
      fusion: optionNumber(spec, 'decoderFusionChannels', 256),
      patch: shape.patch,
    };
    return t.call('', image, () => {
      const { maps, prefixes } = t.freeze(w.frozenBackbone, () =>
        t.call('encoder', image, () => vitFeatures(t, image, shape, requestOf(run, shape, depth))),
      );
      const decoded = t.call('decoder', [...maps, ...prefixes], () => decoder(t, maps, prefixes, options));
      const masks = head(t, decoded, {
        classes: w.numClasses,
        activation: optionText(spec, 'activation', 'identity'),
      });
      t.keep(...maps, ...prefixes, decoded);
      return masks;
    });
  }),
};

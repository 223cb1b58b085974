import { AppError } from '../../errors.ts';
import { gelu, relu } from '../tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { linear } from '../tape/ops-linear.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { clone, expand, flatten, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { classify, type Head } from './mmseg-head.ts';
import { lookUp } from './mmseg-names.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { VITS, visionTransformer } from './mmseg-vit.ts';
import { type Network, optionNumber, type Run } from './network.ts';

/** Channels of the reassembled maps at strides 4, 8, 16, 32 (Ranftl et al. 2021; mmseg configs/_base_/models/dpt_vit-b16). */
const REASSEMBLED = [96, 192, 384, 768];
const WIDTH = 256;

/** Maps and class tokens alternate in `features`: map 0, token 0, map 1, token 1 … */
function reassemble(t: Tape, features: readonly Tensor[]): readonly Tensor[] {
  return t.call('reassemble_blocks', features, () => {
    const outputs = REASSEMBLED.map((channels, level) => {
      const map = features[2 * level];
      const token = features[2 * level + 1];
      if (map === undefined || token === undefined) throw new RangeError(`no feature map ${level}`);
      const merged = readout(t, map, token);
      const projected = convBlock(t, `projects.${level}`, merged, {
        out: channels,
        kernel: 1,
        norm: false,
        activation: 'none',
      });
      return t.within(`resize_layers.${level}`, () => rescale(t, projected, { level, channels }));
    });
    t.keep(...outputs);
    return outputs;
  });
}

/** Class token joined to every patch, projected back. */
function readout(t: Tape, map: Tensor, token: Tensor): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = map.shape;
  const patches = permute(t, flatten(t, map, 2), [0, 2, 1]);
  const spread = expand(t, reshape(t, token, [batch, 1, channels]), [batch, height * width, channels]);
  const joined = concat(t, [patches, spread], -1);
  const projected = t.call('readout_projects', joined, () => gelu(t, linear(t, joined, channels)));
  return reshape(t, permute(t, projected, [0, 2, 1]), [batch, channels, height, width]);
}

function rescale(t: Tape, x: Tensor, { level, channels }: { level: number; channels: number }): Tensor {
  if (level === 0) return convTranspose2d(t, x, { out: channels, kernel: 4, stride: 4, bias: true });
  if (level === 1) return convTranspose2d(t, x, { out: channels, kernel: 2, stride: 2, bias: true });
  if (level === 2) return x;
  return conv2d(t, x, { out: channels, kernel: 3, stride: 2, padding: 1, bias: true });
}

/** Two activation-first convolutions around a copied shortcut; the activation works in place on its input. */
function residualUnit(t: Tape, x: Tensor): Tensor {
  return t.call('', x, () => {
    const shortcut = clone(t, x);
    const first = preActivated(t, x);
    const second = preActivated(t, first);
    const out = add(t, second, shortcut);
    t.keep(shortcut);
    return out;
  });
}

function preActivated(t: Tape, x: Tensor): Tensor {
  return t.call('', x, () => batchNorm(t, conv2d(t, relu(t, x), { out: WIDTH, kernel: 3, padding: 1 })));
}

function fuse(t: Tape, inputs: readonly [Tensor, Tensor?]): Tensor {
  const [deep, side] = inputs;
  return t.call('fusion_blocks', side === undefined ? [deep] : [deep, side], () => {
    const entering = side === undefined ? deep : add(t, deep, residualUnit(t, side));
    const refined = residualUnit(t, entering);
    const [height, width] = sizeOf(refined);
    const resized = resize(t, refined, [2 * height, 2 * width]);
    return convBlock(t, 'project', resized, { out: WIDTH, kernel: 1, norm: false, activation: 'none' });
  });
}

function dptHead(numClasses: number): Head {
  return (t, features) => {
    const maps = reassemble(t, features);
    const levels = maps.map((x, index) =>
      convBlock(t, `convs.${index}`, x, {
        out: WIDTH,
        kernel: 3,
        padding: 1,
        norm: false,
        bias: false,
        activation: 'none',
      }),
    );
    const [last] = levels.slice(-1);
    if (last === undefined) throw new RangeError('no feature maps');
    let out = fuse(t, [last]);
    for (const level of levels.slice(0, -1).toReversed()) out = fuse(t, [out, level]);
    const projected = convBlock(t, 'project', out, { out: WIDTH, kernel: 3, padding: 1 });
    const logits = classify(t, projected, numClasses);
    t.keep(...levels);
    return logits;
  };
}

function dptSegmentor({ spec, w }: Run): Segmentor {
  const variant = lookUp(VITS, spec.backbone);
  if (variant === undefined)
    throw new AppError('unknown-backbone', `DPT is built on a plain ViT, not ${spec.backbone}`, {
      details: { architecture: 'dpt', known: Object.keys(VITS) },
    });
  const [width, layers, heads] = variant;
  const side = optionNumber(spec, 'imageSize', 224);
  const vit = {
    ...{ width, layers, heads, patch: 16, imageHeight: side, imageWidth: side, dropPathRate: 0, finalNorm: false },
    ...{
      outIndices: [1, 2, 3, 4].map((quarter) => (layers / 4) * quarter - 1),
      classToken: true,
      outputClassToken: true,
    },
    resizeMode: 'bicubic' as const,
    checkpoint: w.gradientCheckpointing,
  };
  return {
    backbone: (t: Tape, image: Tensor) => t.freeze(w.frozenBackbone, () => visionTransformer(t, image, vit)),
    decodeHead: dptHead(w.numClasses),
    auxiliaryHeads: [],
  };
}

/** DPT of MMSegmentation 1.2 with readout "project"; position grid of 224 pixels, resized; no auxiliary head. */
export const mmsegDpt: Readonly<Record<string, Network>> = { 'mmseg/dpt': encoderDecoder(dptSegmentor) };

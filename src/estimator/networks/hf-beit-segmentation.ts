import { gelu } from '../tape/ops-activation.ts';
import { conv2d, convTranspose2d } from '../tape/ops-conv.ts';
import { maxPool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock } from './blocks.ts';
import { type HfBeitOptions, hfBeit, requireConfiguredSize, withoutClassToken } from './hf-beit.ts';
import { hfSemanticModel, refuseSingleClass, type SemanticOutput } from './hf-loss.ts';
import { lookUp, unknownBackbone } from './mmseg-names.ts';
import { uperFeature } from './mmseg-uper-head.ts';
import { type Network, optionBoolean, optionNumber, type Run } from './network.ts';

/** [width, layers, heads, layers handed out counted from the embedding]: microsoft/beit-*, facebook/data2vec-vision-*. */
const BEITS: Readonly<Record<string, readonly [number, number, number, readonly number[]]>> = {
  'beit-b': [768, 12, 12, [2, 4, 6, 10]],
  'beit-l': [1024, 24, 16, [6, 10, 14, 22]],
};
const DATA2VECS: typeof BEITS = {
  'data2vec-b': [768, 12, 12, [2, 4, 6, 10]],
  'data2vec-l': [1024, 24, 16, [6, 10, 14, 22]],
};
const AUXILIARY_WIDTH = 256;
const DROP_PATH = 0.1;

/** Four equal maps to strides 4, 8, 16, 32. */
function pyramid(t: Tape, [first, second, third, fourth]: readonly Tensor[]): readonly Tensor[] {
  if (first === undefined || second === undefined || third === undefined || fourth === undefined) return [];
  const finest = t.call('fpn1', first, () => twice(t, gelu(t, batchNorm(t, twice(t, first)))));
  const fine = t.within('fpn2', () => twice(t, second));
  const coarse = t.within('fpn4', () => maxPool(t, fourth, { kernel: 2, stride: 2 }));
  return [finest, fine, third, coarse];
}

function twice(t: Tape, x: Tensor): Tensor {
  return convTranspose2d(t, x, { out: x.shape[1] ?? 1, kernel: 2, stride: 2, bias: true });
}

function decodeHead(t: Tape, maps: readonly Tensor[], numClasses: number): Tensor {
  return t.call('decode_head', maps, () => {
    const fused = uperFeature(t, maps, { channels: maps[0]?.shape[1] ?? 1, numClasses, inPlace: false });
    return conv2d(t, fused, { out: numClasses, kernel: 1, bias: true });
  });
}

function auxiliaryHead(t: Tape, maps: readonly Tensor[], numClasses: number): Tensor {
  return t.call('auxiliary_head', maps, () => {
    const [, , map] = maps;
    if (map === undefined) throw new RangeError('no third feature map');
    const hidden = convBlock(t, 'convs.0', map, { out: AUXILIARY_WIDTH, kernel: 3, padding: 1, inPlace: false });
    return conv2d(t, hidden, { out: numClasses, kernel: 1, bias: true });
  });
}

function optionsOf(run: Run, known: typeof BEITS, older: boolean): HfBeitOptions & { taken: readonly number[] } {
  const { spec, w } = run;
  const variant = lookUp(known, spec.backbone);
  if (variant === undefined) throw unknownBackbone(run, Object.keys(known));
  const [width, layers, heads, taken] = variant;
  return {
    width,
    layers,
    heads,
    taken,
    imageSize: optionNumber(spec, 'imageSize', Math.max(w.imageHeight, w.imageWidth)),
    relativePositions: optionBoolean(spec, 'useRelativePositionBias', true),
    dropPathRate: optionNumber(spec, 'dropPathRate', DROP_PATH),
    attention: w.attention,
    checkpoint: w.gradientCheckpointing,
    older,
  };
}

/** BEiT takes any size; Data2Vec only the configured one. */
function forward(run: Run, image: Tensor, options: HfBeitOptions & { taken: readonly number[] }): SemanticOutput {
  const { t, w } = run;
  refuseSingleClass(w);
  if (options.older) requireConfiguredSize(image, options.imageSize);
  const { hidden, grid } = t.freeze(w.frozenBackbone, () => hfBeit(t, image, options));
  const maps = options.taken.map((index) => {
    const tokens = hidden[index];
    if (tokens === undefined) throw new RangeError(`no hidden state ${index}`);
    const [batch = 1, , channels = 1] = tokens.shape;
    return reshape(t, transpose(t, withoutClassToken(t, tokens), 1, 2), [batch, channels, ...grid]);
  });
  const features = pyramid(t, maps);
  const logits = decodeHead(t, features, w.numClasses);
  const withAuxiliary = w.auxiliaryHead ?? true;
  const auxiliary = withAuxiliary ? auxiliaryHead(t, features, w.numClasses) : undefined;
  const held = [...hidden, ...features];
  return { logits, ...(auxiliary === undefined ? {} : { auxiliary }), held, oneByOne: !options.older };
}

/** BeitForSemanticSegmentation and Data2VecVisionForSemanticSegmentation of transformers 5.24: UPerNet head and an FCN one. */
export const hfBeitNetworks: Readonly<Record<string, Network>> = {
  'transformers/beit': hfSemanticModel((run, image) => forward(run, image, optionsOf(run, BEITS, false))),
  'transformers/data2vec': hfSemanticModel((run, image) => forward(run, image, optionsOf(run, DATA2VECS, true))),
};

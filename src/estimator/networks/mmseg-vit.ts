import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropout } from '../tape/ops-layers.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat, select, slice } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { clone, expand, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { mmcvSelfAttention } from './mmcv-attention.ts';
import { feedForward } from './swin.ts';

export interface VitOptions {
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  readonly patch: number;
  /** Side of the position grid in pixels: other inputs resize it. */
  readonly imageHeight: number;
  readonly imageWidth: number;
  /** Layers whose tokens are handed out, counted from 0. */
  readonly outIndices: readonly number[];
  readonly dropPathRate: number;
  readonly dropRate?: number;
  readonly classToken: boolean;
  readonly finalNorm: boolean;
  readonly resizeMode: 'bicubic' | 'bilinear';
  /** Also hand out the embedded patches as the first map (DPT). */
  readonly outOrigin?: boolean;
  /** Each map is followed by the class token of its layer, B×C (DPT). */
  readonly outputClassToken?: boolean;
  readonly checkpoint: boolean;
}

/** Token widths, layers and heads of the plain ViTs (Dosovitskiy et al. 2021; DeiT for the small ones). */
export const VITS: Readonly<Record<string, readonly [number, number, number]>> = {
  'vit-t/16': [192, 12, 3],
  'vit-s/16': [384, 12, 6],
  'vit-b/16': [768, 12, 12],
  'vit-l/16': [1024, 24, 16],
  'deit-s/16': [384, 12, 6],
  'deit-b/16': [768, 12, 12],
};

/** Plain ViT of MMSegmentation 1.2: B×C×H/16×W/16 maps of the chosen layers. */
export function visionTransformer(t: Tape, image: Tensor, options: VitOptions): readonly Tensor[] {
  const { tokens: embedded, grid } = embed(t, image, options);
  const positioned = addPositions(t, embedded, grid, options);
  const outputs: Tensor[] = [];
  if (options.outOrigin === true) outputs.push(tokensToFeature(t, positioned, grid, options.classToken));
  let x = options.classToken ? positioned : slice(t, positioned, 1, grid[0] * grid[1]);
  for (let layer = 0; layer < options.layers; layer += 1) {
    const rate = options.layers > 1 ? (options.dropPathRate * layer) / (options.layers - 1) : 0;
    x = encoderLayer(t, x, {
      heads: options.heads,
      rate,
      dropRate: options.dropRate ?? 0,
      checkpoint: options.checkpoint,
    });
    if (layer === options.layers - 1 && options.finalNorm) x = layerNorm(t, x);
    if (!options.outIndices.includes(layer)) continue;
    outputs.push(tokensToFeature(t, x, grid, options.classToken));
    if (options.outputClassToken === true) outputs.push(select(t, x, 1));
  }
  return outputs;
}

function embed(t: Tape, image: Tensor, options: VitOptions): { tokens: Tensor; grid: readonly [number, number] } {
  const [batch = 1] = image.shape;
  const { tokens, grid } = t.call('patch_embed', image, () => {
    const map = conv2d(t, image, { out: options.width, kernel: options.patch, stride: options.patch });
    return { tokens: transpose(t, flatten(t, map, 2), 1, 2), grid: sizeOf(map) };
  });
  const classToken = expand(t, t.param(1, 1, options.width), [batch, 1, options.width]);
  return { tokens: concat(t, [classToken, tokens], 1), grid };
}

function addPositions(t: Tape, tokens: Tensor, grid: readonly [number, number], options: VitOptions): Tensor {
  const height = Math.floor(options.imageHeight / options.patch);
  const width = Math.floor(options.imageWidth / options.patch);
  const table = t.param(1, height * width + 1, options.width);
  const positions =
    tokens.shape[1] === height * width + 1 ? table : resizePositions(t, table, { grid, height, width }, options);
  const sum = add(t, tokens, positions);
  const out = dropout(t, sum, options.dropRate ?? 0);
  t.keep(tokens, positions);
  return out;
}

function resizePositions(
  t: Tape,
  table: Tensor,
  size: { grid: readonly [number, number]; height: number; width: number },
  options: VitOptions,
): Tensor {
  const classPosition = slice(t, table, 1, 1);
  const map = permute(
    t,
    reshape(t, slice(t, table, 1, size.height * size.width), [1, size.height, size.width, options.width]),
    [0, 3, 1, 2],
  );
  const resized = transpose(t, flatten(t, resize(t, map, size.grid, options.resizeMode), 2), 1, 2);
  return concat(t, [classPosition, resized], 1);
}

interface LayerOptions {
  readonly heads: number;
  readonly rate: number;
  readonly dropRate: number;
  readonly checkpoint: boolean;
}

/** Pre-norm block: attention without stochastic depth, feed-forward with it. */
export function encoderLayer(t: Tape, x: Tensor, options: LayerOptions): Tensor {
  return t.call('layers', x, () =>
    t.checkpointReentrant(options.checkpoint && x.requiresGrad, [x], () => {
      const attended = mmcvSelfAttention(t, layerNorm(t, x), { identity: x, heads: options.heads });
      return feedForward(t, layerNorm(t, attended), { identity: attended, rate: options.rate });
    }),
  );
}

/** B×N×C without the class token → B×C×H×W as a row-major copy. */
export function tokensToFeature(
  t: Tape,
  x: Tensor,
  [height, width]: readonly [number, number],
  classToken: boolean,
): Tensor {
  const [batch = 1, , channels = 1] = x.shape;
  const patches = classToken ? slice(t, x, 1, height * width) : x;
  return clone(t, permute(t, reshape(t, patches, [batch, height, width, channels]), [0, 3, 1, 2]));
}

/** MultiLevelNeck: 1×1 convolutions, then maps at ×4, ×2, ×1 and ×½ with 3×3 convolutions; no norm, no activation. */
export function multiLevelNeck(t: Tape, features: readonly Tensor[], channels: number): readonly Tensor[] {
  const laterals = features.map((x, index) =>
    convBlock(t, `lateral_convs.${index}`, x, { out: channels, kernel: 1, norm: false, activation: 'none' }),
  );
  const outputs = laterals.map((lateral, index) => {
    const factor = [4, 2, 1, 0.5][index] ?? 1;
    const [height, width] = sizeOf(lateral);
    const resized = resize(t, lateral, [Math.floor(height * factor), Math.floor(width * factor)]);
    return convBlock(t, `convs.${index}`, resized, {
      out: channels,
      kernel: 3,
      padding: 1,
      norm: false,
      activation: 'none',
    });
  });
  t.keep(...laterals, ...outputs);
  return outputs;
}

import { AppError } from '../../errors.ts';
import { gelu, softmax } from '../tape/ops-activation.ts';
import { scaledDotProduct } from '../tape/ops-attention.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, scale } from '../tape/ops-core.ts';
import { linear, matmul } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat, slice, unbind } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { contiguous, expand, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { requireSize } from './fixed-size.ts';
import { unusedModules } from './unused.ts';

/** Width, layers, heads. Dosovitskiy et al. 2021, table 1, and Touvron et al. 2021, table 1. */
const SIZES = { tiny: [192, 12, 3], small: [384, 12, 6], base: [768, 12, 12], large: [1024, 24, 16] } as const;

export interface VitShape {
  readonly name: string;
  readonly width: number;
  readonly layers: number;
  readonly heads: number;
  readonly patch: number;
  /** Side the position embeddings are made for. */
  readonly side: number;
  /** Classes of the classifier that stays in the module without being used. */
  readonly classes: number;
}

function isSize(text: string | undefined): text is keyof typeof SIZES {
  return text !== undefined && Object.hasOwn(SIZES, text);
}

/** `tu-vit_base_patch16_224.augreg_in21k` and the like; undefined for other names. */
export function vitShape(name: string): VitShape | undefined {
  const match = /^tu-(?:vit|deit)_(tiny|small|base|large)_patch(8|16|32)_(224|384)(?:\.(\w+))?$/.exec(name);
  const size = match?.[1];
  if (match === null || !isSize(size)) return undefined;
  const [width, layers, heads] = SIZES[size];
  const classes = match[4]?.endsWith('in21k') === true ? 21_843 : 1000;
  return { name, width, layers, heads, patch: Number(match[2]), side: Number(match[3]), classes };
}

export interface VitRequest {
  /** Blocks after which a map is taken. */
  readonly taken: readonly number[];
  readonly fused: boolean;
  /** `img_size`: position embeddings for another side. */
  readonly imageSize: number;
  /** `dynamic_img_size`: any side, position embeddings resampled in every pass. */
  readonly dynamic: boolean;
}

function attention(t: Tape, x: Tensor, shape: VitShape, fused: boolean): Tensor {
  const [batch = 1, tokens = 1, channels = 1] = x.shape;
  return t.call('attn', x, () => {
    const packed = linear(t, x, 3 * channels);
    const split = reshape(t, packed, [batch, tokens, 3, shape.heads, channels / shape.heads]);
    const [q = x, k = x, v = x] = unbind(t, permute(t, split, [2, 0, 3, 1, 4]));
    const context = fused ? scaledDotProduct(t, { q, k, v }) : eager(t, q, k, v);
    const merged = reshape(t, transpose(t, context, 1, 2), [batch, tokens, channels]);
    const out = linear(t, merged, channels);
    t.keep(packed);
    return out;
  });
}

function eager(t: Tape, q: Tensor, k: Tensor, v: Tensor): Tensor {
  const query = scale(t, q);
  const weights = softmax(t, matmul(t, query, transpose(t, k, -2, -1)));
  const context = matmul(t, weights, v);
  t.keep(query, weights);
  return context;
}

function block(t: Tape, x: Tensor, shape: VitShape, fused: boolean): Tensor {
  return t.call('', x, () => {
    const attended = add(t, x, attention(t, layerNorm(t, x), shape, fused));
    const normalized = layerNorm(t, attended);
    const expanded = t.call('mlp', normalized, () =>
      linear(t, gelu(t, linear(t, normalized, 4 * shape.width)), shape.width),
    );
    return add(t, attended, expanded);
  });
}

/** Position embeddings of the class token and the grid, resampled where the grid differs. */
function positions(t: Tape, grid: number, [height, width]: readonly [number, number], channels: number): Tensor {
  const table = t.param(1, grid * grid + 1, channels);
  if (height === grid && width === grid) return table;
  const prefix = slice(t, table, 1, 1);
  const map = permute(t, reshape(t, slice(t, table, 1, grid * grid), [1, grid, grid, channels]), [0, 3, 1, 2]);
  const resampled = resize(t, map, [height, width], 'bicubic');
  const rows = reshape(t, permute(t, resampled, [0, 2, 3, 1]), [1, height * width, channels]);
  return concat(t, [prefix, rows], 1);
}

function embed(t: Tape, image: Tensor, shape: VitShape, request: VitRequest): Tensor {
  const { patch, width } = shape;
  const [batch = 1] = image.shape;
  const classToken = t.param(1, 1, width);
  const grid = Math.floor(request.imageSize / patch);
  const patches = t.within('patch_embed', () =>
    conv2d(t, image, { out: width, kernel: patch, stride: patch, bias: true }),
  );
  const tokens = transpose(t, flatten(t, patches, 2), 1, 2);
  const table = positions(t, grid, sizeOf(patches), width);
  const joined = concat(t, [expand(t, classToken, [batch, 1, width]), tokens], 1);
  const embedded = add(t, joined, table);
  t.keep(joined);
  return embedded;
}

/** Maps of B×C×h×w and their class tokens. timm 1.0.31 `VisionTransformer.forward_intermediates`. */
export function vitFeatures(
  t: Tape,
  image: Tensor,
  shape: VitShape,
  request: VitRequest,
): { readonly maps: readonly Tensor[]; readonly prefixes: readonly Tensor[] } {
  const [height, width] = sizeOf(image);
  if (!request.dynamic) requireSize(image, shape.name, request.imageSize);
  else if (height % shape.patch !== 0 || width % shape.patch !== 0) throw indivisible(shape, [height, width]);
  return t.within('model', () => {
    let x = embed(t, image, shape, request);
    const taken: Tensor[] = [];
    for (let index = 0; index < shape.layers; index += 1) {
      const input = x;
      x = t.within(`blocks.${index}`, () => block(t, input, shape, request.fused));
      if (request.taken.includes(index)) taken.push(x);
    }
    unusedModules(t, [1, 1, shape.width], (shadow, small) => linear(shadow, layerNorm(shadow, small), shape.classes));
    return cut(t, taken, [height / shape.patch, width / shape.patch]);
  });
}

function cut(
  t: Tape,
  taken: readonly Tensor[],
  [rows, columns]: readonly [number, number],
): { maps: readonly Tensor[]; prefixes: readonly Tensor[] } {
  const prefixes = taken.map((tokens) => slice(t, tokens, 1, 1));
  const grids = taken.map((tokens) => slice(t, tokens, 1, rows * columns));
  const maps = grids.map((tokens) => {
    const [batch = 1, , channels = 1] = tokens.shape;
    return contiguous(t, permute(t, reshape(t, tokens, [batch, rows, columns, channels]), [0, 3, 1, 2]));
  });
  t.keep(...taken);
  return { maps, prefixes };
}

function indivisible(shape: VitShape, [height, width]: readonly [number, number]): AppError {
  return new AppError('unsupported-combination', `${shape.name} needs sides that are multiples of ${shape.patch}`, {
    details: { rule: 'multiple-of', height, width, multipleOf: shape.patch },
  });
}

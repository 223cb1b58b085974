import { gelu, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, constant, scale } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { linear, matmul } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { pad, roll, select, slice, unbind } from '../tape/ops-parts.ts';
import { clone, contiguous, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import { emitFresh } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { relativePositionBias } from './relative-position-bias.ts';

export interface SwinOptions {
  readonly width: number;
  readonly depths: readonly number[];
  readonly heads: readonly number[];
  readonly window: number;
  readonly dropPathRate: number;
  readonly checkpoint: boolean;
}

interface Grid {
  readonly height: number;
  readonly width: number;
}

interface BlockOptions {
  readonly heads: number;
  readonly window: number;
  readonly shifted: boolean;
  readonly dropPath: number;
  readonly checkpoint: boolean;
}

/** Swin Transformer of MMSegmentation 1.2 (Liu et al. 2021), eager attention: B×C×H×W maps at strides 4, 8, 16, 32, each normalised. */
export function swinTransformer(t: Tape, image: Tensor, options: SwinOptions): readonly Tensor[] {
  const total = options.depths.reduce((sum, depth) => sum + depth, 0);
  let { tokens, grid } = patchEmbed(t, image, options.width);
  let block = 0;
  return options.depths.map((depth, stage) => {
    const rates = Array.from(
      { length: depth },
      (_, index) => (options.dropPathRate * (block + index)) / Math.max(1, total - 1),
    );
    block += depth;
    const last = stage === options.depths.length - 1;
    const input = tokens;
    const here = grid;
    const out = t.call(`stages.${stage}`, input, () => {
      let feature = input;
      for (const [index, rate] of rates.entries()) {
        const block = {
          heads: options.heads[stage] ?? 1,
          window: options.window,
          shifted: index % 2 === 1,
          dropPath: rate,
          checkpoint: options.checkpoint,
        };
        feature = swinBlock(t, feature, here, block);
      }
      if (!last) {
        tokens = t.within('downsample', () => patchMerging(t, feature, here));
        grid = { height: Math.ceil(here.height / 2), width: Math.ceil(here.width / 2) };
      }
      return feature;
    });
    return t.within(`norm${stage}`, () => normalisedMap(t, out, here));
  });
}

function normalisedMap(t: Tape, tokens: Tensor, { height, width }: Grid): Tensor {
  const [batch = 1, , channels = 1] = tokens.shape;
  return contiguous(t, permute(t, reshape(t, layerNorm(t, tokens), [batch, height, width, channels]), [0, 3, 1, 2]));
}

function patchEmbed(t: Tape, image: Tensor, channels: number): { tokens: Tensor; grid: Grid } {
  return t.call('patch_embed', image, () => {
    const [batch = 1, colours = 3, height = 1, width = 1] = image.shape;
    const grid = { height: Math.ceil(height / 4), width: Math.ceil(width / 4) };
    const fits = height % 4 === 0 && width % 4 === 0;
    const padded = fits ? image : pad(t, image, [batch, colours, 4 * grid.height, 4 * grid.width]);
    const map = conv2d(t, padded, { out: channels, kernel: 4, stride: 4, bias: true });
    return { tokens: layerNorm(t, transpose(t, flatten(t, map, 2), 1, 2)), grid };
  });
}

function swinBlock(t: Tape, x: Tensor, grid: Grid, options: BlockOptions): Tensor {
  return t.call('', x, () =>
    t.checkpointReentrant(options.checkpoint && x.requiresGrad, [x], () => {
      const attended = add(t, shiftedWindowAttention(t, layerNorm(t, x), grid, options), x);
      return feedForward(t, layerNorm(t, attended), { identity: attended, rate: options.dropPath });
    }),
  );
}

/** mmcv's FFN with two layers and a residual connection. */
export function feedForward(t: Tape, x: Tensor, options: { identity: Tensor; rate: number; ratio?: number }): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('ffn', [x, options.identity], () => {
    const out = t.call('', x, () => {
      const hidden = t.call('', x, () => gelu(t, linear(t, x, channels * (options.ratio ?? 4))));
      return linear(t, hidden, channels);
    });
    const sum = add(t, options.identity, dropPath(t, out, options.rate, true));
    t.keep(out);
    return sum;
  });
}

/** Windows of `window`² tokens, rolled by half a window in every other block; maps are padded to whole windows. */
function shiftedWindowAttention(t: Tape, x: Tensor, grid: Grid, options: BlockOptions): Tensor {
  const [batch = 1, , channels = 1] = x.shape;
  const { window } = options;
  const padded = { height: Math.ceil(grid.height / window) * window, width: Math.ceil(grid.width / window) * window };
  return t.call('attn', x, () => {
    const map = pad(t, reshape(t, x, [batch, grid.height, grid.width, channels]), [
      batch,
      padded.height,
      padded.width,
      channels,
    ]);
    const shifted = options.shifted ? roll(t, map) : map;
    const mask = options.shifted ? windowMask(t, padded, window) : undefined;
    const windows = reshape(t, partition(t, shifted, window), [-1, window * window, channels]);
    const attended = windowAttention(t, windows, { heads: options.heads, window, mask });
    const merged = mergeWindows(t, attended, { batch, padded, window });
    const rolled = options.shifted ? roll(t, merged) : merged;
    const cropped = crop(t, rolled, grid, padded);
    const tokens = reshape(t, cropped, [batch, grid.height * grid.width, channels]);
    const out = dropPath(t, tokens, options.dropPath, true);
    t.keep(map, shifted, windows, attended, merged, tokens, ...(mask === undefined ? [] : [mask]));
    return out;
  });
}

function crop(t: Tape, x: Tensor, grid: Grid, padded: Grid): Tensor {
  if (grid.height === padded.height && grid.width === padded.width) return x;
  return clone(t, slice(t, slice(t, x, 1, grid.height), 2, grid.width));
}

/** Additive mask of the shifted layout, nW×N×N in fp32: built anew in every block. */
function windowMask(t: Tape, { height, width }: Grid, window: number): Tensor {
  const count = (height / window) * (width / window);
  const size = window * window;
  const regions = constant(t, 'zeros', [1, height, width, 1], 'float');
  const windows = constant(t, 'clone', [count, size], 'float');
  const difference = constant(t, 'sub', [count, size, size], 'float');
  const unequal = constant(t, 'ne', [count, size, size], 'byte');
  const filled = constant(t, 'masked_fill', [count, size, size], 'float');
  t.keep(unequal);
  const equal = constant(t, 'eq', [count, size, size], 'byte');
  const mask = constant(t, 'masked_fill', [count, size, size], 'float');
  t.keep(regions, windows, difference, filled, equal);
  return mask;
}

/** B×H×W×C → (B·nW)×w×w×C. */
export function partition(t: Tape, x: Tensor, window: number): Tensor {
  const [batch = 1, height = 1, width = 1, channels = 1] = x.shape;
  const split = reshape(t, x, [batch, height / window, window, width / window, window, channels]);
  return reshape(t, contiguous(t, permute(t, split, [0, 1, 3, 2, 4, 5])), [-1, window, window, channels]);
}

/** (B·nW)×N×C → B×H×W×C. */
export function mergeWindows(
  t: Tape,
  x: Tensor,
  { batch, padded, window }: { batch: number; padded: Grid; window: number },
): Tensor {
  const channels = x.shape[2] ?? 1;
  const grid = reshape(t, x, [batch, padded.height / window, padded.width / window, window, window, channels]);
  return reshape(t, contiguous(t, permute(t, grid, [0, 1, 3, 2, 4, 5])), [
    batch,
    padded.height,
    padded.width,
    channels,
  ]);
}

export interface WindowAttention {
  readonly heads: number;
  readonly window: number;
  readonly mask: Tensor | undefined;
  /** timm splits q, k, v in one operation and drops the bias after its use; the original selects them one by one. */
  readonly unbinds?: boolean;
}

/** Attention inside windows with a learned relative position bias, (B·nW)×N×C. */
export function windowAttention(t: Tape, x: Tensor, { heads, window, mask, unbinds = false }: WindowAttention): Tensor {
  const [batch = 1, tokens = 1, channels = 1] = x.shape;
  return t.call('w_msa', mask === undefined ? [x] : [x, mask], () => {
    const packed = linear(t, x, 3 * channels);
    const qkv = permute(t, reshape(t, packed, [batch, tokens, 3, heads, channels / heads]), [2, 0, 3, 1, 4]);
    const parts = unbinds ? unbind(t, qkv) : [select(t, qkv, 0), select(t, qkv, 0), select(t, qkv, 0)];
    const [q = x, k = x, v = x] = parts;
    const query = scale(t, q);
    const scores = matmul(t, query, transpose(t, k, -2, -1));
    const bias = relativePositionBias(t, { heads, tokens, rows: (2 * window - 1) ** 2 });
    const biased = add(t, scores, bias);
    const masked = mask === undefined ? biased : withMask(t, biased, mask);
    const weights = softmax(t, masked);
    const attended = reshape(t, transpose(t, matmul(t, weights, v), 1, 2), [batch, tokens, channels]);
    const out = linear(t, attended, channels);
    t.keep(packed, query, weights, ...(unbinds ? [] : [bias]));
    return out;
  });
}

/** Adds a mask of nW×N×N to scores of (B·nW)×h×N×N. */
export function withMask(t: Tape, scores: Tensor, mask: Tensor): Tensor {
  const [batch = 1, heads = 1, tokens = 1] = scores.shape;
  const windows = mask.shape[0] ?? 1;
  const grouped = reshape(t, scores, [batch / windows, windows, heads, tokens, tokens]);
  const sum = add(t, grouped, reshape(t, mask, [1, windows, 1, tokens, tokens]));
  return reshape(t, sum, [batch, heads, tokens, tokens]);
}

/** Four neighbours to one token of 4·C, normalised, then 2·C without bias. */
function patchMerging(t: Tape, x: Tensor, grid: Grid): Tensor {
  const [batch = 1, , channels = 1] = x.shape;
  return t.call('', x, () => {
    const even = { height: 2 * Math.ceil(grid.height / 2), width: 2 * Math.ceil(grid.width / 2) };
    const map = permute(t, reshape(t, x, [batch, grid.height, grid.width, channels]), [0, 3, 1, 2]);
    const fits = even.height === grid.height && even.width === grid.width;
    const padded = fits ? map : pad(t, map, [batch, channels, even.height, even.width]);
    const shape = [batch, 4 * channels, (even.height * even.width) / 4];
    t.begin('im2col', [padded]);
    const storage = t.allocate(shape, padded.dtype);
    t.work('pointwise', padded.dtype === 'half', { macs: 0, bytes: 2 * storage.bytes });
    const columns = t.result(
      { storage, shape, dtype: padded.dtype },
      { name: 'im2col', inputs: [padded], saved: [], rule: (walk, node) => emitFresh(walk, node, 0) },
    );
    return linear(t, layerNorm(t, transpose(t, columns, 1, 2)), 2 * channels, { bias: false });
  });
}

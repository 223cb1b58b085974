import { gelu, sigmoid } from '../tape/ops-activation.ts';
import { scaledDotProduct } from '../tape/ops-attention.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply, toHalf } from '../tape/ops-core.ts';
import { averagePool } from '../tape/ops-layers.ts';
import { bmm, linear } from '../tape/ops-linear.ts';
import { batchNorm, layerNorm } from '../tape/ops-norm.ts';
import { pad, unbind } from '../tape/ops-parts.ts';
import { mean } from '../tape/ops-resize.ts';
import { contiguous, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import type { EncoderTable } from './encoder.ts';
import { activateInPlace, samePaddedConv } from './encoder-mbconv.ts';
import { requireSize } from './fixed-size.ts';

interface Variant {
  readonly stem: number;
  readonly widths: readonly number[];
  readonly depths: readonly number[];
}

/** Tu et al. 2022, table 1, in the TensorFlow layout. */
const SIZES: Readonly<Record<string, Variant>> = {
  tiny: { stem: 64, widths: [64, 128, 256, 512], depths: [2, 2, 5, 2] },
  small: { stem: 64, widths: [96, 192, 384, 768], depths: [2, 2, 5, 2] },
  base: { stem: 64, widths: [96, 192, 384, 768], depths: [2, 6, 14, 2] },
  large: { stem: 128, widths: [128, 256, 512, 1024], depths: [2, 6, 14, 2] },
  xlarge: { stem: 192, widths: [192, 384, 768, 1536], depths: [2, 6, 14, 2] },
};

const SIDES = [224, 384, 512];
const HEAD_SIZE = 32;

function squeezeExcite(t: Tape, x: Tensor, width: number): Tensor {
  return t.call('se', x, () => {
    const pooled = mean(t, x, [2, 3], true);
    const reduced = activateInPlace(t, conv2d(t, pooled, { out: width, kernel: 1, bias: true }), 'silu');
    const expanded = conv2d(t, reduced, { out: channelsOf(x), kernel: 1, bias: true });
    const gated = multiply(t, x, sigmoid(t, expanded));
    t.keep(expanded);
    return gated;
  });
}

/** SAME pooling pads first, a copy even where nothing is missing. */
function shrunk(t: Tape, x: Tensor, out: number): Tensor {
  return t.call('shortcut', x, () => {
    const pooled = t.call('pool', x, () => averagePool(t, pad(t, x, x.shape), { kernel: 2, stride: 2 }));
    return channelsOf(x) === out ? pooled : conv2d(t, pooled, { out, kernel: 1, bias: true });
  });
}

const normGelu = (t: Tape, x: Tensor): Tensor => t.call('', x, () => gelu(t, batchNorm(t, x)));

/** MBConv with a norm in front, GELU, a gate and a pooled shortcut where it strides. */
function mbConv(t: Tape, x: Tensor, out: number, stride: number): Tensor {
  const width = 4 * out;
  return t.call('conv', x, () => {
    const shortcut = stride === 2 ? shrunk(t, x, out) : x;
    const expanded = normGelu(t, conv2d(t, batchNorm(t, x), { out: width, kernel: 1 }));
    const shape = { out: width, kernel: 3, stride, groups: width, same: true };
    const gated = squeezeExcite(t, normGelu(t, samePaddedConv(t, expanded, shape)), Math.floor(out / 4));
    const sum = add(t, conv2d(t, gated, { out, kernel: 1, bias: true }), shortcut);
    t.keep(shortcut);
    return sum;
  });
}

/** Bias of relative positions by two products (`einsum`, in the 16-bit list) with one-hot tables: h×N×N. */
function positionBias(t: Tape, heads: number, window: number): Tensor {
  const span = 2 * window - 1;
  const table = t.param(heads, span, span);
  const heights = t.buffer([window, window, span]);
  const widths = t.buffer([window, window, span]);
  const lookup = (buffer: Tensor): Tensor =>
    reshape(t, permute(t, toHalf(t, buffer), [2, 0, 1]), [1, span, window * window]);
  const columns = reshape(t, permute(t, toHalf(t, table), [0, 2, 1]), [1, heads * span, span]);
  const rows = reshape(t, bmm(t, columns, lookup(heights)), [heads, span, window, window]);
  const flat = reshape(t, permute(t, rows, [0, 2, 3, 1]), [1, heads * window * window, span]);
  const full = reshape(t, bmm(t, flat, lookup(widths)), [heads, window, window, window, window]);
  return reshape(t, permute(t, full, [0, 1, 3, 2, 4]), [heads, window ** 2, window ** 2]);
}

/** Fused attention inside a partition, channels last. */
function attention(t: Tape, x: Tensor, window: number): Tensor {
  const [batch = 1, , , channels = 1] = x.shape;
  const heads = channels / HEAD_SIZE;
  const tokens = window * window;
  return t.call('attn', x, () => {
    const packed = reshape(t, linear(t, x, 3 * channels), [batch, tokens, 3, heads, HEAD_SIZE]);
    const [q = x, k = x, v = x] = unbind(t, transpose(t, packed, 1, 3), 2);
    const bias = positionBias(t, heads, window);
    const context = scaledDotProduct(t, { q, k, v, mask: bias });
    const out = linear(t, reshape(t, transpose(t, context, 1, 2), x.shape), channels);
    t.keep(packed, bias);
    return out;
  });
}

type Kind = 'block' | 'grid';

/** Windows of neighbours (`block`) or of pixels at equal distances (`grid`). */
function partitioned(t: Tape, x: Tensor, window: number, kind: Kind): Tensor {
  const [batch = 1, height = 1, width = 1, channels = 1] = x.shape;
  const shape =
    kind === 'block'
      ? [batch, height / window, window, width / window, window, channels]
      : [batch, window, height / window, window, width / window, channels];
  const order = kind === 'block' ? [0, 1, 3, 2, 4, 5] : [0, 2, 4, 1, 3, 5];
  return reshape(t, contiguous(t, permute(t, reshape(t, x, shape), order)), [-1, window, window, channels]);
}

function restored(t: Tape, x: Tensor, shape: readonly number[], kind: Kind): Tensor {
  const [batch = 1, height = 1, width = 1, channels = 1] = shape;
  const window = x.shape[1] ?? 1;
  const grid = reshape(t, x, [batch, height / window, width / window, window, window, channels]);
  const order = kind === 'block' ? [0, 1, 3, 2, 4, 5] : [0, 3, 1, 4, 2, 5];
  return reshape(t, contiguous(t, permute(t, grid, order)), shape);
}

function partitionAttention(t: Tape, x: Tensor, window: number, kind: Kind): Tensor {
  return t.call(`attn_${kind}`, x, () => {
    const normalized = layerNorm(t, x);
    const attended = attention(t, partitioned(t, normalized, window, kind), window);
    const branch = restored(t, attended, x.shape, kind);
    t.keep(normalized, attended);
    const middle = add(t, x, branch);
    const input = layerNorm(t, middle);
    const channels = x.shape[3] ?? 1;
    const refined = t.call('mlp', input, () => linear(t, gelu(t, linear(t, input, 4 * channels)), channels));
    return add(t, middle, refined);
  });
}

function block(t: Tape, x: Tensor, shape: { out: number; stride: number; window: number }): Tensor {
  return t.call('', x, () => {
    const map = permute(t, mbConv(t, x, shape.out, shape.stride), [0, 2, 3, 1]);
    const local = partitionAttention(t, map, shape.window, 'block');
    return permute(t, partitionAttention(t, local, shape.window, 'grid'), [0, 3, 1, 2]);
  });
}

function stem(t: Tape, x: Tensor, width: number): Tensor {
  return t.call('stem', x, () => {
    const shape = { out: width, kernel: 3, bias: true, same: true };
    return samePaddedConv(t, normGelu(t, samePaddedConv(t, x, { ...shape, stride: 2 })), shape);
  });
}

function encoderOf(name: string, variant: Variant, side: number): EncoderTable[string] {
  return {
    dilates: false,
    features: (t, image, { depth, imageSize }) => {
      const built = imageSize ?? side;
      requireSize(image, name, built);
      const maps = [t.within('model', () => stem(t, image, variant.stem))];
      for (let index = 0; index < depth - 1; index += 1) {
        let feature = maps[index] ?? image;
        const input = feature;
        const out = variant.widths[index] ?? 64;
        feature = t.call(`model.stages_${index}`, input, () => {
          let map = input;
          for (let layer = 0; layer < (variant.depths[index] ?? 1); layer += 1)
            map = block(t, map, { out, stride: layer === 0 ? 2 : 1, window: built / 32 });
          return map;
        });
        maps.push(feature);
      }
      t.keep(...maps);
      return [image, ...maps];
    },
  };
}

/** timm 1.0.31 MaxViT (TensorFlow weights' layout) behind `features_only`; the windows follow the size it is built for. */
export const timmMaxvitEncoders: EncoderTable = Object.fromEntries(
  Object.entries(SIZES).flatMap(([size, variant]) =>
    SIDES.map((side) => {
      const name = `tu-maxvit_${size}_tf_${side}`;
      return [name, encoderOf(name, variant, side)];
    }),
  ),
);

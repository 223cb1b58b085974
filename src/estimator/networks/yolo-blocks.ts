import { softmax } from '../tape/ops-activation.ts';
import { add, scale } from '../tape/ops-core.ts';
import { maxPool } from '../tape/ops-layers.ts';
import { matmul } from '../tape/ops-linear.ts';
import { concat, split } from '../tape/ops-parts.ts';
import { clone, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, convBlock, sizeOf } from './blocks.ts';

export interface YoloConv {
  readonly out: number;
  readonly kernel?: number;
  readonly stride?: number;
  readonly groups?: number;
  /** False: no SiLU after the norm. */
  readonly active?: boolean;
}

/** Convolution without bias, BatchNorm, SiLU out of place (ultralytics 8.4.190, nn/modules/conv.py). */
export function yoloConv(t: Tape, name: string, x: Tensor, options: YoloConv): Tensor {
  const { out, kernel = 1, stride = 1, groups = 1, active = true } = options;
  return convBlock(t, name, x, {
    out,
    kernel,
    stride,
    groups,
    padding: Math.floor(kernel / 2),
    activation: active ? 'silu' : 'none',
    inPlace: false,
  });
}

interface BottleneckOptions {
  /** Hidden channels. */
  readonly hidden: number;
  readonly shortcut: boolean;
}

/** Two 3×3 convolutions around `hidden` channels, added to the input where `shortcut` says so. */
function bottleneck(t: Tape, name: string, x: Tensor, { hidden, shortcut }: BottleneckOptions): Tensor {
  return t.call(name, x, () => {
    const narrow = yoloConv(t, 'cv1', x, { out: hidden, kernel: 3 });
    const wide = yoloConv(t, 'cv2', narrow, { out: channelsOf(x), kernel: 3 });
    return shortcut ? add(t, x, wide) : wide;
  });
}

/** C3k: two bottlenecks on half the channels beside a plain projection. */
function c3k(t: Tape, name: string, x: Tensor): Tensor {
  const out = channelsOf(x);
  const hidden = Math.floor(out / 2);
  return t.call(name, x, () => {
    const first = yoloConv(t, 'cv1', x, { out: hidden });
    const deep = t.call('m', first, () => {
      const inner = bottleneck(t, '0', first, { hidden, shortcut: true });
      return bottleneck(t, '1', inner, { hidden, shortcut: true });
    });
    const joined = concat(t, [deep, yoloConv(t, 'cv2', x, { out: hidden })], 1);
    return yoloConv(t, 'cv3', joined, { out });
  });
}

export interface CrossStage {
  readonly out: number;
  readonly repeats: number;
  /** `c2f`: YOLOv8; `c3k2`: YOLO11 with bottlenecks of half width; `c3k`: YOLO11 with C3k inside. */
  readonly kind: 'c2f' | 'c3k2' | 'c3k';
  readonly shortcut: boolean;
  /** Share of the output channels that the blocks work on; 0.5 by default. */
  readonly expansion?: number;
}

/** C2f and C3k2: half of a projection passes `repeats` blocks, and every intermediate map is joined and projected. */
export function crossStage(t: Tape, name: string, x: Tensor, options: CrossStage): Tensor {
  const { out, repeats, kind, shortcut, expansion = 0.5 } = options;
  const width = Math.floor(out * expansion);
  return t.call(name, x, () => {
    const parts = split(t, yoloConv(t, 'cv1', x, { out: 2 * width }), 1, [width, width]);
    let last = parts[1] ?? x;
    for (let index = 0; index < repeats; index += 1) {
      const block = `m.${index}`;
      last =
        kind === 'c3k'
          ? c3k(t, block, last)
          : bottleneck(t, block, last, { hidden: kind === 'c2f' ? width : Math.floor(width / 2), shortcut });
      parts.push(last);
    }
    const projected = yoloConv(t, 'cv2', concat(t, parts, 1), { out });
    t.keep(...parts);
    return projected;
  });
}

/** SPPF: three 5×5 max poolings one after the other, joined with what they started from. */
export function pyramidPooling(t: Tape, name: string, x: Tensor): Tensor {
  const out = channelsOf(x);
  return t.call(name, x, () => {
    const maps = [yoloConv(t, 'cv1', x, { out: Math.floor(out / 2) })];
    for (let index = 0; index < 3; index += 1) {
      const before = maps[index] ?? x;
      maps.push(t.call('m', before, () => maxPool(t, before, { kernel: 5, stride: 1, padding: 2 })));
    }
    const projected = yoloConv(t, 'cv2', concat(t, maps, 1), { out });
    t.keep(...maps);
    return projected;
  });
}

/** Channels of one attention head, and of its keys. */
const HEAD = 64;

/** C2PSA: half of a projection passes `repeats` blocks of attention and feed-forward convolutions. */
export function attentionStage(t: Tape, name: string, x: Tensor, repeats: number): Tensor {
  const out = channelsOf(x);
  const width = Math.floor(out / 2);
  return t.call(name, x, () => {
    const [plain, attended] = split(t, yoloConv(t, 'cv1', x, { out: 2 * width }), 1, [width, width]);
    if (plain === undefined || attended === undefined) throw new RangeError('two halves');
    const blocks = t.call('m', attended, () => {
      let y = attended;
      for (let index = 0; index < repeats; index += 1) y = attentionBlock(t, String(index), y);
      return y;
    });
    const projected = yoloConv(t, 'cv2', concat(t, [plain, blocks], 1), { out });
    t.keep(plain, blocks);
    return projected;
  });
}

function attentionBlock(t: Tape, name: string, x: Tensor): Tensor {
  const channels = channelsOf(x);
  return t.call(name, x, () => {
    const attended = add(t, x, attention(t, x));
    const mixed = t.call('ffn', attended, () => {
      const wide = yoloConv(t, '0', attended, { out: 2 * channels });
      return yoloConv(t, '1', wide, { out: channels, active: false });
    });
    return add(t, attended, mixed);
  });
}

/** Attention over all positions, keys of half the width; scores as a matrix in fp32; positions by a depthwise convolution. */
function attention(t: Tape, x: Tensor): Tensor {
  const channels = channelsOf(x);
  const [height, width] = sizeOf(x);
  const batch = x.shape[0] ?? 1;
  const heads = Math.max(Math.floor(channels / HEAD), 1);
  const size = Math.floor(channels / heads);
  const keys = Math.floor(size / 2);
  return t.call('attn', x, () => {
    const projected = yoloConv(t, 'qkv', x, { out: channels + 2 * keys * heads, active: false });
    const perHead = reshape(t, projected, [batch, heads, 2 * keys + size, height * width]);
    const [q, k, v] = split(t, perHead, 2, [keys, keys, size]);
    if (q === undefined || k === undefined || v === undefined) throw new RangeError('three parts');
    const scores = softmax(t, matmul(t, transpose(t, scale(t, q), 2, 3), k));
    const values = reshape(t, matmul(t, v, transpose(t, scores, 2, 3)), [batch, channels, height, width]);
    const map = reshape(t, heads === 1 ? v : clone(t, v), [batch, channels, height, width]);
    const places = yoloConv(t, 'pe', map, { out: channels, kernel: 3, groups: channels, active: false });
    const sum = add(t, values, places);
    const result = yoloConv(t, 'proj', sum, { out: channels, active: false });
    t.keep(projected, scores);
    return result;
  });
}

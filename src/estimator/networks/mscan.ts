import { gelu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { batchNorm, layerNorm } from '../tape/ops-norm.ts';
import { clone, copy, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

export interface MscanOptions {
  readonly widths: readonly number[];
  readonly ratios: readonly number[];
  readonly depths: readonly number[];
  readonly dropPathRate: number;
}

type Size = readonly [number, number];

/** Kernels of the three pairs of strip convolutions. */
const STRIPS = [7, 11, 21];

/** MSCAN, the backbone of SegNeXt (Guo et al. 2022; MMSegmentation 1.2): B×C×H×W maps at strides 4, 8, 16, 32. */
export function mscan(t: Tape, image: Tensor, options: MscanOptions): readonly Tensor[] {
  const total = options.depths.reduce((sum, depth) => sum + depth, 0);
  let block = 0;
  let x = image;
  return options.depths.map((depth, stage) => {
    const input = x;
    const width = options.widths[stage] ?? 1;
    x = t.within(`block${stage + 1}`, () => {
      const { tokens, size } = stage === 0 ? stemTokens(t, input, width) : embedTokens(t, input, width);
      let feature = tokens;
      for (let index = 0; index < depth; index += 1, block += 1) {
        const rate = (options.dropPathRate * block) / Math.max(1, total - 1);
        feature = mscanBlock(t, feature, { size, ratio: options.ratios[stage] ?? 4, rate });
      }
      const normalised = layerNorm(t, feature);
      const [batch = 1] = normalised.shape;
      return clone(t, permute(t, reshape(t, normalised, [batch, size[0], size[1], width]), [0, 3, 1, 2]));
    });
    return x;
  });
}

function asTokens(t: Tape, map: Tensor): { tokens: Tensor; size: Size } {
  return { tokens: transpose(t, flatten(t, map, 2), 1, 2), size: [map.shape[2] ?? 1, map.shape[3] ?? 1] };
}

function stemTokens(t: Tape, x: Tensor, width: number): { tokens: Tensor; size: Size } {
  return t.call('patch_embed', x, () => {
    const map = t.call('proj', x, () => {
      const first = gelu(
        t,
        batchNorm(t, conv2d(t, x, { out: width / 2, kernel: 3, stride: 2, padding: 1, bias: true })),
      );
      return batchNorm(t, conv2d(t, first, { out: width, kernel: 3, stride: 2, padding: 1, bias: true }));
    });
    return asTokens(t, map);
  });
}

function embedTokens(t: Tape, x: Tensor, width: number): { tokens: Tensor; size: Size } {
  return t.call('patch_embed', x, () =>
    asTokens(t, batchNorm(t, conv2d(t, x, { out: width, kernel: 3, stride: 2, padding: 1, bias: true }))),
  );
}

/** Attention and feed-forward branches, each scaled by a learned vector and dropped by path. */
function mscanBlock(t: Tape, x: Tensor, block: { size: Size; ratio: number; rate: number }): Tensor {
  const [batch = 1, tokens = 1, channels = 1] = x.shape;
  return t.call('', x, () => {
    const map = reshape(t, permute(t, x, [0, 2, 1]), [batch, channels, block.size[0], block.size[1]]);
    const attended = spatialAttention(t, batchNorm(t, map));
    const middle = add(t, map, scaled(t, attended, block.rate));
    const fed = feedForward(t, batchNorm(t, middle), block.ratio);
    const out = add(t, middle, scaled(t, fed, block.rate));
    return permute(t, reshape(t, out, [batch, channels, tokens]), [0, 2, 1]);
  });
}

function scaled(t: Tape, x: Tensor, rate: number): Tensor {
  const channels = x.shape[1] ?? 1;
  return dropPath(t, multiply(t, reshape(t, t.param(channels), [channels, 1, 1]), x), rate, true);
}

function spatialAttention(t: Tape, x: Tensor): Tensor {
  const channels = x.shape[1] ?? 1;
  return t.call('attn', x, () => {
    const shortcut = copy(t, x);
    const entered = gelu(t, conv2d(t, x, { out: channels, kernel: 1, bias: true }));
    const gated = stripAttention(t, entered);
    const out = add(t, conv2d(t, gated, { out: channels, kernel: 1, bias: true }), shortcut);
    t.keep(shortcut);
    return out;
  });
}

/** A depthwise 5×5 and three pairs of strip convolutions, summed, mixed, times the input. */
function stripAttention(t: Tape, x: Tensor): Tensor {
  const channels = x.shape[1] ?? 1;
  const depthwise = (input: Tensor, kernel: Size): Tensor =>
    conv2d(t, input, {
      out: channels,
      kernel,
      padding: [Math.floor(kernel[0] / 2), Math.floor(kernel[1] / 2)],
      groups: channels,
      bias: true,
    });
  return t.call('spatial_gating_unit', x, () => {
    const gate = copy(t, x);
    const local = depthwise(x, [5, 5]);
    const strips = STRIPS.map((kernel) => depthwise(depthwise(local, [1, kernel]), [kernel, 1]));
    const mixed = strips.reduce((sum, strip) => add(t, sum, strip), local);
    t.keep(local);
    const attention = conv2d(t, mixed, { out: channels, kernel: 1, bias: true });
    const out = multiply(t, attention, gate);
    t.keep(...strips, gate, attention);
    return out;
  });
}

function feedForward(t: Tape, x: Tensor, ratio: number): Tensor {
  const channels = x.shape[1] ?? 1;
  const hidden = ratio * channels;
  return t.call('mlp', x, () => {
    const wide = conv2d(t, x, { out: hidden, kernel: 1, bias: true });
    const mixed = conv2d(t, wide, { out: hidden, kernel: 3, padding: 1, groups: hidden, bias: true });
    return conv2d(t, gelu(t, mixed), { out: channels, kernel: 1, bias: true });
  });
}

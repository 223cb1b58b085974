import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { adaptiveAveragePool, maxPool } from '../tape/ops-layers.ts';
import { batchNorm, groupNorm } from '../tape/ops-norm.ts';
import { pad } from '../tape/ops-parts.ts';
import { reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, sizeOf } from './blocks.ts';

const BLOCKS = [3, 4, 9];
const CHANNELS = [256, 512, 1024];
const GROUPS = 32;

interface Standardized {
  readonly out: number;
  readonly kernel: number;
  readonly stride?: number;
}

/** TensorFlow's padding for a stride: a copy where it adds something. */
function padded(t: Tape, x: Tensor, kernel: number, stride: number): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  const extra = (side: number): number => Math.max((Math.ceil(side / stride) - 1) * stride + kernel - side, 0);
  if (extra(height) === 0 && extra(width) === 0) return x;
  return pad(t, x, [batch, channels, height + extra(height), width + extra(width)]);
}

/** Convolution whose weights are normalised over each output channel first. */
function standardized(t: Tape, x: Tensor, { out, kernel, stride = 1 }: Standardized): Tensor {
  return t.call('', x, () => {
    const source = stride === 1 ? x : padded(t, x, kernel, stride);
    const shape = [out, channelsOf(x), kernel, kernel];
    const flat = reshape(t, t.param(...shape), [1, out, channelsOf(x) * kernel * kernel]);
    const weight = reshape(t, batchNorm(t, flat, { affine: false, tracked: false }), shape);
    const padding = stride === 1 ? (kernel - 1) / 2 : 0;
    return conv2d(t, source, { out, kernel, stride, padding, shared: { weight, bias: null } });
  });
}

function activated(t: Tape, x: Tensor): Tensor {
  return t.call('', x, () => relu(t, groupNorm(t, x, GROUPS), false));
}

function bottleneck(
  t: Tape,
  x: Tensor,
  { out, stride, first }: { out: number; stride: number; first: boolean },
): Tensor {
  return t.call('layers', x, () => {
    const shortcut = first
      ? t.call('downsample', x, () => groupNorm(t, standardized(t, x, { out, kernel: 1, stride }), GROUPS))
      : x;
    const thin = activated(t, standardized(t, x, { out: out / 4, kernel: 1 }));
    const mixed = activated(t, standardized(t, thin, { out: out / 4, kernel: 3, stride }));
    const wide = groupNorm(t, standardized(t, mixed, { out, kernel: 1 }), GROUPS);
    const sum = relu(t, add(t, wide, shortcut), false);
    t.keep(shortcut, wide);
    return sum;
  });
}

/** BiT backbone of DPT-Hybrid in transformers 5.24: B×256, 512, 1024 maps at strides 4, 8, 16. */
export function hfBit(t: Tape, image: Tensor): readonly Tensor[] {
  return t.call('backbone', image, () => {
    const stem = t.call('embedder', image, () => {
      const first = activated(t, standardized(t, image, { out: 64, kernel: 7, stride: 2 }));
      const [height, width] = sizeOf(first);
      const source = height % 2 === 0 || width % 2 === 0 ? padded(t, first, 3, 2) : first;
      return maxPool(t, source, { kernel: 3, stride: 2 });
    });
    let x = stem;
    const maps: Tensor[] = [];
    for (const [stage, count] of BLOCKS.entries()) {
      for (let index = 0; index < count; index += 1) {
        const stride = stage > 0 && index === 0 ? 2 : 1;
        x = bottleneck(t, x, { out: CHANNELS[stage] ?? 1, stride, first: index === 0 });
      }
      maps.push(x);
    }
    const pooled = adaptiveAveragePool(t, x, 1);
    t.keep(stem, pooled, ...maps);
    return maps;
  });
}

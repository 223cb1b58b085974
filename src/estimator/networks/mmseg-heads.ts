import { concat } from '../tape/ops-core.ts';
import { adaptiveAveragePool, resize } from '../tape/ops-layers.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, separableBlock, sizeOf } from './blocks.ts';
import { classify, type Head } from './mmseg-segmentor.ts';

export interface HeadOptions {
  /** Which map is read; negative from the end; `all`: resized to the first and joined. */
  readonly index: number | 'all';
  readonly channels: number;
  readonly numClasses: number;
  readonly dropout?: number;
}

export function feature(t: Tape, features: readonly Tensor[], index: number | 'all'): Tensor {
  if (index === 'all') return resizeConcat(t, features);
  const chosen = features[index < 0 ? features.length + index : index];
  if (chosen === undefined) throw new RangeError(`no feature map ${index}`);
  return chosen;
}

/** All maps at the size of the first, which is copied too, joined: the `resize_concat` input of HRNet's heads. */
export function resizeConcat(t: Tape, features: readonly Tensor[]): Tensor {
  const [first] = features;
  if (first === undefined) throw new RangeError('no feature maps');
  const resized = features.map((map) => resize(t, map, sizeOf(first)));
  return concat(t, resized, 1);
}

export interface FcnHeadOptions extends HeadOptions {
  readonly convs: number;
  readonly concatInput: boolean;
  readonly kernel?: number;
}

/** FCNHead: n convolutions, optionally joined with the input. */
export function fcnHead(options: FcnHeadOptions): Head {
  return (t, features) =>
    classify(t, fcnFeature(t, feature(t, features, options.index), options), options.numClasses, options.dropout);
}

export function fcnFeature(t: Tape, x: Tensor, { convs, concatInput, channels, kernel = 3 }: FcnHeadOptions): Tensor {
  const padding = Math.floor(kernel / 2);
  const hidden = t.call('convs', x, () => {
    let out = x;
    for (let index = 0; index < convs; index += 1)
      out = convBlock(t, `${index}`, out, { out: channels, kernel, padding });
    return out;
  });
  if (!concatInput) return hidden;
  const joined = concat(t, [x, hidden], 1);
  t.keep(hidden);
  return convBlock(t, 'conv_cat', joined, { out: channels, kernel, padding });
}

/** Pyramid pooling module: pooled, projected and resized maps, all alive until it returns. */
export function pyramidPooling(
  t: Tape,
  x: Tensor,
  {
    channels,
    scales = [1, 2, 3, 6],
    inPlace = true,
  }: { channels: number; scales?: readonly number[]; inPlace?: boolean },
): Tensor[] {
  return t.call('psp_modules', x, () => {
    const outputs = scales.map((side, index) => {
      const pooled = t.call(`${index}`, x, () =>
        convBlock(t, '1', adaptiveAveragePool(t, x, side), { out: channels, kernel: 1, inPlace }),
      );
      return resize(t, pooled, sizeOf(x));
    });
    t.keep(...outputs);
    return outputs;
  });
}

export function pspFeature(t: Tape, x: Tensor, channels: number): Tensor {
  const parts = [x, ...pyramidPooling(t, x, { channels })];
  const joined = concat(t, parts, 1);
  const out = convBlock(t, 'bottleneck', joined, { out: channels, kernel: 3, padding: 1 });
  t.keep(joined);
  return out;
}

export function pspHead(options: HeadOptions): Head {
  return (t, features) =>
    classify(
      t,
      pspFeature(t, feature(t, features, options.index), options.channels),
      options.numClasses,
      options.dropout,
    );
}

export interface AsppOptions extends HeadOptions {
  readonly dilations: readonly number[];
  readonly separable?: boolean;
}

export function asppFeature(t: Tape, x: Tensor, { channels, dilations, separable = false }: AsppOptions): Tensor {
  const pooled = t.call('image_pool', x, () =>
    convBlock(t, '1', adaptiveAveragePool(t, x, 1), { out: channels, kernel: 1 }),
  );
  const outputs = [resize(t, pooled, sizeOf(x))];
  t.call('aspp_modules', x, () => {
    for (const [index, dilation] of dilations.entries()) {
      outputs.push(asppBranch(t, x, { name: `${index}`, dilation, channels, separable }));
    }
  });
  const joined = concat(t, outputs, 1);
  const out = convBlock(t, 'bottleneck', joined, { out: channels, kernel: 3, padding: 1 });
  t.keep(joined);
  return out;
}

function asppBranch(
  t: Tape,
  x: Tensor,
  branch: { name: string; dilation: number; channels: number; separable: boolean },
): Tensor {
  const { name, dilation, channels, separable } = branch;
  if (dilation === 1) return convBlock(t, name, x, { out: channels, kernel: 1 });
  if (separable) return separableBlock(t, name, x, { out: channels, dilation });
  return convBlock(t, name, x, { out: channels, kernel: 3, padding: dilation, dilation });
}

export function asppHead(options: AsppOptions): Head {
  return (t, features) =>
    classify(t, asppFeature(t, feature(t, features, options.index), options), options.numClasses, options.dropout);
}

/** DepthwiseSeparableASPPHead of DeepLabV3+: ASPP, a projected early map, two separable convolutions. */
export function separableAsppHead(options: AsppOptions & { earlyChannels: number }): Head {
  return (t, features) => {
    const out = asppFeature(t, feature(t, features, options.index), { ...options, separable: true });
    const merged = options.earlyChannels > 0 ? withEarly(t, out, feature(t, features, 0), options.earlyChannels) : out;
    const refined = t.call('sep_bottleneck', merged, () => {
      const first = separableBlock(t, '0', merged, { out: options.channels });
      return separableBlock(t, '1', first, { out: options.channels });
    });
    return classify(t, refined, options.numClasses, options.dropout);
  };
}

function withEarly(t: Tape, out: Tensor, early: Tensor, channels: number): Tensor {
  const projected = convBlock(t, 'c1_bottleneck', early, { out: channels, kernel: 1 });
  const resized = resize(t, out, sizeOf(projected));
  const joined = concat(t, [resized, projected], 1);
  t.keep(projected);
  return joined;
}

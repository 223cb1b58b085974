import { concat } from '../tape/ops-core.ts';
import { adaptiveAveragePool, resize } from '../tape/ops-layers.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, separableBlock, sizeOf } from './blocks.ts';
import { feature, type HeadOptions } from './mmseg-feature.ts';
import { classify, type Head } from './mmseg-head.ts';

interface AsppOptions extends HeadOptions {
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

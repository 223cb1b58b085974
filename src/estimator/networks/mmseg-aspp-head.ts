import { adaptiveAveragePool } from '../tape/ops-layers.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, separableBlock, sizeOf } from './blocks.ts';
import { feature, type HeadOptions } from './mmseg-feature.ts';
import { classify, type Head } from './mmseg-head.ts';

interface AsppOptions extends HeadOptions {
  readonly dilations: readonly number[];
  readonly separable?: boolean;
}

/** B×channels×H×W: parallel dilated convolutions and a pooled vector, joined and projected (Chen et al. 2017). */
export function asppFeature(t: Tape, x: Tensor, options: AsppOptions): Tensor {
  return asppMaps(t, x, options).out;
}

function asppMaps(
  t: Tape,
  x: Tensor,
  { channels, dilations, separable = false }: AsppOptions,
): { joined: Tensor; out: Tensor } {
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
  return { joined, out };
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
    const x = feature(t, features, options.index);
    const { joined, out } = asppMaps(t, x, { ...options, separable: true });
    const early = feature(t, features, 0);
    const projected = convBlock(t, 'c1_bottleneck', early, { out: options.earlyChannels, kernel: 1 });
    const merged = concat(t, [resize(t, out, sizeOf(projected)), projected], 1);
    const refined = t.call('sep_bottleneck', merged, () => {
      const first = separableBlock(t, '0', merged, { out: options.channels });
      return separableBlock(t, '1', first, { out: options.channels });
    });
    const logits = classify(t, refined, options.numClasses, options.dropout);
    t.keep(joined, projected, refined);
    return logits;
  };
}

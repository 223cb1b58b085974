import { adaptiveAveragePool } from '../tape/ops-layers.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';
import { feature, type HeadOptions } from './mmseg-feature.ts';
import { classify, type Head } from './mmseg-head.ts';

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

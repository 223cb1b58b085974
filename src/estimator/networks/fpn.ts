import { add } from '../tape/ops-core.ts';
import { maxPool } from '../tape/ops-layers.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { convBlock, sizeOf } from './blocks.ts';

export interface PyramidOptions {
  readonly channels: number;
  /** BatchNorm after each convolution instead of a bias (torchvision's v2 models). */
  readonly norm: boolean;
}

/** Feature pyramid of detectors (Lin et al. 2017; torchvision 0.28, detectron2 0.6): one map per input and a last one by subsampling. */
export function detectionPyramid(
  t: Tape,
  features: readonly Tensor[],
  { channels, norm }: PyramidOptions,
): readonly Tensor[] {
  const plain = { out: channels, norm, activation: 'none' } as const;
  return t.call('fpn', features, () => {
    const outputs: Tensor[] = [];
    let above: Tensor | undefined;
    for (const [index, feature] of [...features.entries()].toReversed()) {
      const lateral = convBlock(t, `inner_blocks.${index}`, feature, { ...plain, kernel: 1 });
      const merged: Tensor =
        above === undefined ? lateral : add(t, lateral, resize(t, above, sizeOf(lateral), 'nearest'));
      outputs.unshift(convBlock(t, `layer_blocks.${index}`, merged, { ...plain, kernel: 3, padding: 1 }));
      above = merged;
    }
    const [last] = outputs.slice(-1);
    if (last !== undefined) outputs.push(maxPool(t, last, { kernel: 1, stride: 2 }));
    return outputs;
  });
}

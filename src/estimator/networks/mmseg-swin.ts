import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { optionNumber, type Run } from './network.ts';
import { swinTransformer } from './swin.ts';

/** [width, blocks per stage, heads per stage, window]: Swin paper, §3.3, and the configs' pre-training windows. */
const VARIANTS: Readonly<Record<string, readonly [number, readonly number[], readonly number[]]>> = {
  'swin-t': [96, [2, 2, 6, 2], [3, 6, 12, 24]],
  'swin-s': [96, [2, 2, 18, 2], [3, 6, 12, 24]],
  'swin-b': [128, [2, 2, 18, 2], [4, 8, 16, 32]],
  'swin-l': [192, [2, 2, 18, 2], [6, 12, 24, 48]],
};

/** MMSegmentation's Swin backbone: window 7 unless the config says 12, stochastic depth 0.3, checkpointed by block. */
export function mmsegSwin({ spec, w }: Run): ((t: Tape, image: Tensor) => readonly Tensor[]) | undefined {
  const variant = VARIANTS[spec.backbone ?? ''];
  if (variant === undefined) return undefined;
  const [width, depths, heads] = variant;
  const window = optionNumber(spec, 'window', 7);
  const options = { width, depths, heads, window, dropPathRate: 0.3, checkpoint: w.gradientCheckpointing };
  return (t, image) => t.freeze(w.frozenBackbone, () => swinTransformer(t, image, options));
}

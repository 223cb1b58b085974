import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';

export interface HeadOptions {
  /** Which map is read; negative from the end; `all`: resized to the first and joined. */
  readonly index: number | 'all';
  readonly channels: number;
  readonly numClasses: number;
  readonly dropout?: number;
}

/** The map that a head reads. */
export function feature(t: Tape, features: readonly Tensor[], index: number | 'all'): Tensor {
  if (index === 'all') return resizeConcat(t, features);
  const chosen = features[index < 0 ? features.length + index : index];
  if (chosen === undefined) throw new RangeError(`no feature map ${index}`);
  return chosen;
}

/** All maps at the size of the first, which is copied too, joined: the `resize_concat` input of HRNet's heads. */
function resizeConcat(t: Tape, features: readonly Tensor[]): Tensor {
  const [first] = features;
  if (first === undefined) throw new RangeError('no feature maps');
  const resized = features.map((map) => resize(t, map, sizeOf(first)));
  return concat(t, resized, 1);
}

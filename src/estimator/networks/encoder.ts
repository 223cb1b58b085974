import { constant } from '../tape/ops-core.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { unusedModules } from './unused.ts';

/** What a segmentation model asks of a reusable encoder. */
export interface EncoderRequest {
  /** Number of halvings, 1 to 5: the deepest map has 1/2^depth of the image's sides, unless dilated. */
  readonly depth: number;
  /** Strides beyond it become dilations; 32 changes nothing. */
  readonly outputStride: 8 | 16 | 32;
  /** Side that a network of fixed size is built for (timm's `img_size`); absent: its own. */
  readonly imageSize?: number;
}

/** A classification network cut into feature maps. */
export interface Encoder {
  /** Feature maps from the image itself (index 0) to the deepest; a 0-channel map stands for a scale that is missing. */
  readonly features: (t: Tape, image: Tensor, request: EncoderRequest) => readonly Tensor[];
  /** Whether strides can be replaced with dilations. */
  readonly dilates: boolean;
  /** Smallest number of halvings it can be cut at; default 1. */
  readonly minimumDepth?: number;
}

/** Encoders of one structure by the library's own name. */
export type EncoderTable = Readonly<Record<string, Encoder>>;

/** From one feature map to the next. */
export type Step = (t: Tape, x: Tensor) => Tensor;

/**
 * Runs as many steps as asked for and makes the parameters of the others; `ahead`: the original's loop computes one
 * map more than it returns.
 */
export function runSteps(
  t: Tape,
  x: Tensor,
  steps: readonly Step[],
  cut: { count: number; ahead?: boolean },
): Tensor[] {
  const features: Tensor[] = [];
  const running = Math.min(steps.length, cut.count + (cut.ahead === true ? 1 : 0));
  let feature = x;
  for (const step of steps.slice(0, running)) {
    feature = step(t, feature);
    features.push(feature);
  }
  if (running < steps.length) {
    unusedModules(t, [1, ...feature.shape.slice(1)], (shadow, input) => {
      let map = input;
      for (const step of steps.slice(running)) map = step(shadow, map);
    });
  }
  t.keep(...features);
  return features.slice(0, cut.count);
}

/** Placeholder without channels at half the image's sides, for networks that begin at a quarter. */
export function missingHalf(t: Tape, image: Tensor): Tensor {
  const [height, width] = sizeOf(image);
  return constant(t, 'empty', [image.shape[0] ?? 1, 0, Math.floor(height / 2), Math.floor(width / 2)], 'float');
}

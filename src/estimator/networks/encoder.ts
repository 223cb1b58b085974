import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

/** What a segmentation model asks of a reusable encoder. */
export interface EncoderRequest {
  /** Number of halvings, 1 to 5: the deepest map has 1/2^depth of the image's sides, unless dilated. */
  readonly depth: number;
  /** Strides beyond it become dilations; 32 changes nothing. */
  readonly outputStride: 8 | 16 | 32;
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

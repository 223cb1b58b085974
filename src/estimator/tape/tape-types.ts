/** Rules that changed between versions of torch (docs/estimator.md, "torch versions"). */
export interface TorchRules {
  /** Before 1.11 softmax and log_softmax kept their input too. */
  readonly softmaxKeepsInput: boolean;
  /** Before 2.0 in-place ReLU6 kept its result instead of a clone of the input. */
  readonly relu6KeepsResult: boolean;
  /** Before 1.7 mmcv's hard-swish was `x·relu6(x+3)/6`. */
  readonly composedHardswish: boolean;
}

export interface TapeOptions {
  /** 16-bit type of autocast, or null. */
  readonly autocast: 'fp16' | 'bf16' | null;
  /** False: validation (no gradient, evaluation mode). */
  readonly training: boolean;
  readonly rules: TorchRules;
  readonly kernelTemporaries: boolean;
  /** Fake-tensor traces sum and add out of place where a GPU works in place. */
  readonly fanInCopies: boolean;
}

/** `convolution-3x3`: stride and dilation 1, the shape that Winograd's algorithm speeds up in fp32. */
export type WorkKind =
  | 'convolution'
  | 'convolution-3x3'
  | 'convolution-dilated'
  | 'depthwise'
  | 'matmul'
  | 'attention'
  | 'pointwise'
  | 'normalization'
  | 'resample'
  | 'reduction';

/** Amount of work of one operation, forward. */
export interface WorkAmount {
  readonly macs: number;
  readonly bytes: number;
  /** Products of the same size in backward: one for each operand that needs a gradient. */
  readonly products?: number;
}

import type { GpuSpec } from './estimate-result.ts';

export interface ComputeShare {
  /** Of the fp32 peak outside tensor cores. */
  readonly fp32: number;
  /** Of the dense TF32 peak. */
  readonly tf32: number;
  /** Of the dense 16-bit tensor peak. */
  readonly half: number;
}

/** Share of the nominal memory bandwidth that kernels reach (physics.md §5; PyTorch's own roofline uses 0.8, 2026-11). */
export const BANDWIDTH_SHARE = 0.8;

/**
 * Share of the peak rate that convolutions and matrix products reach, by architecture. Calibrated on truth/time.json
 * and truth/backbone-speed-rtx3090.json; docs/estimator.md shows the error with each source left out.
 */
export const COMPUTE_SHARE: Readonly<Record<GpuSpec['architecture'], ComputeShare>> = {
  Maxwell: { fp32: 0.6, tf32: 0.4, half: 0.4 },
  Pascal: { fp32: 0.6, tf32: 0.4, half: 0.4 },
  Volta: { fp32: 0.6, tf32: 0.4, half: 0.4 },
  Turing: { fp32: 0.6, tf32: 0.4, half: 0.5 },
  Ampere: { fp32: 0.5, tf32: 0.45, half: 0.45 },
  Ada: { fp32: 0.45, tf32: 0.6, half: 0.6 },
  Hopper: { fp32: 0.5, tf32: 0.6, half: 0.6 },
  Blackwell: { fp32: 0.45, tf32: 0.5, half: 0.5 },
  other: { fp32: 0.5, tf32: 0.4, half: 0.4 },
};

/** Extra passes of half-precision NCHW convolutions: cuDNN changes the layout of operands and result. */
export const HALF_LAYOUT_PASSES = 2;

/** Host time per operation, forward and backward together, of eager PyTorch (physics.md §5: 5–10 µs a launch). */
export const LAUNCH_SECONDS = 20e-6;

/** Decode and augmentation of one core, in megapixels of crop a second (practitioners' figure, estimate, 2026-11). */
export const DECODE_MEGAPIXELS_PER_CORE_SECOND = 8;

/** Half-width of the stated range, as a factor on both sides. */
export const RANGE_FACTOR = 1.3;

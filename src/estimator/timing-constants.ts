/*
 * Ten constants, each with a physical meaning, fitted once on 70 measured speeds: truth/time.json (21),
 * truth/backbone-speed-rtx3090.json (44 rows whose network is known here) and five published figures of NVIDIA's
 * DeepLearningExamples and MMSegmentation's model zoo (physics.md §5). Fit of 2026-11-30; error with each source left
 * out: docs/estimator.md.
 */

/** Share of the nominal memory bandwidth that convolutions and matrix products reach. */
export const PRODUCT_BANDWIDTH_SHARE = 0.6;

/** The same of pointwise, normalising, pooling and depthwise kernels, which read and write short rows. */
export const POINTWISE_BANDWIDTH_SHARE = 0.57;

/** Share of the fp32 peak outside tensor cores that dense convolutions and matrix products reach. */
export const FP32_SHARE = 0.9;

/** The same of dilated convolutions, whose gathers defeat cuDNN's fast algorithms. */
export const DILATED_SHARE = 0.3;

/** Gain of Winograd's algorithm on fp32 3×3 convolutions: 2.25 fewer multiplications for 2×2 tiles, less its transforms. */
export const WINOGRAD_GAIN = 1.67;

/**
 * Share of the tensor-core peak (TF32 and 16 bit): `0.95 · (tensor peak ÷ fp32 peak)^−0.35`, at most 0.9. The further
 * tensor cores outrun the rest of a chip, the less its caches and registers can feed them (RTX 3090 ×2, V100 ×8, A100 ×16).
 */
export const TENSOR_SHARE = 0.95;
/** How fast that share falls with the ratio of the peaks. */
export const TENSOR_EXPONENT = 0.35;
/** The most of the tensor peak that any card is given. */
export const TENSOR_SHARE_LIMIT = 0.9;

/** Passes over the operands of a 16-bit convolution in NCHW: cuDNN converts to channels-last and back. */
export const HALF_LAYOUT_PASSES = 3;

/** Host time of one eager operation; forward and backward launch one each. */
export const LAUNCH_SECONDS = 11.4e-6;

/** Decode and augmentation of one core, in megapixels of crop a second: a planning figure (guides: 8 cores a GPU), 2026-11. */
export const DECODE_MEGAPIXELS_PER_CORE_SECOND = 8;

/** Bus bandwidth of an all-reduce over PCIe without peer access, GB/s (NCCL tests, 2026-11). */
export const PCIE_BUS_GBPS = 6;
/** The most that NVLink gives an all-reduce, GB/s (NCCL tests, 2026-11). */
export const NVLINK_BUS_LIMIT_GBPS = 150;

/** The stated range is the middle divided and multiplied by this: it held 86 % of the fitted rows. */
export const RANGE_FACTOR = 1.38;

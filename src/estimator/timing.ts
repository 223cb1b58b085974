import type { Estimate, GpuSpec, WorkGroup } from './estimate-result.ts';
import {
  BANDWIDTH_SHARE,
  COMPUTE_SHARE,
  DECODE_MEGAPIXELS_PER_CORE_SECOND,
  HALF_LAYOUT_PASSES,
  LAUNCH_SECONDS,
  RANGE_FACTOR,
} from './timing-constants.ts';

export interface TimingOptions {
  /** Cores that decode and augment for one GPU; absent: never the bound. */
  readonly vcpusPerGpu?: number;
  /** Tensors in channels_last: half-precision convolutions need no layout change. */
  readonly channelsLast?: boolean;
}

/**
 * Low and high seconds of one optimizer step, all its micro-batches included: a roofline per group of operations
 * (arithmetic against memory traffic), the host's launch time where that is longer, the optimizer, and the part of the
 * gradient exchange that backward does not hide. Constants and their calibration: timing-constants.ts.
 */
export function secondsPerIteration(
  estimate: Estimate,
  gpu: GpuSpec,
  options: TimingOptions = {},
): readonly [number, number] {
  const device = estimate.work.groups.reduce((sum, group) => sum + groupSeconds(group, gpu, options), 0);
  const launches = estimate.work.launches * LAUNCH_SECONDS;
  const step = estimate.work.optimizerBytes / (gpu.memoryBandwidthGBps * 1e9 * BANDWIDTH_SHARE);
  const micro = Math.max(device, launches);
  const { gradientAccumulation, batchSize } = estimate.workload;
  const compute = micro * gradientAccumulation + step + exchangeSeconds(estimate, gpu, micro);
  const loading = loadingSeconds(estimate, batchSize * gradientAccumulation, options);
  const middle = Math.max(compute, loading);
  return [middle / RANGE_FACTOR, middle * RANGE_FACTOR];
}

/** Forward and backward of one group: backward does twice the arithmetic, and moves about twice the bytes. */
function groupSeconds(group: WorkGroup, gpu: GpuSpec, options: TimingOptions): number {
  const bandwidth = gpu.memoryBandwidthGBps * 1e9 * BANDWIDTH_SHARE;
  const arithmetic = (3 * 2 * group.macs) / rate(group, gpu);
  const traffic = (trafficFactor(group, options) * group.bytes) / bandwidth;
  return Math.max(arithmetic, traffic);
}

/** Passes over the operands of one operation in forward and backward together. */
function trafficFactor(group: WorkGroup, options: TimingOptions): number {
  switch (group.kind) {
    case 'convolution':
      return group.precision === 'half' && options.channelsLast !== true ? 3 * HALF_LAYOUT_PASSES : 3;
    case 'depthwise':
    case 'matmul':
    case 'attention':
      return 3;
    case 'normalization':
      return 2.7;
    case 'pointwise':
    case 'resample':
    case 'reduction':
      return 2.5;
  }
}

/** Sustained FLOP/s of the units that an operation uses. */
function rate(group: WorkGroup, gpu: GpuSpec): number {
  const share = COMPUTE_SHARE[gpu.architecture];
  const half = group.precision === 'half' && gpu.fp16TensorTflops !== null;
  if (half) return (gpu.fp16TensorTflops ?? 1) * 1e12 * share.half;
  const tensor = group.kind === 'convolution' && gpu.tf32Tflops !== null;
  if (tensor) return (gpu.tf32Tflops ?? 1) * 1e12 * share.tf32;
  return gpu.fp32Tflops * 1e12 * share.fp32;
}

/** Ring all-reduce of the gradients; buckets travel during backward, so only what outlasts it counts, plus the last bucket. */
function exchangeSeconds(estimate: Estimate, gpu: GpuSpec, micro: number): number {
  const { gpus } = estimate.workload;
  if (gpus < 2) return 0;
  const bus = (gpu.nvlinkGBps > 0 ? Math.min(gpu.nvlinkGBps / 2, 150) : 6) * 1e9;
  const transfer = ((2 * (gpus - 1)) / gpus) * (estimate.work.gradientBytes / bus);
  const hidden = (2 / 3) * micro;
  return Math.max(0, transfer - hidden) + 0.1 * transfer;
}

/** Decoding and augmentation of the step's images on the cores beside one GPU. */
function loadingSeconds(estimate: Estimate, images: number, { vcpusPerGpu }: TimingOptions): number {
  if (vcpusPerGpu === undefined) return 0;
  const megapixels = (estimate.workload.imageHeight * estimate.workload.imageWidth) / 1e6;
  const workers = Math.max(1, vcpusPerGpu - 1);
  return (images * megapixels) / (workers * DECODE_MEGAPIXELS_PER_CORE_SECOND);
}

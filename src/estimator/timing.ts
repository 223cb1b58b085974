import type { Estimate, GpuSpec, WorkGroup } from './estimate-result.ts';
import {
  DECODE_MEGAPIXELS_PER_CORE_SECOND,
  DILATED_SHARE,
  FP32_SHARE,
  HALF_LAYOUT_PASSES,
  LAUNCH_SECONDS,
  NVLINK_BUS_LIMIT_GBPS,
  PCIE_BUS_GBPS,
  POINTWISE_BANDWIDTH_SHARE,
  PRODUCT_BANDWIDTH_SHARE,
  RANGE_FACTOR,
  TENSOR_EXPONENT,
  TENSOR_SHARE,
  TENSOR_SHARE_LIMIT,
  WINOGRAD_GAIN,
} from './timing-constants.ts';

/** What a run's time depends on beside workload and card. */
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
  const { work, workload } = estimate;
  const device = work.groups.reduce((sum, group) => sum + groupSeconds(group, gpu, options), 0);
  const micro = Math.max(device, 2 * work.launches * LAUNCH_SECONDS) + work.waitingLaunches * LAUNCH_SECONDS;
  const step = work.optimizerBytes / bytesPerSecond(gpu, PRODUCT_BANDWIDTH_SHARE);
  const compute = micro * workload.gradientAccumulation + step + exchangeSeconds(estimate, gpu, micro);
  const middle = Math.max(compute, loadingSeconds(estimate, options));
  return [middle / RANGE_FACTOR, middle * RANGE_FACTOR];
}

function bytesPerSecond(gpu: GpuSpec, share: number): number {
  return gpu.memoryBandwidthGBps * 1e9 * share;
}

/** Forward and backward of one group: the longer of arithmetic and memory traffic. */
function groupSeconds(group: WorkGroup, gpu: GpuSpec, options: TimingOptions): number {
  const arithmetic = (2 * (group.macs + group.backwardMacs)) / rate(group, gpu);
  const traffic = layoutPasses(group, options) * (group.bytes + group.backwardBytes);
  return Math.max(arithmetic, traffic / bytesPerSecond(gpu, bandwidthShare(group)));
}

function bandwidthShare(group: WorkGroup): number {
  const product = isConvolution(group) || group.kind === 'matmul' || group.kind === 'attention';
  return product ? PRODUCT_BANDWIDTH_SHARE : POINTWISE_BANDWIDTH_SHARE;
}

function layoutPasses(group: WorkGroup, options: TimingOptions): number {
  const converted = isConvolution(group) && group.precision === 'half' && options.channelsLast !== true;
  return converted ? HALF_LAYOUT_PASSES : 1;
}

function isConvolution({ kind }: WorkGroup): boolean {
  return kind === 'convolution' || kind === 'convolution-3x3' || kind === 'convolution-dilated';
}

/** Sustained FLOP/s on the units that run the operation fastest. */
function rate(group: WorkGroup, gpu: GpuSpec): number {
  if (group.precision === 'half' && gpu.fp16TensorTflops !== null) return tensorRate(gpu.fp16TensorTflops, gpu);
  const plain = gpu.fp32Tflops * 1e12 * plainShare(group);
  return isConvolution(group) && gpu.tf32Tflops !== null ? Math.max(plain, tensorRate(gpu.tf32Tflops, gpu)) : plain;
}

function plainShare({ kind }: WorkGroup): number {
  if (kind === 'convolution-dilated') return DILATED_SHARE;
  return kind === 'convolution-3x3' ? FP32_SHARE * WINOGRAD_GAIN : FP32_SHARE;
}

function tensorRate(peakTflops: number, gpu: GpuSpec): number {
  const share = TENSOR_SHARE * (peakTflops / gpu.fp32Tflops) ** -TENSOR_EXPONENT;
  return peakTflops * 1e12 * Math.min(TENSOR_SHARE_LIMIT, share);
}

/** Ring all-reduce of the gradients; buckets travel during backward, so only what outlasts it counts, plus the last bucket. */
function exchangeSeconds(estimate: Estimate, gpu: GpuSpec, micro: number): number {
  const { gpus } = estimate.workload;
  if (gpus < 2) return 0;
  const bus = (gpu.nvlinkGBps > 0 ? Math.min(gpu.nvlinkGBps, NVLINK_BUS_LIMIT_GBPS) : PCIE_BUS_GBPS) * 1e9;
  const transfer = ((2 * (gpus - 1)) / gpus) * (estimate.work.gradientBytes / bus);
  const hidden = (2 / 3) * micro;
  return Math.max(0, transfer - hidden) + 0.1 * transfer;
}

/** Decoding and augmentation of the step's images on the cores beside one GPU. */
function loadingSeconds({ workload }: Estimate, { vcpusPerGpu }: TimingOptions): number {
  if (vcpusPerGpu === undefined) return 0;
  const images = workload.batchSize * workload.gradientAccumulation;
  const megapixels = (workload.imageHeight * workload.imageWidth) / 1e6;
  const workers = Math.max(1, vcpusPerGpu - 1);
  return (images * megapixels) / (workers * DECODE_MEGAPIXELS_PER_CORE_SECOND);
}

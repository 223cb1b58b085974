import fc from 'fast-check';
import { describe, expect, test } from 'vitest';

import { toGpuSpec } from '../../catalog/gpu-names.ts';
import { estimate } from '../../src/estimator/estimate.ts';
import type { Estimate, GpuSpec, WorkGroup } from '../../src/estimator/estimate-result.ts';
import { secondsPerIteration, type TimingOptions } from '../../src/estimator/timing.ts';
import {
  DECODE_MEGAPIXELS_PER_CORE_SECOND,
  DILATED_SHARE,
  FP32_SHARE,
  HALF_LAYOUT_PASSES,
  LAUNCH_SECONDS,
  PCIE_BUS_GBPS,
  POINTWISE_BANDWIDTH_SHARE,
  PRODUCT_BANDWIDTH_SHARE,
  RANGE_FACTOR,
  TENSOR_EXPONENT,
  TENSOR_SHARE,
  TENSOR_SHARE_LIMIT,
  WINOGRAD_GAIN,
} from '../../src/estimator/timing-constants.ts';
import { sharedCatalog, workloadOf } from './truth.ts';

const CARDS: readonly GpuSpec[] = ['T4', 'A10', 'V100 32GB', 'A100 80GB', 'GTX 1080 Ti', 'H20', 'L20'].flatMap(
  (name) => {
    const match = sharedCatalog().findGpu(name);
    return match === undefined || 'ambiguous' in match ? [] : [toGpuSpec(match)];
  },
);

const MODELS = [
  "smp.Unet('resnet18', classes=4)",
  "smp.FPN('efficientnet-b0', classes=4)",
  'segformer_mit-b0_8xb2-160k_ade20k-512x512',
  'fcn_hr18_4xb2-40k_cityscapes-512x1024',
];

const runs = fc.record({
  model: fc.constantFrom(...MODELS),
  precision: fc.constantFrom('fp32', 'fp16'),
  gpus: fc.constantFrom(1, 2, 8),
  gradientAccumulation: fc.constantFrom(1, 3),
  batchSize: fc.integer({ min: 1, max: 4 }),
});
const cards = fc.constantFrom(...CARDS);
const options = fc.record({ channelsLast: fc.boolean() });

const of = (input: Record<string, unknown>): Estimate =>
  estimate(workloadOf({ imageHeight: 128, imageWidth: 128, ...input }));

test('the cards are in the catalogue', () => {
  expect(CARDS).toHaveLength(7);
});

describe('laws of time', () => {
  test('it is positive and finite, and the range is as wide below its middle as above', () => {
    fc.assert(
      fc.property(runs, cards, options, (run, gpu, chosen) => {
        const [low, high] = secondsPerIteration(of(run), gpu, chosen);
        expect(low).toBeGreaterThan(0);
        expect(Number.isFinite(high)).toBe(true);
        expect(high / low).toBeCloseTo(RANGE_FACTOR ** 2, 6);
        expect(Math.sqrt(low * high)).toBeGreaterThan(low);
      }),
      { numRuns: 60 },
    );
  });

  test('it never falls when the batch grows, and never grows faster than the batch does by much', () => {
    fc.assert(
      fc.property(runs, cards, fc.integer({ min: 2, max: 4 }), (run, gpu, times) => {
        const [few] = secondsPerIteration(of(run), gpu);
        const [many] = secondsPerIteration(of({ ...run, batchSize: run.batchSize * times }), gpu);
        expect(many).toBeGreaterThanOrEqual(few);
        expect(many).toBeLessThan(few * times * 1.05);
      }),
      { numRuns: 40 },
    );
  });

  test('twice the card is never slower', () => {
    fc.assert(
      fc.property(runs, cards, (run, gpu) => {
        const faster: GpuSpec = {
          ...gpu,
          memoryBandwidthGBps: 2 * gpu.memoryBandwidthGBps,
          fp32Tflops: 2 * gpu.fp32Tflops,
          tf32Tflops: gpu.tf32Tflops === null ? null : 2 * gpu.tf32Tflops,
          fp16TensorTflops: gpu.fp16TensorTflops === null ? null : 2 * gpu.fp16TensorTflops,
        };
        const result = of(run);
        expect(secondsPerIteration(result, faster)[0]).toBeLessThanOrEqual(secondsPerIteration(result, gpu)[0]);
      }),
      { numRuns: 40 },
    );
  });
});

/** A card of round figures and an iteration of one group, so that each term can be checked by hand. */
const CARD: GpuSpec = {
  name: 'round',
  architecture: 'Volta',
  usableMiB: 32_000,
  memoryBandwidthGBps: 1000,
  fp32Tflops: 10,
  tf32Tflops: null,
  fp16TensorTflops: 100,
  bf16: false,
  nvlinkGBps: 0,
};

let known: Estimate | undefined;

function template(): Estimate {
  known ??= of({ model: MODELS[0], batchSize: 1 });
  return known;
}

function seconds(group: Partial<WorkGroup>, card: Partial<GpuSpec> = {}, chosen: TimingOptions = {}): number {
  const whole: WorkGroup = {
    kind: 'matmul',
    precision: 'fp32',
    count: 1,
    macs: 0,
    bytes: 0,
    backwardMacs: 0,
    backwardBytes: 0,
    ...group,
  };
  const work = { ...template().work, groups: [whole], launches: 0, waitingLaunches: 0, optimizerBytes: 0 };
  const [low] = secondsPerIteration({ ...template(), work }, { ...CARD, ...card }, chosen);
  return low * RANGE_FACTOR;
}

/** 1 T multiply-accumulates forward and 2 T back: 6 TFLOP. */
const heavy = { macs: 1e12, backwardMacs: 2e12 };
/** 1 TB forward and 1 TB back. */
const wide = { bytes: 1e12, backwardBytes: 1e12 };

describe('roofline', () => {
  test.each([
    ['matmul', FP32_SHARE],
    ['convolution', FP32_SHARE],
    ['convolution-3x3', FP32_SHARE * WINOGRAD_GAIN],
    ['convolution-dilated', DILATED_SHARE],
    ['depthwise', FP32_SHARE],
  ] as const)('fp32 %s reaches %d of the peak', (kind, share) => {
    expect(seconds({ ...heavy, kind })).toBeCloseTo(6 / (10 * share), 6);
  });

  test('16 bit and TF32 convolutions reach less of the tensor peak the further it is above fp32, up to a limit', () => {
    const share = TENSOR_SHARE * 10 ** -TENSOR_EXPONENT;
    expect(seconds({ ...heavy, precision: 'half' })).toBeCloseTo(6 / (100 * share), 6);
    expect(seconds({ ...heavy, kind: 'convolution' }, { tf32Tflops: 100 })).toBeCloseTo(6 / (100 * share), 6);
    expect(seconds({ ...heavy, kind: 'matmul' }, { tf32Tflops: 100 })).toBeCloseTo(6 / (10 * FP32_SHARE), 6);
    expect(seconds({ ...heavy, precision: 'half' }, { fp16TensorTflops: 10 })).toBeCloseTo(
      6 / (10 * Math.min(TENSOR_SHARE, TENSOR_SHARE_LIMIT)),
      6,
    );
    expect(seconds({ ...heavy, precision: 'half' }, { fp16TensorTflops: null })).toBeCloseTo(6 / (10 * FP32_SHARE), 6);
  });

  test.each([
    ['matmul', 'fp32', PRODUCT_BANDWIDTH_SHARE, 1],
    ['attention', 'half', PRODUCT_BANDWIDTH_SHARE, 1],
    ['pointwise', 'fp32', POINTWISE_BANDWIDTH_SHARE, 1],
    ['normalization', 'half', POINTWISE_BANDWIDTH_SHARE, 1],
    ['depthwise', 'half', POINTWISE_BANDWIDTH_SHARE, 1],
    ['convolution', 'fp32', PRODUCT_BANDWIDTH_SHARE, 1],
    ['convolution', 'half', PRODUCT_BANDWIDTH_SHARE, HALF_LAYOUT_PASSES],
    ['convolution-3x3', 'half', PRODUCT_BANDWIDTH_SHARE, HALF_LAYOUT_PASSES],
    ['convolution-dilated', 'half', PRODUCT_BANDWIDTH_SHARE, HALF_LAYOUT_PASSES],
  ] as const)('%s in %s moves its bytes at %d of the bandwidth, %d times', (kind, precision, share, passes) => {
    expect(seconds({ ...wide, kind, precision })).toBeCloseTo((2 * passes) / share, 6);
    expect(seconds({ ...wide, kind, precision }, {}, { channelsLast: true })).toBeCloseTo(2 / share, 6);
  });

  test('the longer of arithmetic and traffic counts', () => {
    expect(seconds({ ...heavy, ...wide })).toBeCloseTo(2 / PRODUCT_BANDWIDTH_SHARE, 6);
    expect(seconds({ ...heavy, bytes: 1, backwardBytes: 1 })).toBeCloseTo(6 / (10 * FP32_SHARE), 6);
  });
});

describe('what is not the device', () => {
  const only = (work: Partial<Estimate['work']>, workload: Partial<Estimate['workload']> = {}, chosen = {}): number => {
    const empty = {
      ...template().work,
      groups: [],
      launches: 0,
      waitingLaunches: 0,
      optimizerBytes: 0,
      gradientBytes: 0,
    };
    const result = { ...template(), workload: { ...template().workload, ...workload }, work: { ...empty, ...work } };
    return secondsPerIteration(result, CARD, chosen)[0] * RANGE_FACTOR;
  };

  test('launches bound small work, forward and backward; waiting ones add', () => {
    expect(only({ launches: 1000 })).toBeCloseTo(2 * 1000 * LAUNCH_SECONDS, 9);
    expect(only({ launches: 1000, waitingLaunches: 1000 })).toBeCloseTo(3 * 1000 * LAUNCH_SECONDS, 9);
    expect(only({ launches: 1000 }, { gradientAccumulation: 4 })).toBeCloseTo(8 * 1000 * LAUNCH_SECONDS, 9);
  });

  test('the step moves its bytes once', () => {
    expect(only({ optimizerBytes: 1e11 * PRODUCT_BANDWIDTH_SHARE }, { gradientAccumulation: 4 })).toBeCloseTo(0.1, 9);
  });

  test('gradients travel 2(n − 1)/n times over PCIe; backward hides two thirds of the iteration', () => {
    expect(only({ gradientBytes: PCIE_BUS_GBPS * 1e9 }, { gpus: 1 })).toBe(0);
    expect(only({ gradientBytes: PCIE_BUS_GBPS * 1e9 }, { gpus: 2 })).toBeCloseTo(1.1, 9);
    expect(only({ gradientBytes: PCIE_BUS_GBPS * 1e9 }, { gpus: 4 })).toBeCloseTo(1.1 * 1.5, 9);
    const micro = 2 * LAUNCH_SECONDS * 1e5;
    expect(only({ gradientBytes: PCIE_BUS_GBPS * 1e9, launches: 1e5 }, { gpus: 2 })).toBeCloseTo(micro + 0.1, 9);
  });

  test('few cores bound: each decodes so many megapixels a second, and one is left for the loop', () => {
    const workload = { batchSize: 4, imageHeight: 1000, imageWidth: 1000, gradientAccumulation: 2 };
    expect(only({}, workload, { vcpusPerGpu: 5 })).toBeCloseTo(8 / (4 * DECODE_MEGAPIXELS_PER_CORE_SECOND), 9);
    expect(only({}, workload, { vcpusPerGpu: 1 })).toBeCloseTo(8 / DECODE_MEGAPIXELS_PER_CORE_SECOND, 9);
    expect(only({}, workload)).toBe(0);
  });
});

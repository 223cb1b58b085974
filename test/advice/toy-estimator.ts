import { AppError } from '../../src/errors.ts';
import type { Estimate, GpuSpec, PeakHolder } from '../../src/estimator/estimate-result.ts';
import type { Workload } from '../../src/estimator/workload.ts';

const MIB = 2 ** 20;

/** Plain arithmetic that reacts to the same fields as the real estimator: enough to test every rule of the advice. */
export function toyEstimate(workload: Workload): Estimate {
  if (workload.model.architecture === 'forbidden') throw new AppError('unsupported-combination', 'cannot be trained');
  const pixels = workload.batchSize * workload.imageHeight * workload.imageWidth;
  const half = workload.precision === 'fp32' ? 1 : 0.6;
  const fused = workload.attention === 'sdpa' ? 0.8 : 1;
  const checkpointed = workload.gradientCheckpointing ? 0.5 : 1;
  const stride = workload.outputStride === 16 ? 0.6 : 1;
  const frozen = workload.frozenBackbone ? 0.5 : 1;
  const weight = workload.model.backbone === 'resnet101' ? 1.6 : 1;
  const activations = Math.round(pixels * 3000 * half * fused * checkpointed * stride * frozen * weight);
  const loss = pixels * workload.numClasses * 12;
  const parameters = 170 * MIB;
  const resident = workload.gradientAccumulation > 1 || workload.residentGradients ? parameters : 0;
  const optimizerState = workload.optimizer === 'sgd' ? parameters : 2 * parameters;
  const ddpBuckets = workload.gpus > 1 ? parameters : 0;
  const workspace = workload.convWorkspace ? Math.round(activations * 0.15) : 0;
  const input = pixels * workload.inputChannels * 4;
  const allocatedPeak = parameters + input + optimizerState + resident + ddpBuckets + activations + loss + workspace;
  const reserved = Math.round(allocatedPeak * (workload.multiScale === null ? 1.06 : 1.6));
  const holder = (kind: PeakHolder['kind'], bytes: number): PeakHolder => ({ kind, module: '', bytes });
  return {
    workload,
    model: workload.model,
    assumed: [],
    parameters: parameters / 4,
    trainableParameters: parameters / 4,
    forwardMacs: pixels * 200_000,
    bytes: {
      parameters,
      buffers: 0,
      input,
      target: 0,
      gradients: parameters,
      optimizerState,
      ddpBuckets,
      base: parameters + input,
      saved: activations,
      peakForward: activations,
      peakBackward: activations + loss,
      peakStep: parameters,
      workspace,
      allocatedPeak,
      reserved,
      device: reserved + 512 * MIB,
      validationPeak: workload.validationMode === 'slide' ? parameters : parameters + pixels * 40,
    },
    peak: { phase: 'backward', operation: 'log_softmax backward', module: 'decode_head' },
    holders: [holder('parameters', parameters), holder('loss', loss), holder('activations', activations)],
    uncertainty: { relative: 0.03, reason: 'test' },
    work: { groups: [], launches: 100, waitingLaunches: 0, optimizerBytes: 0, gradientBytes: 0, inputBytesPerImage: 0 },
  };
}

/** Compute over peak rate, slower when few vCPUs feed the card. */
export function toySeconds(
  estimate: Estimate,
  gpu: GpuSpec,
  options: { readonly vcpusPerGpu?: number },
): readonly [number, number] {
  const { workload } = estimate;
  const rate =
    workload.precision === 'fp32' ? (gpu.tf32Tflops ?? gpu.fp32Tflops) : (gpu.fp16TensorTflops ?? gpu.fp32Tflops);
  const replay = workload.gradientCheckpointing ? 4 / 3 : 1;
  const compute = (6 * estimate.forwardMacs * replay * workload.gradientAccumulation) / (rate * 1e12 * 0.4);
  const images = workload.batchSize * workload.gradientAccumulation;
  const loading = options.vcpusPerGpu === undefined ? 0 : (images * 0.05) / options.vcpusPerGpu;
  const middle = Math.max(compute, loading) + 0.01;
  return [middle * 0.8, middle * 1.25];
}

export const toyWorkload: Workload = {
  model: { implementation: 'mmseg', architecture: 'deeplabv3plus', backbone: 'resnet50', options: {} },
  imageHeight: 512,
  imageWidth: 1024,
  batchSize: 4,
  numClasses: 19,
  inputChannels: 3,
  precision: 'fp32',
  optimizer: 'sgd',
  optimizerStep: 'foreach',
  loss: 'cross-entropy',
  attention: 'eager',
  gradientCheckpointing: false,
  frozenBackbone: false,
  frozenStages: null,
  norm: null,
  auxiliaryHead: null,
  outputStride: null,
  baseChannels: null,
  outputHeld: false,
  gradientAccumulation: 1,
  gpus: 1,
  instancesPerImage: 8,
  positiveRoisPerImage: 128,
  torch: 2.13,
  residentGradients: false,
  expandableSegments: false,
  multiScale: null,
  convWorkspace: false,
  fanInCopies: false,
  kernelTemporaries: true,
  validationHeight: 1024,
  validationWidth: 2048,
  validationBatch: 1,
  validationMode: 'whole',
};

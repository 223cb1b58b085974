import type { ModelSpec, Workload } from './workload.ts';

/** Integer bytes per GPU, summed over storages rounded up to 512 B. Definitions: docs/estimator.md. */
export interface EstimateBytes {
  readonly parameters: number;
  readonly buffers: number;
  readonly input: number;
  readonly target: number;
  readonly gradients: number;
  readonly optimizerState: number;
  readonly ddpBuckets: number;
  /** parameters + buffers + input + target. */
  readonly base: number;
  /** Kept by autograd after the loss was computed. */
  readonly saved: number;
  /** Highest live bytes above `base` in the phase; kernel temporaries and workspaces not included. */
  readonly peakForward: number;
  readonly peakBackward: number;
  readonly peakStep: number;
  /** What the kernel-side rules add at the peak (convolution workspace, kernel temporaries). */
  readonly workspace: number;
  /** Maximum of `torch.cuda.max_memory_allocated()` over a steady iteration. */
  readonly allocatedPeak: number;
  /** After the caching allocator. */
  readonly reserved: number;
  /** What nvidia-smi shows: reserved + CUDA context + NCCL. */
  readonly device: number;
  /** Absolute peak of a no-gradient validation pass. */
  readonly validationPeak: number;
}

/** Part of a training iteration in which the allocated peak falls. */
export type Phase = 'forward' | 'backward' | 'step';

/** One entry of "what holds memory at the peak"; the entries sum to `bytes.allocatedPeak` exactly. */
export interface PeakHolder {
  readonly kind:
    | 'parameters'
    | 'buffers'
    | 'input'
    | 'target'
    | 'gradients'
    | 'optimizer-state'
    | 'ddp-buckets'
    | 'activations'
    | 'transient'
    | 'loss'
    | 'workspace';
  /** Module path as people know it (`backbone.layer3`, `decode_head`), or '' for the whole network. */
  readonly module: string;
  readonly bytes: number;
}

/** What a GPU is for the estimator: hardware figures, not a catalogue row. */
export interface GpuSpec {
  readonly name: string;
  readonly architecture:
    | 'Maxwell'
    | 'Pascal'
    | 'Volta'
    | 'Turing'
    | 'Ampere'
    | 'Ada'
    | 'Hopper'
    | 'Blackwell'
    | 'other';
  readonly usableMiB: number;
  readonly memoryBandwidthGBps: number;
  readonly fp32Tflops: number;
  readonly tf32Tflops: number | null;
  /** Dense, FP32 accumulate. */
  readonly fp16TensorTflops: number | null;
  readonly bf16: boolean;
  /** One direction, per pair; 0: PCIe only. */
  readonly nvlinkGBps: number;
}

/** What one training run needs on each of its GPUs. Bytes are integers, `relative` is a share of the allocated peak. */
export interface Estimate {
  readonly workload: Workload;
  readonly model: ModelSpec;
  /** Names of workload fields that were filled in by a default. */
  readonly assumed: readonly string[];
  readonly parameters: number;
  readonly trainableParameters: number;
  /** Multiply-accumulates of one forward pass of the whole batch, auxiliary heads included. */
  readonly forwardMacs: number;
  readonly bytes: EstimateBytes;
  readonly peak: { readonly phase: Phase; readonly operation: string; readonly module: string };
  readonly holders: readonly PeakHolder[];
  readonly uncertainty: { readonly relative: number; readonly reason: string };
  /** Operations in the form that timing needs; opaque outside the estimator. */
  readonly work: WorkProfile;
}

/** Work of one iteration, grouped so that a roofline per GPU is a loop over a few dozen entries. */
export interface WorkProfile {
  readonly groups: readonly WorkGroup[];
  readonly launches: number;
  /** Small operations around which the host waits for the device (matching, suppression): their launches cannot overlap. */
  readonly waitingLaunches: number;
  readonly optimizerBytes: number;
  readonly gradientBytes: number;
  readonly inputBytesPerImage: number;
}

/** Operations of one kind and similar arithmetic intensity. */
export interface WorkGroup {
  readonly kind:
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
  readonly precision: 'fp32' | 'half';
  readonly count: number;
  /** Forward multiply-accumulates and bytes moved. */
  readonly macs: number;
  readonly bytes: number;
  /** The same in backward: once for each operand that needs a gradient, and once more where a checkpoint replays it. */
  readonly backwardMacs: number;
  readonly backwardBytes: number;
}

import type { Estimate, GpuSpec } from '../estimator/estimate-result.ts';
import type { Workload } from '../estimator/workload.ts';

export const BYTES_PER_GIB = 2 ** 30;

/** physics.md §3.5 (planning figure for torch ≥ 2, read 2026-11-30). */
const CONTEXT_GIB = 0.5;
/** physics.md §3.5, pytorch and nccl issue threads: per process group of 2, and of 3 or more GPUs. */
const NCCL_GIB = { two: 0.55, more: 0.7 } as const;
/** physics.md §3.6: gap between allocated and reserved that remains reclaimable, fixed and varying input sizes. */
const ALLOCATOR_MARGIN = { fixed: 0.03, varying: 0.1 } as const;
const TF32_ARCHITECTURES: ReadonlySet<GpuSpec['architecture']> = new Set(['Ampere', 'Ada', 'Hopper', 'Blackwell']);

/** Left side of the feasibility formula in GiB: what must not exceed the card's usable memory (advice.md, "Feasible"). */
export function neededGiB(estimate: Estimate): number {
  const { allocatedPeak } = estimate.bytes;
  return (allocatedPeak / BYTES_PER_GIB) * (1 + marginOf(estimate)) + CONTEXT_GIB + ncclGiB(estimate.workload.gpus);
}

/** The allocated peak in bytes at which such a workload would need `limit` GiB. */
export function peakNeeding(limit: number, estimate: Estimate): number {
  return ((limit - CONTEXT_GIB - ncclGiB(estimate.workload.gpus)) / (1 + marginOf(estimate))) * BYTES_PER_GIB;
}

function marginOf({ uncertainty, workload }: Estimate): number {
  return uncertainty.relative + (workload.multiScale === null ? ALLOCATOR_MARGIN.fixed : ALLOCATOR_MARGIN.varying);
}

function ncclGiB(gpus: number): number {
  if (gpus <= 1) return 0;
  return gpus === 2 ? NCCL_GIB.two : NCCL_GIB.more;
}

export function usableGiB(gpu: GpuSpec): number {
  return gpu.usableMiB / 1024;
}

/**
 * The workload as this card runs it: without BF16 units bf16 becomes fp16, and fp32 convolutions without TF32 take the
 * workspace that physics.md §2 measured on V100.
 */
export function forCard(workload: Workload, gpu: GpuSpec): Workload {
  const precision = workload.precision === 'bf16' && !gpu.bf16 ? 'fp16' : workload.precision;
  const convWorkspace = precision === 'fp32' && (workload.convWorkspace || !TF32_ARCHITECTURES.has(gpu.architecture));
  if (precision === workload.precision && convWorkspace === workload.convWorkspace) return workload;
  return { ...workload, precision, convWorkspace };
}

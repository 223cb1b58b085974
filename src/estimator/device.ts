import type { Workload } from './workload.ts';

const MIB = 2 ** 20;

/**
 * Bytes of the CUDA context and kernels with lazy loading (torch ≥ 2.0): 0.5 GiB, range 0.35–0.7; before: 1.25 (1.0–1.5).
 * Source: pytorch/pytorch#86509, #107667, #109888, #28394 (physics.md §3.5, 2026-11).
 */
export function contextBytes(w: Workload): number {
  return (w.torch >= 2 ? 512 : 1280) * MIB;
}

/** Bytes of NCCL's buffers a GPU: 544 MB for 2 GPUs, 688 MB from 3 on, none alone (NVIDIA/nccl#964, 4×A100 NVLink, 2026-11). */
export function ncclBytes(w: Workload): number {
  if (w.gpus < 2) return 0;
  return Math.round((w.gpus === 2 ? 0.55 : 0.7) * 1024) * MIB;
}

/** What nvidia-smi shows, in bytes: `reserved` of the caching allocator, context and NCCL. */
export function deviceBytes(reserved: number, w: Workload): number {
  return reserved + contextBytes(w) + ncclBytes(w);
}

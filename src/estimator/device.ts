import type { Workload } from './workload.ts';

const MIB = 2 ** 20;

/**
 * CUDA context with lazy loading (torch ≥ 2.0): 0.5 GiB, range 0.35–0.7; before: 1.25 (1.0–1.5).
 * NCCL: 544 MB for 2 GPUs, 688 MB from 3 on (physics.md §3.5; NVIDIA/nccl#964; 2026-11).
 */
export function contextBytes(w: Workload): number {
  return (w.torch >= 2 ? 512 : 1280) * MIB;
}

export function ncclBytes(w: Workload): number {
  if (w.gpus < 2) return 0;
  return Math.round((w.gpus === 2 ? 0.55 : 0.7) * 1024) * MIB;
}

/** What nvidia-smi shows. */
export function deviceBytes(reserved: number, w: Workload): number {
  return reserved + contextBytes(w) + ncclBytes(w);
}

import type { Param } from './tape/storage.ts';
import type { Workload } from './workload.ts';

const receiving = (params: readonly Param[]): number =>
  params.reduce((sum, param) => (param.receivesGradient ? sum + param.storage.bytes : sum), 0);

/** State tensors per weight: momentum, or two moments (torch.optim, torch 2.13). */
const STATES = { sgd: 1, adam: 2, adamw: 2 } as const;

/** Bytes of optimizer state: for parameters that received a gradient; created at the first step. */
export function optimizerBytes(params: readonly Param[], w: Workload): number {
  return STATES[w.optimizer] * receiving(params);
}

/**
 * Bytes of temporaries of one step. `foreach` works on all weights at once: one copy of them in torch 2 (two for Adam before);
 * `fused` none; the loop three times the largest tensor. Source: physics.md §3.1 and §6, traced on torch 2.13 and 1.13.
 */
export function stepBytes(params: readonly Param[], w: Workload): number {
  if (w.optimizerStep === 'fused') return 0;
  if (w.optimizerStep === 'for-loop')
    return 3 * params.reduce((most, param) => (param.receivesGradient ? Math.max(most, param.storage.bytes) : most), 0);
  const copies = w.torch < 2 && w.optimizer !== 'sgd' ? 2 : 1;
  return copies * receiving(params);
}

import type { Param } from './tape/storage.ts';
import type { Workload } from './workload.ts';

/** Bytes of the weights that received a gradient: all of them, and the largest. */
export interface TrainedWeights {
  readonly bytes: number;
  readonly largest: number;
}

export function trainedWeights(params: readonly Param[]): TrainedWeights {
  let bytes = 0;
  let largest = 0;
  for (const { receivesGradient, storage } of params) {
    if (!receivesGradient) continue;
    bytes += storage.bytes;
    largest = Math.max(largest, storage.bytes);
  }
  return { bytes, largest };
}

/** State tensors per weight: momentum, or two moments (torch.optim, torch 2.13). */
const STATES = { sgd: 1, adam: 2, adamw: 2 } as const;

/** Bytes of optimizer state: for parameters that received a gradient; created at the first step. */
export function optimizerBytes(weights: TrainedWeights, w: Workload): number {
  return STATES[w.optimizer] * weights.bytes;
}

/**
 * Bytes of temporaries of one step. `foreach` works on all weights at once: one copy of them in torch 2 (two for Adam before);
 * `fused` none; the loop three times the largest tensor. Source: physics.md §3.1 and §6, traced on torch 2.13 and 1.13.
 */
export function stepBytes(weights: TrainedWeights, w: Workload): number {
  if (w.optimizerStep === 'fused') return 0;
  if (w.optimizerStep === 'for-loop') return 3 * weights.largest;
  const copies = w.torch < 2 && w.optimizer !== 'sgd' ? 2 : 1;
  return copies * weights.bytes;
}

import { type Param, storageBytes } from './tape/storage.ts';
import type { Workload } from './workload.ts';

/** The weights that received a gradient, in the order of the step. */
export interface TrainedWeights {
  readonly bytes: number;
  readonly count: number;
  readonly largest: number;
  /** Most bytes of a weight, taken twice, and the weight before it. */
  readonly largestWithPrevious: number;
}

export function trainedWeights(params: readonly Param[]): TrainedWeights {
  let bytes = 0;
  let count = 0;
  let largest = 0;
  let largestWithPrevious = 0;
  let previous = 0;
  for (const { receivesGradient, storage } of params) {
    if (!receivesGradient) continue;
    bytes += storage.bytes;
    count += 1;
    largest = Math.max(largest, storage.bytes);
    largestWithPrevious = Math.max(largestWithPrevious, previous + 2 * storage.bytes);
    previous = storage.bytes;
  }
  return { bytes, count, largest, largestWithPrevious };
}

/** State tensors per weight: momentum, or two moments (torch.optim, torch 2.13). */
const STATES = { sgd: 1, adam: 2, adamw: 2 } as const;

/** The fused kernels of Adam read the number of the step on the device: one scalar per weight (torch/optim/adam.py, 2.13). */
const STEP_COUNTER = storageBytes([], 'float');

/** Bytes of optimizer state: for parameters that received a gradient; created at the first step. */
export function optimizerBytes(weights: TrainedWeights, w: Workload): number {
  const counters = w.optimizerStep === 'fused' && w.optimizer !== 'sgd' ? weights.count * STEP_COUNTER : 0;
  return STATES[w.optimizer] * weights.bytes + counters;
}

/**
 * Bytes of temporaries of one step. `foreach` works on all weights at once: one copy of them in torch 2 (two for Adam before);
 * `fused` none. Source: physics.md §3.1 and §6, traced on torch 2.13 and 1.13. The loop goes from weight to weight: SGD adds
 * the decay to a copy of the gradient, Adam takes a root and divides it while the last divisor still has its name
 * (`_single_tensor_sgd`, `_single_tensor_adam`, 2.13; traced 2026-11-30).
 */
export function stepBytes(weights: TrainedWeights, w: Workload): number {
  if (w.optimizerStep === 'fused') return 0;
  if (w.optimizerStep === 'for-loop') return w.optimizer === 'sgd' ? weights.largest : weights.largestWithPrevious;
  const copies = w.torch < 2 && w.optimizer !== 'sgd' ? 2 : 1;
  return copies * weights.bytes;
}

import type { GradBuffer, Storage } from './storage.ts';

/** Highest live bytes of a phase, without and with kernel-internal memory, and where they occur. */
export interface Peak {
  bytes: number;
  withKernels: number;
  operation: string;
  scope: number;
  /** Index of the measuring point, for a second walk that stops there. */
  mark: number;
}

export function noPeak(): Peak {
  return { bytes: 0, withKernels: 0, operation: '', scope: 0, mark: -1 };
}

/** Told about every allocation and release of the backward pass, in order. */
export interface AllocationLog {
  allocated(key: GradBuffer | Storage): void;
  freed(key: GradBuffer | Storage): void;
}

export interface BackwardOptions {
  readonly fanInCopies: boolean;
  /** Gradients of parameters exist before backward and stay: an incoming one is added and freed. */
  readonly residentGradients: boolean;
  /** Stop at this measuring point (explanations), or -1. */
  readonly stopAt: number;
  readonly log?: AllocationLog;
}

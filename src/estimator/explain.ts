import type { Traced } from './estimate.ts';
import type { Estimate, EstimateBytes, PeakHolder } from './estimate-result.ts';
import type { Replay } from './replay.ts';
import type { Workload } from './workload.ts';

export interface Explained {
  readonly peak: Estimate['peak'];
  readonly holders: readonly PeakHolder[];
}

/** Where the peak is. */
export function explainPeak(
  { t }: Traced,
  replayed: Replay,
  { bytes }: { w: Workload; bytes: EstimateBytes },
): Explained {
  const phase =
    bytes.allocatedPeak === bytes.base + bytes.ddpBuckets + bytes.peakStep
      ? 'step'
      : replayed.forward.withKernels > replayed.backward.withKernels
        ? 'forward'
        : 'backward';
  const peak = phase === 'forward' ? replayed.forward : replayed.backward;
  return {
    peak: {
      phase,
      operation: phase === 'step' ? 'optimizer step' : peak.operation,
      module: t.scopes[peak.scope]?.path ?? '',
    },
    holders: [],
  };
}

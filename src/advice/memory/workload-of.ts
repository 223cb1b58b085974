import type { Workload } from '../../estimator/workload.ts';
import type { Change, Fit } from '../recommendation.ts';
import type { OwnGpu, RecommendationRequest } from '../request.ts';

export function imagesPerStep(workload: Workload): number {
  return workload.batchSize * workload.gradientAccumulation * workload.gpus;
}

/** The workload as a judged entry runs it: its number of GPUs, its share of the batch, its changes. */
export function workloadOf(asked: Workload, fit: Fit): Workload {
  const perGpu = fit.imagesPerStep / (fit.gpus * asked.gradientAccumulation);
  return fit.changes.reduce(applyChange, { ...asked, gpus: fit.gpus, batchSize: perGpu });
}

/** The workload on cards that come in their own number; a free total is shared, what does not divide goes to the fullest. */
export function workloadOn({ workload, freeTotalBatch }: RecommendationRequest, { count }: OwnGpu): Workload {
  const gpus = count ?? workload.gpus;
  if (freeTotalBatch === null) return { ...workload, gpus };
  return { ...workload, gpus, batchSize: Math.ceil(freeTotalBatch / (gpus * workload.gradientAccumulation)) };
}

function applyChange(workload: Workload, change: Change): Workload {
  switch (change.id) {
    case 'amp':
      return { ...workload, precision: 'fp16' };
    case 'sdpa':
      return { ...workload, attention: 'sdpa' };
    case 'checkpointing':
      return { ...workload, gradientCheckpointing: true };
    case 'micro-batch': {
      const batchSize = change.value ?? workload.batchSize;
      const gradientAccumulation = workload.gradientAccumulation * (workload.batchSize / batchSize);
      return { ...workload, batchSize, gradientAccumulation };
    }
  }
}

import type { Workload } from '../../src/estimator/workload.ts';
import { truthRows, workloadOf } from './truth.ts';

/** One workload of every family that has a trace, small enough to run often. */
export const FAMILIES: readonly Workload[] = [
  ...new Map(
    ['traces-mmseg', 'traces-smp', 'traces-torchvision', 'traces-transformers', 'traces-unet', 'own-ultralytics']
      .flatMap(truthRows)
      .filter((row) => row.input['imageHeight'] !== undefined)
      .map((row) => [row.family, workloadOf({ ...row.input, batchSize: 2 })] as const),
  ).values(),
];

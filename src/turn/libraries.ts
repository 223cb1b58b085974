import { AppError } from '../errors.ts';
import type { Workload } from '../estimator/workload.ts';
import type { LibraryFigure } from '../reply/facts.ts';
import type { AnswerPorts } from './ports.ts';

/** How many other libraries are named beside the answer. */
const SHOWN = 3;

/** The same run in other libraries; one that cannot build or train it is left out. */
export function otherLibraries(alternatives: readonly Workload[], ports: AnswerPorts): readonly LibraryFigure[] {
  return alternatives.flatMap((workload) => figureOf(workload, ports)).slice(0, SHOWN);
}

function figureOf(workload: Workload, ports: AnswerPorts): readonly LibraryFigure[] {
  const { implementation, architecture, backbone } = workload.model;
  try {
    const { bytes } = ports.estimate(workload);
    const say = [implementation, architecture, backbone].filter((part) => part !== null).join(' ');
    return [{ implementation, allocatedBytes: bytes.allocatedPeak, say }];
  } catch (error) {
    if (error instanceof AppError && error.code !== 'internal') return [];
    throw error;
  }
}

import { AppError } from '../errors.ts';
import type { Estimate } from '../estimator/estimate-result.ts';
import type { ModelSpec } from '../estimator/workload.ts';
import type { LibraryFigure } from '../reply/facts.ts';
import type { AnswerPorts } from './ports.ts';

/** How many other libraries are named beside the answer. */
const SHOWN = 3;

/** The same network in other libraries, sized for the same run; a library that cannot build it is left out. */
export function otherLibraries(
  own: Estimate,
  alternatives: readonly ModelSpec[],
  ports: AnswerPorts,
): readonly LibraryFigure[] {
  return alternatives.flatMap((model) => figureOf(own, model, ports)).slice(0, SHOWN);
}

function figureOf({ workload }: Estimate, model: ModelSpec, ports: AnswerPorts): readonly LibraryFigure[] {
  try {
    const { bytes } = ports.estimate({ ...workload, model });
    const say = [model.implementation, model.architecture, model.backbone].filter((part) => part !== null).join(' ');
    return [{ implementation: model.implementation, allocatedBytes: bytes.allocatedPeak, say }];
  } catch (error) {
    if (error instanceof AppError && error.code !== 'internal') return [];
    throw error;
  }
}

import { without } from '../dialog/slots.ts';
import type { ModelFigure } from '../reply/facts.ts';
import type { Slots } from '../understanding/understanding.ts';
import { workloadFromSlots } from '../workload/from-slots.ts';
import type { AnswerPorts } from './ports.ts';

/** Every network of a comparison, sized for the run that the conversation holds. */
export function modelFigures(slots: Slots, names: readonly string[], ports: AnswerPorts): readonly ModelFigure[] {
  const run = without(slots, ['model', 'backbone', 'implementation', 'modelText', 'outputStride']);
  return names.map((name) => {
    const { workload } = workloadFromSlots({ ...run, modelText: name }, ports.catalog);
    const { bytes } = ports.estimate(workload);
    return { label: name, allocatedBytes: bytes.allocatedPeak, deviceBytes: bytes.device };
  });
}

import { recommend } from '../advice/recommend.ts';
import type { Fit } from '../advice/recommendation.ts';
import { namedGpus, without } from '../dialog/slots.ts';
import { AppError } from '../errors.ts';
import type { ModelFigure } from '../reply/facts.ts';
import type { Slots } from '../understanding/understanding.ts';
import { type SlotWorkload, workloadFromSlots } from '../workload/from-slots.ts';
import { type AnswerPorts, advicePorts } from './ports.ts';
import { requestFromSlots } from './request.ts';

/** Every network of a comparison, sized for the run that the conversation holds. */
export function modelFigures(slots: Slots, names: readonly string[], ports: AnswerPorts): readonly ModelFigure[] {
  const run = without(slots, ['model', 'backbone', 'implementation', 'modelText', 'outputStride']);
  return names.map((name) => {
    const named = { ...run, modelText: name };
    const built = workloadFromSlots(named, ports.catalog);
    const { bytes } = ports.estimate(built.workload);
    const figure = { label: name, allocatedBytes: bytes.allocatedPeak, deviceBytes: bytes.device };
    return { ...figure, cards: cardsFor(named, built, ports) };
  });
}

/** The tensors of one run; null where it cannot be trained as it is. */
export function allocatedBytes(slots: Slots, ports: AnswerPorts): number | null {
  try {
    return ports.estimate(workloadFromSlots(slots, ports.catalog).workload).bytes.allocatedPeak;
  } catch (error) {
    if (error instanceof AppError && error.code !== 'internal') return null;
    throw error;
  }
}

/** Whether the cards that were named hold this network. */
export function cardsFor(slots: Slots, built: SlotWorkload, ports: AnswerPorts): readonly Fit[] {
  if (namedGpus(slots).length === 0) return [];
  const { own, named } = recommend(requestFromSlots(slots, built, ports), advicePorts(ports));
  return own === null ? named : [own, ...named];
}

import type { InstanceRow } from '../../../catalog/rows.ts';
import type { Workload } from '../../estimator/workload.ts';
import type { OnCard, Workbench } from '../memory/workbench.ts';
import { imagesPerStep } from '../memory/workload-of.ts';
import type { Fit, FitNote } from '../recommendation.ts';
import { hostRule } from './candidates.ts';
import type { Card } from './card.ts';

/** An instance type with the time of one optimizer step on it; null where that is not known or the workload does not fit. */
export interface StagedType {
  readonly instance: InstanceRow;
  readonly seconds: Fit['secondsPerIteration'];
  readonly hostNotes: readonly FitNote[];
}

/** A card, the types that carry it and the workload as it runs there: what no region, budget or way of paying changes. */
export interface Stage {
  readonly card: Card;
  readonly mitigated: OnCard;
  readonly types: readonly StagedType[];
  readonly imagesPerStep: number;
  readonly cardNotes: readonly FitNote[];
}

/** What is asked of one card: the workload with its number of GPUs, and the types that carry so many. */
export interface Asked {
  readonly card: Card;
  readonly workload: Workload;
  readonly types: readonly InstanceRow[];
}

export function stageOf(bench: Workbench, { card, workload, types }: Asked): Stage {
  const mitigated = bench.onCard(workload, card);
  return {
    card,
    mitigated,
    types: types.map((instance) => ({
      instance,
      seconds: secondsOn(card, mitigated, instance.vcpu / instance.gpuCount),
      hostNotes: hostNotes(instance),
    })),
    imagesPerStep: imagesPerStep(mitigated.workload),
    cardNotes: cardNotes(card, mitigated.workload),
  };
}

export function secondsOn(card: Card, mitigated: OnCard, vcpusPerGpu?: number): Fit['secondsPerIteration'] {
  return mitigated.fits && card.timeable ? mitigated.secondsWith(vcpusPerGpu) : null;
}

type Applicable = readonly (readonly [FitNote, boolean])[];

const applying = (notes: Applicable): readonly FitNote[] => notes.flatMap(([note, applies]) => (applies ? [note] : []));

function hostNotes(instance: InstanceRow): readonly FitNote[] {
  const rule = hostRule(instance);
  return applying([
    ['host-memory-below-rule', !rule.memory],
    ['host-cpu-below-rule', !rule.cpu],
  ]);
}

function cardNotes({ row, spec }: Card, { precision, gpus }: Workload): readonly FitNote[] {
  if (row === null) return [];
  return applying([
    ['old-gpu-wheels', row.torchWheels !== 'default-wheels'],
    ['no-bf16', !spec.bf16 && precision !== 'fp32'],
    ['no-p2p', row.peerToPeer === false && gpus > 1],
  ]);
}

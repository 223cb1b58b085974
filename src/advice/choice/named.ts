import type { GpuRow, InstanceRow } from '../../../catalog/rows.ts';
import type { Workload } from '../../estimator/workload.ts';
import { workloadOn } from '../memory/workload-of.ts';
import { ownCard } from '../own-card.ts';
import type { Fit } from '../recommendation.ts';
import type { OwnGpu } from '../request.ts';
import { cardOf } from './card.ts';
import { type Judging, judgeOwn, judgeRental } from './judge.ts';
import { stageOf } from './stage.ts';

/** Judges what the person named: cards, families or types. Named outright, bare metal counts; slices of cards never do. */
export function judgeNamed(judging: Judging): readonly Fit[] {
  const { only } = judging.request;
  if (only === null) return [];
  const cards = only.gpus.flatMap((named) => judgeCard(judging, named));
  const machines = only.instances.flatMap((named) => judgeInstances(judging, named));
  return [...cards, ...machines];
}

function judgeCard(judging: Judging, named: OwnGpu): readonly Fit[] {
  const { catalog } = judging.ports;
  const workload = workloadOn(judging.request, named);
  const match = named.name === undefined ? undefined : catalog.findGpu(named.name, named.memoryGiB);
  const rows = match === undefined ? [] : 'ambiguous' in match ? match.ambiguous : [match];
  if (rows.length === 0) {
    const card = ownCard(catalog, named);
    return card === undefined ? [] : [judgeOwn(judging, card, workload)];
  }
  return rows.map((row) =>
    catalog.proposable(row.name).length === 0
      ? judgeOwn(judging, cardOf(row), workload)
      : judgeTypes(judging, row, { workload, types: catalog.proposable(row.name, workload.gpus) }),
  );
}

const bareName = (name: string): string => name.toLowerCase().replace(/^ecs\./, '');

function judgeInstances(judging: Judging, named: string): readonly Fit[] {
  const { catalog } = judging.ports;
  const wanted = bareName(named);
  const whole = catalog.instances.filter((row) => row.mode !== 'vgpu');
  const exact = whole.filter((row) => bareName(row.instanceType) === wanted);
  if (exact.length > 0) return exact.flatMap((instance) => judgeMachines(judging, [instance], instance.gpuCount));
  const { gpus } = judging.request.workload;
  const family = whole.filter((row) => row.family === wanted);
  const counted = family.filter((row) => row.gpuCount === gpus);
  // A family without that number of GPUs (bare metal has only one) is judged with the smallest it has.
  const fewest = Math.min(...family.map((row) => row.gpuCount));
  const count = counted.length > 0 ? gpus : fewest;
  return judgeMachines(
    judging,
    family.filter((row) => row.gpuCount === count),
    count,
  );
}

function judgeMachines(judging: Judging, types: readonly InstanceRow[], gpus: number): readonly Fit[] {
  const workload: Workload = { ...judging.request.workload, gpus };
  const rows = new Set(types.flatMap((type) => judging.ports.catalog.gpuByName(type.gpu) ?? []));
  return [...rows].map((row) =>
    judgeTypes(judging, row, { workload, types: types.filter((type) => type.gpu === row.name) }),
  );
}

function judgeTypes(
  judging: Judging,
  row: GpuRow,
  asked: { readonly workload: Workload; readonly types: readonly InstanceRow[] },
): Fit {
  return judgeRental(judging, stageOf(judging.bench, { card: cardOf(row), ...asked }));
}

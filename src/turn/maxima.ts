import { toGpuSpec } from '../../catalog/gpu-names.ts';
import { forCard, neededGiB, usableGiB } from '../advice/fit.ts';
import { ownCard } from '../advice/own-card.ts';
import type { Recommendation } from '../advice/recommendation.ts';
import { findMaxBatch, findMaxSize } from '../advice/run/limits.ts';
import { namedGpus } from '../dialog/slots.ts';
import type { GpuSpec } from '../estimator/estimate-result.ts';
import type { Workload } from '../estimator/workload.ts';
import type { Maximum } from '../reply/facts.ts';
import type { GpuMention, Slots } from '../understanding/understanding.ts';
import type { AnswerPorts } from './ports.ts';

interface Wanted {
  readonly what: 'batch' | 'size';
  readonly workload: Workload;
  readonly slots: Slots;
  readonly recommendation: Recommendation;
}

/** The largest batch or picture on the cards that were named, else on the best one of each tier. */
export function maximaOf(wanted: Wanted, ports: AnswerPorts): readonly Maximum[] {
  const cards = namedGpus(wanted.slots).flatMap((mention) => specsOf(mention, ports));
  const specs = cards.length > 0 ? cards : tierSpecs(wanted.recommendation, ports);
  return specs.map((spec) =>
    wanted.what === 'batch' ? maxBatch(wanted.workload, spec, ports) : maxSize(wanted, spec, ports),
  );
}

/** The largest batch on each of the cards that were named. */
export function largestBatches(workload: Workload, slots: Slots, ports: AnswerPorts): readonly Maximum[] {
  return namedGpus(slots)
    .flatMap((mention) => specsOf(mention, ports))
    .map((spec) => maxBatch(workload, spec, ports));
}

function specsOf(mention: GpuMention, { catalog }: AnswerPorts): readonly GpuSpec[] {
  const instances = catalog.instances.filter(
    ({ instanceType, family }) => instanceType === mention.instance || family === mention.family,
  );
  const rows = [...new Set(instances.map(({ gpu }) => gpu))].flatMap((name) => catalog.gpuByName(name) ?? []);
  if (rows.length > 0) return rows.map(toGpuSpec);
  const card = ownCard(catalog, mention);
  return card === undefined ? [] : [card.spec];
}

function tierSpecs({ tiers }: Recommendation, { catalog }: AnswerPorts): readonly GpuSpec[] {
  const rows = tiers.flatMap(({ gpu }) => catalog.gpus.find(({ label }) => label === gpu) ?? []);
  return rows.map(toGpuSpec);
}

function maxBatch(workload: Workload, spec: GpuSpec, ports: AnswerPorts): Maximum {
  const batch = findMaxBatch(ports.estimate, workload, spec) ?? 0;
  return { card: spec.name, batch, ...needs({ ...workload, batchSize: Math.max(1, batch) }, spec, ports) };
}

function maxSize({ workload }: Wanted, spec: GpuSpec, ports: AnswerPorts): Maximum {
  const found = findMaxSize(ports.estimate, workload, spec);
  if (found === null) return { card: spec.name, batch: 0, ...needs(workload, spec, ports) };
  const size = { height: found.imageHeight, width: found.imageWidth };
  return { card: spec.name, size, ...needs({ ...workload, ...found }, spec, ports) };
}

function needs(workload: Workload, spec: GpuSpec, ports: AnswerPorts): Pick<Maximum, 'neededGiB' | 'usableGiB'> {
  return { neededGiB: neededGiB(ports.estimate(forCard(workload, spec))), usableGiB: usableGiB(spec) };
}

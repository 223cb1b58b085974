import { isTimeable, toGpuSpec } from '../../catalog/gpu-names.ts';
import type { Catalog } from '../../catalog/index.ts';
import type { GpuRow } from '../../catalog/rows.ts';
import type { AdvicePorts } from '../advice/request.ts';
import { AppError } from '../errors.ts';
import type { Estimate } from '../estimator/estimate-result.ts';
import { parseFields } from '../workload/fields.ts';
import { workloadFromLine } from '../workload/from-line.ts';
import { estimateToJson, type SecondsByGpu } from './estimate-json.ts';
import { estimateLineSchema } from './workload-line.ts';

export type EstimatePorts = Pick<AdvicePorts, 'catalog' | 'estimate' | 'secondsPerIteration'>;

/** Answers one line of `estimate --jsonl`. */
export function createEstimateAnswer(ports: EstimatePorts): (value: unknown) => unknown {
  return (value) => {
    const line = parseFields(estimateLineSchema, value);
    const { workload, assumed } = workloadFromLine(line, ports.catalog);
    const estimate = ports.estimate(workload);
    const times = line.gpu == null ? undefined : timesOn(line.gpu, estimate, ports);
    return {
      id: line.id,
      ...estimateToJson(estimate, { assumed, ...(times === undefined ? {} : { secondsPerIteration: times }) }),
    };
  };
}

function timesOn(name: string, estimate: Estimate, ports: EstimatePorts): SecondsByGpu {
  const all = name.toLowerCase() === 'all';
  const rows = all ? ports.catalog.gpus : [findGpu(name, ports.catalog)];
  const times = rows
    .filter(isTimeable)
    .map((row) => [all ? row.label : name, ports.secondsPerIteration(estimate, toGpuSpec(row), {})] as const);
  return Object.fromEntries(times);
}

/** @throws AppError `unknown-gpu` with the cards it could be. */
function findGpu(name: string, catalog: Catalog): GpuRow {
  const match = catalog.findGpu(name);
  if (match !== undefined && !('ambiguous' in match)) return match;
  const nearest = match === undefined ? [] : match.ambiguous.map(({ label }) => label);
  throw new AppError('unknown-gpu', `no single card called ${name}`, { details: { name, nearest } });
}

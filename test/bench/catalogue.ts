import { performance } from 'node:perf_hooks';

import { builtInModels } from '../../catalog/models.ts';
import { resolveModel } from '../../catalog/resolve-model.ts';
import { AppError } from '../../src/errors.ts';
import { estimate } from '../../src/estimator/estimate.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { buildWorkload } from '../../src/workload/build.ts';
import { percentile } from './measure.ts';

/** Timed runs a network; the fastest counts, as neighbours on the machine lengthen the others. */
const RUNS = 3;
/** Rounds over the catalogue before the timed one: a network's code is compiled after some runs, as that of any other row. */
const WARM_UP = 2;

interface Timed {
  readonly name: string;
  readonly milliseconds: number;
}

/** Every network of the catalogue on every backbone that it names, at the size and batch that are assumed when nothing is said. */
function workloads(): ReadonlyMap<string, Workload> {
  const catalog = builtInModels();
  const found = new Map<string, Workload>();
  for (const row of catalog.rows) {
    const { implementation, architecture } = row;
    const named = catalog.backbonesOf.get(row) ?? [];
    const backbones = named.length === 0 ? [null] : named.filter((name) => !name.endsWith('*'));
    for (const backbone of backbones) {
      const resolved = resolveModel({ implementation, architecture, backbone }, catalog);
      if (resolved.kind !== 'model') continue;
      const { spec: model, defaults, assumed } = resolved;
      const { workload } = buildWorkload({ model, defaults, assumed, fields: {}, fromName: {} });
      found.set([implementation, architecture, backbone].filter(Boolean).join(' '), workload);
    }
  }
  return found;
}

/** Another number of classes each time: the estimator remembers the last networks. Undefined where the network refuses the usual size. */
function timed(name: string, workload: Workload): Timed | undefined {
  const once = (run: number): number => {
    const start = performance.now();
    estimate({ ...workload, numClasses: workload.numClasses + run });
    return performance.now() - start;
  };
  try {
    const runs = Array.from({ length: RUNS }, (_, run) => once(run + 1));
    return { name, milliseconds: Math.min(...runs) };
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

/** One line: how long an estimate takes over the whole catalogue, in a process that has estimated it before. */
export function benchCatalogue(): string {
  const networks = workloads();
  for (let round = 0; round < WARM_UP; round += 1) for (const [name, workload] of networks) timed(name, workload);
  const rows = [...networks].flatMap(([name, workload]) => timed(name, workload) ?? []);
  const times = rows.map(({ milliseconds }) => milliseconds);
  const slowest = rows.reduce((worst, row) => (row.milliseconds > worst.milliseconds ? row : worst));
  const [p50, p99] = [0.5, 0.99].map((share) => percentile(times, share).toFixed(3).padStart(9));
  return [
    `${`estimates of ${rows.length} networks, not seen before`.padEnd(58)} p50 ${p50} ms   p99 ${p99} ms`,
    `slowest ${slowest.milliseconds.toFixed(3)} ms (${slowest.name})   aim 0.5 ms, any 5 ms`,
  ].join('   ');
}

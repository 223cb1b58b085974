import type { Catalog } from '../../catalog/index.ts';
import type { ModelSpec } from '../estimator/workload.ts';
import { type BuiltWorkload, buildWorkload } from './build.ts';
import type { WorkloadFields } from './fields.ts';
import { datasetOf, imageSize } from './from-slots.ts';
import { resolveNamed } from './named-model.ts';

export interface NamedFields extends WorkloadFields {
  readonly model: string;
  readonly implementation?: string | null | undefined;
  readonly backbone?: string | null | undefined;
  readonly dataset?: string | null | undefined;
}

export interface LineWorkload extends BuiltWorkload {
  /** Id of a catalogue row, from the line or from the name. */
  readonly dataset: string | undefined;
  readonly alternatives: readonly ModelSpec[];
}

/**
 * The workload of one line of a script.
 *
 * @throws AppError `unknown-model`, `unknown-backbone`, `unsupported-combination`, `invalid-input`.
 */
export function workloadFromLine(line: NamedFields, catalog: Catalog): LineWorkload {
  const named = resolveNamed(line);
  const dataset = datasetOf(line.dataset ?? named.dataset, catalog);
  const built = buildWorkload({
    model: named.spec,
    defaults: named.defaults,
    assumed: named.assumed,
    fields: line,
    fromName: named.fields,
    datasetImage: imageSize(dataset),
  });
  return { ...built, dataset: dataset?.id, alternatives: named.alternatives };
}

import type { Catalog } from '../../catalog/index.ts';
import type { DatasetRow } from '../../catalog/rows.ts';
import type { Workload } from '../estimator/workload.ts';
import type { Slots } from '../understanding/understanding.ts';
import { type BuiltWorkload, buildWorkload } from './build.ts';
import { parseFields, spokenFieldsSchema, type WorkloadFields } from './fields.ts';
import { type NamedModel, resolveElsewhere, resolveNamed } from './named-model.ts';

export interface SlotWorkload extends BuiltWorkload {
  /** Images per step over all GPUs, when only the total was said and the number of GPUs is free. */
  readonly freeTotalBatch: number | null;
  /** The same run in other libraries, each with what is usual there. */
  readonly alternatives: () => readonly Workload[];
}

/**
 * The workload that a conversation holds.
 *
 * @throws AppError `unknown-model`, `unknown-backbone`, `unsupported-combination`, `out-of-range`.
 */
export function workloadFromSlots(slots: Slots, catalog: Catalog): SlotWorkload {
  const fields = parseFields(spokenFieldsSchema, slotFields(slots));
  const named = resolveNamed(nameOf(slots));
  const built = buildFrom(named, { slots, fields }, catalog);
  const free = slots.batchScope === 'total' && slots.gpus === undefined ? (slots.batchSize ?? null) : null;
  const alternatives = (): readonly Workload[] =>
    resolveElsewhere(nameOf(slots)).map((other) => buildFrom(other, { slots, fields }, catalog).workload);
  return { ...built, freeTotalBatch: free, alternatives };
}

interface Said {
  readonly slots: Slots;
  readonly fields: WorkloadFields;
}

function buildFrom(named: NamedModel, { slots, fields }: Said, catalog: Catalog): BuiltWorkload {
  const dataset = datasetOf(slots.dataset ?? named.dataset, catalog);
  const numClasses = slots.numClasses ?? (slots.dataset === undefined ? undefined : (dataset?.numClasses ?? undefined));
  return buildWorkload({
    model: named.spec,
    defaults: named.defaults,
    assumed: named.assumed,
    fields: numClasses === undefined ? fields : { ...fields, numClasses },
    fromName: named.fields,
    datasetImage: imageSize(dataset),
  });
}

/** A total batch is shared among GPUs and accumulation steps; what does not divide goes to the fullest one. */
function batchPerGpu({ batchSize, batchScope, gpus, gradientAccumulation = 1 }: Slots): number | undefined {
  if (batchSize === undefined || batchScope !== 'total' || gpus === undefined || gpus < 1) return batchSize;
  return Math.ceil(batchSize / (gpus * Math.max(1, gradientAccumulation)));
}

function slotFields(slots: Slots): Partial<Record<keyof WorkloadFields, unknown>> {
  return {
    imageHeight: slots.imageHeight,
    imageWidth: slots.imageWidth,
    batchSize: batchPerGpu(slots),
    numClasses: slots.numClasses,
    inputChannels: slots.inputChannels,
    baseChannels: slots.baseChannels,
    precision: slots.precision,
    optimizer: slots.optimizer,
    loss: slots.loss,
    attention: slots.attention,
    gradientCheckpointing: slots.gradientCheckpointing,
    frozenBackbone: slots.frozenBackbone,
    norm: slots.norm,
    auxiliaryHead: slots.auxiliaryHead,
    outputStride: slots.outputStride,
    gradientAccumulation: slots.gradientAccumulation,
    gpus: slots.gpus,
  };
}

function nameOf(slots: Slots) {
  return {
    model: slots.modelText ?? [slots.model, slots.backbone].filter((part) => part !== undefined).join(' '),
    implementation: slots.implementation,
    backbone: slots.backbone,
  };
}

export function datasetOf(name: string | undefined, catalog: Catalog): DatasetRow | undefined {
  if (name === undefined) return undefined;
  const match = catalog.findDataset(name);
  return match === undefined || 'ambiguous' in match ? undefined : match;
}

export function imageSize(dataset: DatasetRow | undefined): { height: number; width: number } | undefined {
  if (dataset?.imageHeight == null || dataset.imageWidth === null) return undefined;
  return { height: dataset.imageHeight, width: dataset.imageWidth };
}

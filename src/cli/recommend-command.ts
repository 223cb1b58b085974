import type { Catalog } from '../../catalog/index.ts';
import { recommendationJson } from '../advice/json.ts';
import { recommend } from '../advice/recommend.ts';
import type { AdvicePorts, RecommendationRequest } from '../advice/request.ts';
import type { Config } from '../config.ts';
import { AppError } from '../errors.ts';
import { isVendorRegion } from '../understanding/slots/place.ts';
import { parseFields } from '../workload/fields.ts';
import { type LineWorkload, workloadFromLine } from '../workload/from-line.ts';
import { estimateToJson } from './estimate-json.ts';
import { type RecommendLine, recommendLineSchema } from './workload-line.ts';

/** Hours of a month in which a monthly machine runs, when nothing was said: all of them (24 × 30). */
const HOURS_PER_MONTH = 720;

/** Answers one line of `recommend --jsonl`. */
export function createRecommendAnswer(ports: AdvicePorts, config: Pick<Config, 'region'>): (value: unknown) => unknown {
  return (value) => {
    const line = parseFields(recommendLineSchema, value);
    checkCards(line, ports.catalog);
    checkRegion(line.region, ports);
    const built = workloadFromLine(withShare(line), ports.catalog);
    const recommendation = recommend(toRequest(line, built, config.region), ports);
    const { id, ...rest } = recommendationJson(
      String(line.id),
      recommendation,
      estimateToJson(recommendation.estimate, { assumed: built.assumed }),
    );
    return { id: line.id, ...rest };
  };
}

const MACHINE = /^(ecs\.|(ebm|scc|hf|[csv])?gn\d)/i;

/** @throws AppError `unknown-gpu` for a card or machine of no table, and no stated memory of an own one. */
function checkCards({ gpu, ownGpu }: RecommendLine, catalog: Catalog): void {
  if (gpu != null && !isKnown(gpu, catalog)) {
    throw new AppError('unknown-gpu', `no card or instance type called ${gpu}`, {
      details: { field: 'gpu', name: gpu },
    });
  }
  if (ownGpu?.name == null || ownGpu.memoryGiB != null || catalog.findGpu(ownGpu.name) !== undefined) return;
  const details = { field: 'ownGpu.name', name: ownGpu.name };
  throw new AppError('unknown-gpu', `no card called ${ownGpu.name}; give its memoryGiB`, { details });
}

/** @throws AppError `invalid-input` for a region of no price row that is none of the vendor's either. */
function checkRegion(region: string | null | undefined, { prices }: AdvicePorts): void {
  const priced = prices.regions();
  if (region == null || priced.includes(region) || isVendorRegion(region)) return;
  throw new AppError('invalid-input', `region: no region called ${region}; with prices: ${priced.join(', ')}`, {
    details: { field: 'region', name: region, nearest: priced },
  });
}

function isKnown(gpu: string, catalog: Catalog): boolean {
  if (!MACHINE.test(gpu)) return gpu === 'all' || catalog.findGpu(gpu) !== undefined;
  const name = gpu.toLowerCase().replace(/^ecs\./, '');
  return catalog.instances.some(({ instanceType, family }) => family === name || instanceType === `ecs.${name}`);
}

/** A total batch with a number of GPUs decides the batch per GPU. */
function withShare(line: RecommendLine): RecommendLine {
  const { totalBatch, gpus, batchSize } = line;
  if (totalBatch == null || batchSize != null) return line;
  const steps = (gpus ?? 1) * (line.gradientAccumulation ?? 1);
  return { ...line, batchSize: Math.max(1, Math.ceil(totalBatch / steps)) };
}

function toRequest(line: RecommendLine, built: LineWorkload, region: string): RecommendationRequest {
  return {
    workload: built.workload,
    budget: line.budget ?? null,
    region: line.region ?? region,
    chargeType: line.chargeType ?? 'PostPaid',
    freeTotalBatch: line.gpus == null ? (line.totalBatch ?? null) : null,
    only: line.gpu == null ? null : filterOf(line.gpu),
    own: ownOf(line.ownGpu),
    run: runOf(line, built),
    assumeUsualRun: line.deadlineHours != null,
    deadlineHours: line.deadlineHours ?? null,
    hoursPerMonth: line.hoursPerMonth ?? HOURS_PER_MONTH,
  };
}

/** `ecs.gn7i-c16g1.4xlarge` and `gn7i` are machines, anything else is a card. */
function filterOf(gpu: string): RecommendationRequest['only'] {
  const machine = MACHINE.test(gpu);
  return machine ? { gpus: [], instances: [gpu] } : { gpus: [{ name: gpu }], instances: [] };
}

function ownOf(own: RecommendLine['ownGpu']): RecommendationRequest['own'] {
  if (own == null) return null;
  return {
    ...(own.name == null ? {} : { name: own.name }),
    ...(own.memoryGiB == null ? {} : { memoryGiB: own.memoryGiB }),
    ...(own.count == null ? {} : { count: own.count }),
  };
}

function runOf(
  { iterations, epochs, trainImages }: RecommendLine,
  { dataset }: LineWorkload,
): RecommendationRequest['run'] {
  return {
    ...(iterations == null ? {} : { iterations }),
    ...(epochs == null ? {} : { epochs }),
    ...(trainImages == null ? {} : { trainImages }),
    ...(dataset === undefined ? {} : { dataset }),
  };
}

/**
 * The choice of advice.md written a second time, from its text alone and from the raw catalogue rows: every type, every
 * change list, plain loops. It imports nothing of src/advice.
 */

import { toGpuSpec } from '../../catalog/gpu-names.ts';
import type { Catalog } from '../../catalog/index.ts';
import type { GpuRow, InstanceRow, PriceRow } from '../../catalog/rows.ts';
import type { Estimate, GpuSpec } from '../../src/estimator/estimate-result.ts';
import type { Workload } from '../../src/estimator/workload.ts';

export interface Question {
  readonly workload: Workload;
  readonly budget: { amount: number; currency: 'CNY' | 'USD'; period: 'hour' | 'day' | 'month' | 'total' } | null;
  readonly region: string;
  readonly chargeType: 'PostPaid' | 'Spot' | 'PrePaid';
  readonly totalBatch: number | null;
  readonly iterations: number | null;
  readonly hoursPerMonth: number;
}

export interface Answer {
  readonly status: string;
  readonly gpu: string;
  readonly gpus: number;
  readonly instanceType: string | null;
  readonly changes: readonly string[];
  readonly neededGiB: number;
}

interface Entry extends Answer {
  readonly tier: 'A' | 'B' | 'C';
  readonly costPerImage: number;
  readonly hourly: number;
  readonly headroom: number;
}

export interface World {
  readonly catalog: Catalog;
  readonly usdCny: number;
  readonly estimate: (workload: Workload) => Estimate;
  readonly seconds: (estimate: Estimate, gpu: GpuSpec, options: { vcpusPerGpu?: number }) => readonly [number, number];
}

interface Quote {
  readonly cny: number;
  readonly onDemandCny: number;
}

interface Listed {
  readonly rows: ReadonlyMap<string, PriceRow>;
  readonly sold: ReadonlySet<string>;
}

const listedOf = new WeakMap<Catalog, Listed>();

/** The price rows by type and region, and every type that any row or dated quotation prices somewhere. */
function listed({ catalog }: World): Listed {
  const known = listedOf.get(catalog);
  if (known !== undefined) return known;
  const { rows, observations } = catalog.prices;
  const dated = observations.filter((one) => one.checkedOn !== null && one.regions.length > 0);
  const made = {
    rows: new Map(rows.map((row) => [`${row.instanceType} ${row.region}`, row])),
    sold: new Set([...rows, ...dated].map((row) => row.instanceType)),
  };
  listedOf.set(catalog, made);
  return made;
}

function quoteOf(world: World, type: string, region: string, chargeType: string): Quote | null {
  const row = listed(world).rows.get(`${type} ${region}`);
  if (row !== undefined) {
    const cny = row.currency === 'USD' ? row.amountPerHour * world.usdCny : row.amountPerHour;
    return { cny, onDemandCny: cny };
  }
  const seen = world.catalog.prices.observations.filter(
    (one) => one.checkedOn !== null && one.instanceType === type && one.regions.includes(region),
  );
  const last = seen[seen.length - 1];
  if (last === undefined) return null;
  const rate = last.currency === 'USD' ? world.usdCny : 1;
  const onDemandCny = last.amountPerHour * rate;
  const spot = chargeType === 'Spot' && last.spotPerHour !== null ? last.spotPerHour * rate : onDemandCny;
  return { cny: spot, onDemandCny };
}

function isSoldSomewhere(world: World, type: string): boolean {
  return listed(world).sold.has(type);
}

function isWithinBudget(world: World, question: Question, quote: Quote, seconds: readonly [number, number]): boolean {
  const { budget } = question;
  if (budget === null) return true;
  const limit = (budget.amount + 0.005) * (budget.currency === 'USD' ? world.usdCny : 1);
  if (budget.period === 'hour') return quote.cny <= limit;
  if (budget.period === 'day') return quote.cny * 24 <= limit;
  if (budget.period === 'month') return Math.min(480 * quote.onDemandCny, question.hoursPerMonth * quote.cny) <= limit;
  if (question.iterations === null) return true;
  return (quote.cny * question.iterations * Math.sqrt(seconds[0] * seconds[1])) / 3600 <= limit;
}

/** Everything that may be added, in the prescribed order. */
function needOf(world: World, workload: Workload, spec: GpuSpec) {
  const turing = ['Maxwell', 'Pascal', 'Volta', 'Turing', 'other'].includes(spec.architecture);
  const precision = workload.precision === 'bf16' && !spec.bf16 ? 'fp16' : workload.precision;
  const ready: Workload = { ...workload, precision, convWorkspace: precision === 'fp32' && turing };
  const estimate = world.estimate(ready);
  const margin = estimate.uncertainty.relative + (workload.multiScale === null ? 0.03 : 0.1);
  const nccl = workload.gpus === 1 ? 0 : workload.gpus === 2 ? 0.55 : 0.7;
  return { need: (estimate.bytes.allocatedPeak / 2 ** 30) * (1 + margin) + 0.5 + nccl, estimate, workload };
}

function withChanges(world: World, asked: Workload, spec: GpuSpec) {
  const usable = spec.usableMiB / 1024;
  let state = needOf(world, asked, spec);
  let changes: string[] = [];
  const add = (name: string, workload: Workload) => {
    if (state.need <= usable) return;
    const next = needOf(world, workload, spec);
    if (next.need >= state.need) return;
    state = next;
    changes = [...changes.filter((one) => !one.startsWith(name.split(' ')[0] ?? name)), name];
  };
  if (asked.precision === 'fp32') add('amp', { ...state.workload, precision: 'fp16' });
  const library = asked.model.implementation;
  if (asked.attention === 'eager' && library === 'transformers') add('sdpa', { ...state.workload, attention: 'sdpa' });
  const checkpoints = ['mmseg', 'mmdetection', 'transformers', 'milesial'].includes(library);
  if (!asked.gradientCheckpointing && checkpoints)
    add('checkpointing', { ...state.workload, gradientCheckpointing: true });
  const least = asked.model.architecture === 'deeplabv3plus' ? 2 : 1;
  let micro = asked.batchSize;
  while (true) {
    let next = 0;
    for (let divisor = 1; divisor <= micro / 2; divisor += 1) if (asked.batchSize % divisor === 0) next = divisor;
    if (next < least) break;
    micro = next;
    const gradientAccumulation = (asked.gradientAccumulation * asked.batchSize) / micro;
    add(`micro-batch ${micro}`, { ...state.workload, batchSize: micro, gradientAccumulation });
  }
  return { ...state, changes, fits: state.need <= usable, usable };
}

const keepsRule = (row: InstanceRow) =>
  row.memoryGiB >= 1.5 * (row.gpuMemoryGB ?? 0) * row.gpuCount && row.vcpu >= 8 * row.gpuCount;

const bySize = (a: InstanceRow, b: InstanceRow) =>
  a.vcpu - b.vcpu ||
  a.memoryGiB - b.memoryGiB ||
  a.instanceType.length - b.instanceType.length ||
  (a.instanceType < b.instanceType ? -1 : 1);

interface Choice {
  readonly row: InstanceRow;
  readonly quote: Quote | null;
  readonly within: boolean;
  readonly seconds: readonly [number, number];
}

function bestType(choices: readonly Choice[], isElsewhere: (row: InstanceRow) => boolean): Choice | undefined {
  const smallest = (list: readonly Choice[]) => {
    const keeping = list.filter((one) => keepsRule(one.row));
    return [...(keeping.length > 0 ? keeping : list)].sort((a, b) => bySize(a.row, b.row))[0];
  };
  const here = choices.filter((one) => one.quote !== null || !isElsewhere(one.row));
  if (here.length === 0) return smallest(choices);
  const left = here.filter((one) => one.within);
  const pool = left.length > 0 ? left : here;
  const priced = pool.filter((one) => one.quote !== null);
  if (priced.length === 0) return smallest(pool);
  const price = (one: Choice) => one.quote?.cny ?? Number.POSITIVE_INFINITY;
  const sorted = [...priced].sort(
    (a, b) => price(a) - price(b) || Number(keepsRule(b.row)) - Number(keepsRule(a.row)) || bySize(a.row, b.row),
  );
  const cheapest = sorted[0];
  const keeping = sorted.filter((one) => keepsRule(one.row))[0];
  if (cheapest === undefined || keeping === undefined) return cheapest;
  return price(keeping) <= 1.15 * price(cheapest) ? keeping : cheapest;
}

function entryOf(world: World, question: Question, row: GpuRow, workload: Workload): Entry {
  const spec = toGpuSpec(row);
  const result = withChanges(world, workload, spec);
  const types = world.catalog.instances.filter(
    (one) =>
      one.mode === 'passthrough' &&
      one.docStatus.startsWith('listed') &&
      !one.docStatus.startsWith('listed; invitational') &&
      one.gpu === row.name &&
      one.gpuCount === workload.gpus,
  );
  const choices = types.map((type): Choice => {
    const quote = quoteOf(world, type.instanceType, question.region, question.chargeType);
    const seconds = world.seconds(result.estimate, spec, { vcpusPerGpu: type.vcpu / type.gpuCount });
    // What does not fit has no time, so a budget for the whole run cannot be exceeded by it.
    const judged = result.fits || question.budget?.period !== 'total';
    return {
      row: type,
      quote,
      seconds,
      within: quote === null || !judged || isWithinBudget(world, question, quote, seconds),
    };
  });
  const best = bestType(choices, (type) => isSoldSomewhere(world, type.instanceType));
  let status = 'does-not-fit';
  if (best === undefined) status = 'no-candidate';
  else if (result.fits && best.quote !== null) {
    status = !best.within ? 'over-budget' : result.changes.length === 0 ? 'fits' : 'fits-with-changes';
  } else if (result.fits) status = isSoldSomewhere(world, best.row.instanceType) ? 'not-in-region' : 'price-on-request';
  const hourly = best?.quote?.cny ?? Number.POSITIVE_INFINITY;
  const images = workload.batchSize * workload.gradientAccumulation * workload.gpus;
  const timed = result.fits && best !== undefined && best.quote !== null;
  return {
    tier: row.nominalMemoryGB <= 16 ? 'A' : row.nominalMemoryGB <= 48 ? 'B' : 'C',
    status,
    gpu: row.label,
    gpus: workload.gpus,
    instanceType: best?.row.instanceType ?? null,
    changes: result.changes,
    neededGiB: result.need,
    hourly,
    headroom: result.usable - result.need,
    costPerImage: timed
      ? (hourly * Math.sqrt(best.seconds[0] * best.seconds[1])) / (3600 * images)
      : Number.POSITIVE_INFINITY,
  };
}

const ORDER = [
  'fits',
  'fits-with-changes',
  'price-on-request',
  'over-budget',
  'not-in-region',
  'no-candidate',
  'does-not-fit',
];

function isBetter(a: Entry, b: Entry): boolean {
  if (a.status !== b.status) return ORDER.indexOf(a.status) < ORDER.indexOf(b.status);
  if (a.status === 'fits-with-changes' && a.changes.length !== b.changes.length)
    return a.changes.length < b.changes.length;
  if (a.costPerImage !== b.costPerImage) return a.costPerImage < b.costPerImage;
  if (a.hourly !== b.hourly) return a.hourly < b.hourly;
  if (a.headroom !== b.headroom) return a.headroom > b.headroom;
  return (a.instanceType ?? a.gpu) < (b.instanceType ?? b.gpu);
}

function bestOf(entries: readonly Entry[]): Entry | undefined {
  let best: Entry | undefined;
  for (const entry of entries) if (best === undefined || isBetter(entry, best)) best = entry;
  return best;
}

/** Tiers and recommended choice by trying everything. */
export function exhaustive(world: World, question: Question): { tiers: readonly Answer[]; recommended: Answer | null } {
  const gpuRows = world.catalog.gpus.filter(
    (row) =>
      row.usableMiB !== null &&
      world.catalog.instances.some(
        (one) =>
          one.gpu === row.name &&
          one.mode === 'passthrough' &&
          one.docStatus.startsWith('listed') &&
          !one.docStatus.startsWith('listed; invitational'),
      ),
  );
  const entries: Entry[] = [];
  for (const row of gpuRows) {
    if (question.totalBatch === null) {
      entries.push(entryOf(world, question, row, question.workload));
      continue;
    }
    for (let gpus = 1; gpus <= 8; gpus += 1) {
      const least = question.workload.model.architecture === 'deeplabv3plus' ? 2 : 1;
      if (question.totalBatch % gpus !== 0 || question.totalBatch / gpus < least) continue;
      const entry = entryOf(world, question, row, {
        ...question.workload,
        gpus,
        batchSize: question.totalBatch / gpus,
      });
      if (entry.status !== 'no-candidate') entries.push(entry);
    }
  }
  const tiers = (['A', 'B', 'C'] as const).flatMap((tier) => bestOf(entries.filter((one) => one.tier === tier)) ?? []);
  const priced = entries.filter((one) => one.hourly !== Number.POSITIVE_INFINITY);
  const within = bestOf(priced.filter((one) => one.status === 'fits' || one.status === 'fits-with-changes'));
  const over = priced.filter((one) => one.status === 'over-budget');
  over.sort((a, b) => a.changes.length - b.changes.length || a.hourly - b.hourly || (isBetter(a, b) ? -1 : 1));
  return { tiers, recommended: within ?? over[0] ?? null };
}

import type { Catalog } from '../../catalog/index.ts';
import { toCny } from '../advice/choice/money.ts';
import { isSameMemory } from '../advice/own-card.ts';
import type { RecommendationRequest, RentalFilter } from '../advice/request.ts';
import { namedGpus } from '../dialog/slots.ts';
import type { Slots } from '../understanding/understanding.ts';
import type { SlotWorkload } from '../workload/from-slots.ts';

/** Hours of a month in which a monthly machine runs, when nothing was said: all of them (24 × 30). */
export const HOURS_PER_MONTH = 720;

interface RequestPorts {
  readonly region: string;
  readonly usdCny: number;
  readonly catalog?: Pick<Catalog, 'findGpu' | 'proposable'>;
}

/** What the advice is asked, from what a conversation holds. */
export function requestFromSlots(
  slots: Slots,
  built: SlotWorkload,
  { region, usdCny, catalog }: RequestPorts,
): RecommendationRequest {
  return {
    workload: built.workload,
    budget: budgetLimit(slots.budget, usdCny),
    region: slots.region ?? region,
    chargeType: slots.chargeType ?? 'PostPaid',
    freeTotalBatch: built.freeTotalBatch,
    only: isOwnCard(slots, catalog) ? null : rentalFilter(slots),
    ...(slots.avoid === undefined ? {} : { avoid: slots.avoid }),
    own: isOwnCard(slots, catalog) ? ownGpu(slots) : null,
    run: runLength(slots),
    assumeUsualRun: slots.deadlineHours !== undefined,
    deadlineHours: slots.deadlineHours ?? null,
    hoursPerMonth: slots.hoursPerMonth ?? HOURS_PER_MONTH,
  };
}

/** No listed machine costs more an hour (dearest dated row: 312 CNY, prices of 2024-12-30), so a larger sum is a month's. */
const DEAREST_HOUR_CNY = 350;

/** A budget without a period: an hourly price, or a monthly sum where it is too large for one. */
function budgetLimit(budget: Slots['budget'], usdCny: number): RecommendationRequest['budget'] {
  if (budget === undefined || budget.period !== undefined) return budget ?? null;
  const cny = toCny(budget.amount, budget.currency, usdCny);
  return { ...budget, period: cny > DEAREST_HOUR_CNY ? 'month' : 'hour' };
}

/** Said to be owned, or one card that nobody rents out: by its memory alone, or a desktop card. */
function isOwnCard(slots: Slots, catalog: RequestPorts['catalog']): boolean {
  const [mention, ...others] = namedGpus(slots);
  if (mention === undefined) return false;
  if (slots.owned === true) return true;
  if (others.length > 0 || mention.instance !== undefined || mention.family !== undefined) return false;
  if (mention.name === undefined) return mention.memoryGiB !== undefined;
  const match = catalog?.findGpu(mention.name, mention.memoryGiB);
  if (match === undefined) return false;
  const rows = 'ambiguous' in match ? match.ambiguous : [match];
  // "V100 24G" is none of the cards that are called V100
  const { memoryGiB } = mention;
  if (memoryGiB !== undefined && rows.every(({ nominalMemoryGB }) => !isSameMemory(nominalMemoryGB, memoryGiB)))
    return true;
  return rows.every((row) => catalog?.proposable(row.name).length === 0);
}

function rentalFilter(slots: Slots): RentalFilter | null {
  const mentions = namedGpus(slots);
  if (mentions.length === 0) return null;
  const instances = mentions.flatMap(({ instance, family }) => instance ?? family ?? []);
  const gpus = mentions.filter(({ instance, family }) => instance === undefined && family === undefined);
  return { gpus, instances };
}

function ownGpu(slots: Slots): RecommendationRequest['own'] {
  const [mention] = namedGpus(slots);
  return mention === undefined ? null : { ...mention, ...(slots.gpus === undefined ? {} : { count: slots.gpus }) };
}

function runLength({ iterations, epochs, trainImages, dataset }: Slots): RecommendationRequest['run'] {
  return {
    ...(iterations === undefined ? {} : { iterations }),
    ...(epochs === undefined ? {} : { epochs }),
    ...(trainImages === undefined ? {} : { trainImages }),
    ...(dataset === undefined ? {} : { dataset }),
  };
}

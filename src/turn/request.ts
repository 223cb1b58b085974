import type { RecommendationRequest, RentalFilter } from '../advice/request.ts';
import { namedGpus } from '../dialog/slots.ts';
import type { Slots } from '../understanding/understanding.ts';
import type { SlotWorkload } from '../workload/from-slots.ts';

/** Hours of a month in which a monthly machine runs, when nothing was said: all of them (24 × 30). */
const HOURS_PER_MONTH = 720;

/** What the advice is asked, from what a conversation holds. */
export function requestFromSlots(slots: Slots, built: SlotWorkload, region: string): RecommendationRequest {
  return {
    workload: built.workload,
    budget: slots.budget ?? null,
    region: slots.region ?? region,
    chargeType: slots.chargeType ?? 'PostPaid',
    freeTotalBatch: built.freeTotalBatch,
    only: rentalFilter(slots),
    own: ownGpu(slots),
    run: runLength(slots),
    assumeUsualRun: slots.deadlineHours !== undefined,
    deadlineHours: slots.deadlineHours ?? null,
    hoursPerMonth: slots.hoursPerMonth ?? HOURS_PER_MONTH,
  };
}

function rentalFilter(slots: Slots): RentalFilter | null {
  const mentions = namedGpus(slots);
  if (slots.owned === true || mentions.length === 0) return null;
  const instances = mentions.flatMap(({ instance, family }) => instance ?? family ?? []);
  const gpus = mentions.filter(({ instance, family }) => instance === undefined && family === undefined);
  return { gpus, instances };
}

function ownGpu(slots: Slots): RecommendationRequest['own'] {
  const [mention] = namedGpus(slots);
  if (slots.owned !== true || mention === undefined) return null;
  return { ...mention, ...(slots.gpus === undefined ? {} : { count: slots.gpus }) };
}

function runLength({ iterations, epochs, trainImages, dataset }: Slots): RecommendationRequest['run'] {
  return {
    ...(iterations === undefined ? {} : { iterations }),
    ...(epochs === undefined ? {} : { epochs }),
    ...(trainImages === undefined ? {} : { trainImages }),
    ...(dataset === undefined ? {} : { dataset }),
  };
}

import type { RecipeFacts } from '../reply/facts.ts';
import type { Slots } from '../understanding/understanding.ts';

/** Micro-batches that keep the statistics of BatchNorm usable, largest first; the first one that divides is taken. */
const MICRO_BATCHES = [8, 4, 2, 1];

/** The held recipe on the number of GPUs that is asked for now; null when there is nothing to translate. */
export function recipeFacts(slots: Slots, before: Slots): RecipeFacts | null {
  const batch = before.batchSize ?? slots.batchSize;
  if (batch === undefined) return null;
  const fromGpus = before.gpus ?? slots.gpus ?? 1;
  const scope = before.batchScope ?? slots.batchScope ?? 'per_gpu';
  const totalBatch = scope === 'total' ? batch : batch * fromGpus;
  const gpus = slots.gpus ?? 1;
  const share = Math.max(1, Math.ceil(totalBatch / gpus));
  const fromBatch = Math.max(1, Math.round(totalBatch / fromGpus));
  const batchPerGpu = microBatch(share, fromBatch);
  const accumulation = Math.ceil(share / batchPerGpu);
  return { totalBatch, fromGpus, fromBatch, gpus, batchPerGpu, accumulation, options: optionsOf(share, batchPerGpu) };
}

/** As many images per GPU as the recipe had, if they divide the share; else the largest usual number that does. */
function microBatch(share: number, wanted: number): number {
  if (share <= wanted) return share;
  return [wanted, ...MICRO_BATCHES].find((size) => size <= wanted && share % size === 0) ?? 1;
}

const OPTIONS_SHOWN = 3;

function optionsOf(share: number, chosen: number): RecipeFacts['options'] {
  return MICRO_BATCHES.filter((size) => size !== chosen && size <= share && share % size === 0)
    .slice(0, OPTIONS_SHOWN)
    .map((batchPerGpu) => ({ batchPerGpu, accumulation: share / batchPerGpu }));
}

import type { DialogState } from '../dialog/dialog-state.ts';
import { namedGpus } from '../dialog/slots.ts';
import { AppError } from '../errors.ts';
import type { RecipeFacts } from '../reply/facts.ts';
import type { Slots, Understanding } from '../understanding/understanding.ts';
import { workloadFromSlots } from '../workload/from-slots.ts';
import { largestBatches } from './maxima.ts';
import { cardsFor } from './models.ts';
import type { AnswerPorts } from './ports.ts';

/** Micro-batches that keep the statistics of BatchNorm usable, largest first; the first one that divides is taken. */
const MICRO_BATCHES = [8, 4, 2, 1];

/** What is to be translated: told in the message, or held before the number of GPUs was changed. */
export function recipeBefore({ slots, history, intent }: DialogState, now: Slots, said: Understanding): Slots {
  if (said.recipe !== null) return said.recipe;
  const goesOn = said.keepsTotal || intent === 'translate';
  const moved = (held: Slots): boolean => held.batchSize !== undefined && (held.gpus ?? 1) !== (now.gpus ?? 1);
  return moved(slots) || !goesOn ? slots : (history.findLast((step) => moved(step.slots))?.slots ?? slots);
}

/** The recipe on the cards that were named: as many images each as they hold, and whether they do. */
export function recipeOnCards(slots: Slots, before: Slots, ports: AnswerPorts): RecipeFacts | null {
  const recipe = recipeFacts(slots, before);
  const known = slots.model !== undefined && slots.imageHeight !== undefined && namedGpus(slots).length > 0;
  if (recipe === null || !known) return recipe;
  try {
    return onCards(recipe, { slots, before }, ports);
  } catch (error) {
    // the split is arithmetic: it holds for a network that nobody can size
    if (error instanceof AppError && error.code !== 'internal') return recipe;
    throw error;
  }
}

function onCards(
  recipe: RecipeFacts,
  { slots, before }: { readonly slots: Slots; readonly before: Slots },
  ports: AnswerPorts,
): RecipeFacts {
  const step = ({ batchPerGpu, gpus }: RecipeFacts): Slots => ({
    ...slots,
    batchSize: batchPerGpu,
    batchScope: 'per_gpu',
    gpus,
  });
  const { workload } = workloadFromSlots(step(recipe), ports.catalog);
  const most = Math.min(...largestBatches(workload, slots, ports).map(({ batch = 0 }) => batch));
  const held = (most > 0 ? recipeFacts(slots, before, most) : null) ?? { ...recipe, options: [] };
  return { ...held, cards: cardsFor(step(held), workloadFromSlots(step(held), ports.catalog), ports) };
}

/** The held recipe on the number of GPUs that is asked for now; null when there is nothing to translate. */
export function recipeFacts(slots: Slots, before: Slots, most = Infinity): RecipeFacts | null {
  const batch = before.batchSize ?? slots.batchSize;
  if (batch === undefined) return null;
  const fromGpus = before.gpus ?? slots.gpus ?? 1;
  const scope = before.batchScope ?? slots.batchScope ?? 'per_gpu';
  const totalBatch = scope === 'total' ? batch : batch * fromGpus;
  const gpus = slots.gpus ?? 1;
  const share = Math.max(1, Math.ceil(totalBatch / gpus));
  const fromBatch = Math.max(1, Math.round(totalBatch / fromGpus));
  const own = slots.batchScope === 'per_gpu' ? slots.batchSize : undefined;
  const batchPerGpu = microBatch(share, Math.min(own ?? fromBatch, most));
  const accumulation = Math.ceil(share / batchPerGpu);
  const shared = { totalBatch, fromGpus, fromBatch, gpus, batchPerGpu, accumulation };
  const options = optionsOf(share, batchPerGpu).filter((option) => option.batchPerGpu <= most);
  return { ...shared, options, plain: plainBatch(shared, slots), cards: [] };
}

/** What a step sees without accumulation, where that is another number than the recipe's. */
function plainBatch(
  recipe: Omit<RecipeFacts, 'options' | 'plain' | 'cards'>,
  { batchSize, batchScope }: Slots,
): RecipeFacts['plain'] {
  const batch = batchScope === 'per_gpu' && batchSize !== undefined ? batchSize : recipe.batchPerGpu;
  const total = batch * recipe.gpus;
  return total === recipe.totalBatch ? null : { batchPerGpu: batch, total };
}

/** As many images per GPU as is said, or as the recipe had, if they divide the share; else the largest usual number that does. */
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

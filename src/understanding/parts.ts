import { type ArtifactReading, readArtifacts } from './artifacts/artifacts.ts';
import { eraseNoise } from './artifacts/noise.ts';
import { readBare } from './bare.ts';
import { type GpuReading, readGpuMentions } from './gpu-mention.ts';
import { relativeChanges } from './intents/changes.ts';
import { says } from './lexicon/lexicon.ts';
import { type ModelReading, readModel } from './model-mention.ts';
import { FILLER, type Reading } from './reading.ts';
import { type BatchReading, readBatch } from './slots/batch.ts';
import { readBudget, readBudgetChanges } from './slots/budget.ts';
import { attachCard, countOfOthers, plainCountOfOthers, readGpus } from './slots/gpus.ts';
import { readDataset, readPlace } from './slots/place.ts';
import { readRanges } from './slots/ranges.ts';
import { readSchedule } from './slots/schedule.ts';
import { readSize } from './slots/size.ts';
import { readTraining } from './slots/training.ts';
import type { Alternative, SlotChange, Slots, UnderstandingContext } from './understanding.ts';
import type { Vocabulary } from './vocabulary.ts';

type Batch = Pick<Slots, 'batchSize' | 'batchScope' | 'gpus'>;

/** What a message says, before it is asked what is meant by it. */
export interface Parts {
  readonly artifacts: ArtifactReading;
  /** The message without what was pasted. */
  readonly words: string;
  readonly model: ModelReading;
  readonly cards: GpuReading;
  readonly recipe: Batch | null;
  readonly alternatives: readonly Alternative[];
  readonly changes: readonly SlotChange[];
  /** Said in words. */
  readonly said: Slots;
  /** With what pasted text adds. */
  readonly slots: Slots;
}

/** Each rule takes what it reads, the most specific first: what is left can no longer be misread. */
export function readParts(reading: Reading, context: UnderstandingContext, vocabulary: Vocabulary): Parts {
  const { held } = context;
  const artifacts = readArtifacts(reading);
  eraseNoise(reading);
  const ranges = artifacts.config === null ? readRanges(reading) : [];
  const words = reading.rest;
  const model = readModel(reading, held);
  const cards = readGpuMentions(reading, vocabulary);
  const schedule = readSchedule(reading);
  const { from, ...batchTaken } = readBatchFirst(reading, artifacts);
  const budget = readBudget(reading, { held: held.budget, asked: context.asked === 'budget' });
  const training = readTraining(reading);
  const size = readSize(reading, artifacts.config?.widthFirst ?? false);
  const gpus = readGpus(reading, cards.mentions);
  const theirs = countOfOthers(reading, cards.mentions);
  const batch = batchOfOthers(batchTaken, theirs, plainCountOfOthers(reading, batchTaken.batchSize));
  const place = readPlace(reading);
  const dataset = readDataset(reading, vocabulary);
  const spoken: Slots = {
    ...dataset,
    ...size,
    ...schedule,
    ...place,
    ...gpus,
    ...keepTotal(batch, gpus.gpus),
    ...training,
    ...(budget === null ? {} : { budget }),
  };
  const named = { ...withoutRecipe(model, spoken), ...spelledOut(artifacts, model) };
  const together = { ...named, ...spoken };
  const sentence = artifacts.config === null ? reading : besideCalls(reading);
  const bare = sentence === null ? {} : readBare(sentence, together, context);
  const said: Slots = { ...together, ...bare };
  const changes = readChanges(reading, said);
  const slots = attachCard({ ...artifacts.slots, ...said }, artifacts, { held, vocabulary });
  const recipe = from === undefined ? recipeOf(model, batch, gpus.gpus) : { ...from, batchScope: 'per_gpu' as const };
  const alternatives = [...ranges, ...model.alternatives];
  return { artifacts, words, model, cards, changes, said, slots, recipe, alternatives };
}

const SENTENCE = 200;
/** Arguments of a constructor whose name was read. */
const ARGUMENTS = new RegExp(`(?<=${FILLER})\\([^()\\n]{0,200}\\)`, 'g');

/** A constructor in a sentence is no pasted program: the bare numbers beside it are the person's own. Null for code. */
function besideCalls(reading: Reading): Reading | null {
  const rest = reading.rest.replace(ARGUMENTS, (all) => FILLER.repeat(all.length));
  const isSentence = rest.length <= SENTENCE && !/[\n(){}=]|--/.test(rest);
  return isSentence ? { ...reading, rest } : null;
}

function readBatchFirst(reading: Reading, artifacts: ArtifactReading): BatchReading {
  const batch = readBatch(reading);
  if (batch.batchSize === undefined || batch.batchScope !== undefined) return batch;
  if (artifacts.config?.batchIsTotal === true) return { ...batch, batchScope: 'total' };
  return artifacts.config?.batchIsPerGpu === true ? { ...batch, batchScope: 'per_gpu' } : batch;
}

/** A batch smaller than the number of their cards is one card's. */
function batchOfOthers(batch: Batch, named: number | undefined, plain: number | undefined): Batch {
  if (batch.gpus !== undefined || batch.batchScope === 'total') return batch;
  if (named !== undefined && batch.batchScope === 'per_gpu') return { ...batch, gpus: named };
  const perGpu = batch.batchScope === 'per_gpu' || (batch.batchSize ?? Infinity) < (plain ?? 0);
  return plain === undefined || !perGpu ? batch : { ...batch, batchScope: 'per_gpu', gpus: plain };
}

/** "Their 8 × 2, my one card": what is to be kept is the total. */
function keepTotal(batch: Batch, own: number | undefined): Slots {
  const { batchSize, gpus } = batch;
  if (batchSize === undefined || gpus === undefined || own === undefined || own === gpus) return batch;
  return { batchSize: batchSize * gpus, batchScope: 'total', gpus: own };
}

/** Class names of a pasted configuration say more than words that stand in it. */
function spelledOut({ config, slots }: ArtifactReading, model: ModelReading): Slots {
  const named = model.recipe || model.slots.modelText !== undefined;
  return config === null || named ? {} : slots;
}

/** The setup of others that a message wants on its own cards: "8 × 2, I have one". */
function recipeOf(model: ModelReading, batch: Batch, own: number | undefined): Batch | null {
  const theirs = batch.gpus === undefined && model.recipe ? model.slots : batch;
  const { batchSize, gpus } = theirs;
  if (batchSize === undefined || gpus === undefined || own === undefined || own === gpus) return null;
  return { batchSize, batchScope: 'per_gpu', gpus };
}

/** A batch said beside a configuration name replaces the name's batch together with its scope. */
function withoutRecipe(model: ModelReading, spoken: Slots): Slots {
  if (spoken.batchSize === undefined) return model.slots;
  const { batchSize: _batch, batchScope: _scope, ...rest } = model.slots;
  return rest;
}

/** A relative change counts only where no plain value was said for the slot. */
function readChanges(reading: Reading, said: Slots): readonly SlotChange[] {
  const relative = relativeChanges(reading.rest).filter(
    (change) => said[change.slot === 'imageSize' ? 'imageHeight' : change.slot] === undefined,
  );
  const budget = said.budget === undefined ? readBudgetChanges(reading.text) : [];
  // who asks for the cheapest way needs no question about a limit
  const unlimited = said.budget === undefined && said.model !== undefined && says('cheapest', reading.text);
  return [
    ...relative,
    ...budget,
    ...(unlimited && budget.length === 0 ? [{ slot: 'budget', clear: true } as const] : []),
  ];
}

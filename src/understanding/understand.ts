import type { Catalog } from '../../catalog/index.ts';
import { findAmbiguities } from './ambiguities.ts';
import { type ArtifactReading, readArtifacts } from './artifacts/artifacts.ts';
import { eraseNoise } from './artifacts/noise.ts';
import { readBare } from './bare.ts';
import { agrees, chosenFrom } from './choice.ts';
import { type GpuReading, readGpuMentions } from './gpu-mention.ts';
import { findBeliefs } from './intents/beliefs.ts';
import { relativeChanges } from './intents/changes.ts';
import { decideIntents } from './intents/intents.ts';
import { topicsOutOfScope } from './intents/scope.ts';
import { type Cue, says } from './lexicon/lexicon.ts';
import { localeOf } from './locale.ts';
import { type ModelReading, readModel } from './model-mention.ts';
import { normalize } from './normalize.ts';
import { type Reading, startReading } from './reading.ts';
import { readBatch } from './slots/batch.ts';
import { readBudget, readBudgetChanges } from './slots/budget.ts';
import { attachCard, countOfOthers, plainCountOfOthers, readGpus } from './slots/gpus.ts';
import { readDataset, readPlace } from './slots/place.ts';
import { readRanges } from './slots/ranges.ts';
import { pricedHours, readSchedule } from './slots/schedule.ts';
import { readSize } from './slots/size.ts';
import { readTraining } from './slots/training.ts';
import type { Alternative, BeliefId, SlotChange, Slots, Understanding, UnderstandingContext } from './understanding.ts';
import { type Vocabulary, vocabularyOf } from './vocabulary.ts';

type Batch = Pick<Slots, 'batchSize' | 'batchScope' | 'gpus'>;

interface Parts {
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
function readParts(reading: Reading, context: UnderstandingContext, vocabulary: Vocabulary): Parts {
  const { held } = context;
  const artifacts = readArtifacts(reading);
  eraseNoise(reading);
  const ranges = artifacts.config === null ? readRanges(reading) : [];
  const words = reading.rest;
  const model = readModel(reading, held);
  const cards = readGpuMentions(reading, vocabulary);
  const schedule = readSchedule(reading);
  const batchTaken = readBatchFirst(reading, artifacts);
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
  const bare = artifacts.config === null || isOneLine(reading.text) ? readBare(reading, together, context) : {};
  const said: Slots = { ...together, ...bare };
  const changes = readChanges(reading, said);
  const slots = attachCard({ ...artifacts.slots, ...said }, artifacts, { held, vocabulary });
  const recipe = recipeOf(model, batch, gpus.gpus);
  const alternatives = [...ranges, ...model.alternatives];
  return { artifacts, words, model, cards, changes, said, slots, recipe, alternatives };
}

/** A name like smp.Unet in a sentence is no pasted code: its bare numbers are the person's own. */
function isOneLine(text: string): boolean {
  return text.length <= SENTENCE && !/[\n(){}=]|--/.test(text);
}

const SENTENCE = 200;

function readBatchFirst(reading: Reading, artifacts: ArtifactReading): Batch {
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

const COMMANDS: readonly (readonly [command: string, cue: Cue])[] = [
  ['terraform', 'terraform'],
  ['order', 'orderCommand'],
  ['details', 'details'],
  ['change-budget', 'changeBudget'],
  ['own-card', 'ownCard'],
  ['cheaper', 'cheaper'],
  ['explain', 'explain'],
  ['duration', 'duration'],
  ['remedy', 'remedy'],
];
/** Questions about the answer that was given, when nothing else is said. */
const ABOUT_THE_ANSWER: ReadonlySet<string> = new Set(['duration', 'remedy']);

function commandOf(text: string, said: Slots): string | null {
  const command = COMMANDS.find(([, cue]) => says(cue, text))?.[0] ?? null;
  if (command !== null && ABOUT_THE_ANSWER.has(command)) return Object.keys(said).length === 0 ? command : null;
  return command === 'cheaper' &&
    (said.budget !== undefined || said.model !== undefined || said.chargeType !== undefined)
    ? null
    : command;
}

const CHANGE_WORDS = /换成?|改成?|改为|what if|instead|呢|那|再|make it|what about|how about|翻倍|减半|same/;

/** A whole new request in an old conversation; "换成…" refines the old one. */
function isAfresh(text: string, said: Slots, { held }: UnderstandingContext): boolean {
  if (Object.keys(held).length === 0) return says('afresh', text) && said.model !== undefined;
  if (says('afresh', text) && (said.model !== undefined || said.imageHeight !== undefined)) return true;
  const complete = said.model !== undefined && said.imageHeight !== undefined && said.batchSize !== undefined;
  return complete && held.model !== undefined && held.model !== said.model && !CHANGE_WORDS.test(text);
}

function compareNames({ model, said }: Parts, text: string): readonly string[] {
  if (!says('compare', text)) return [];
  if (model.typed.length > 1) return model.typed;
  const gpu = said.gpu;
  return gpu !== undefined && isList(gpu)
    ? gpu.map((one) => one.instance ?? one.name ?? one.family ?? `${one.memoryGiB}G`)
    : [];
}

function isList<T>(value: T | readonly T[]): value is readonly T[] {
  return Array.isArray(value);
}

/** "不限", "none", "越便宜越好" as the answer to the question about the budget. */
const NO_BUDGET =
  /^[\s,.!、。]{0,3}(?:不限(?:制|额)?|没(?:有)?(?:限制|上限)?|无(?:限制?|上限)?|no|nope|none|unlimited|any|no max(?:imum)?)(?:了|的|吧|啊)?[\s,.!、。]{0,3}$/;

function leavesBudgetOpen(text: string): boolean {
  return says('cheapest', text) || NO_BUDGET.test(text);
}

const ABOUT_CARDS: ReadonlySet<string> = new Set(['gpu', 'precision', 'owned', 'chargeType', 'gradientCheckpointing']);
const LACKS = /没有|不支持|缺|(?:has|have) no|lacks?|(?:doesn'?t|don'?t|does not|do not) (?:have|support)/;

/** Facts about cards are claimed or asked for, and nothing is said of a run. */
function claimsOnly(text: string, beliefs: readonly BeliefId[], slots: Slots): boolean {
  const ofFamily = beliefs.some((id) => /^(?:family|right|asked):|^what-/.test(id));
  return (
    (ofFamily || (beliefs.includes('no-bf16') && LACKS.test(text))) &&
    Object.keys(slots).every((name) => ABOUT_CARDS.has(name))
  );
}

const NOTHING_SAID: Pick<Parts, 'said' | 'slots'> = { said: {}, slots: {} };

/**
 * Reads one message beside what is already held. Pure; never throws; linear in the message.
 * `slots` are those of this message: absent ones were not said. A value that completes a held one (a period for a held
 * budget, a size for a held backbone) comes back whole.
 */
export function understand(message: string, context: UnderstandingContext, catalog: Catalog): Understanding {
  const normal = normalize(message);
  const chosen = chosenFrom(normal.text, context);
  if (chosen !== null) {
    const { choice: _settled, ...rest } = context;
    const locale = localeOf(normal.text, context.locale);
    return { ...understand(chosen.say, rest, catalog), locale, leftOpen: chosen.leftOpen };
  }
  const reading = startReading(normal);
  const vocabulary = vocabularyOf(catalog);
  const parts = readParts(reading, context, vocabulary);
  const { artifacts, model, cards, changes } = parts;
  const words = artifacts.artifact === null ? reading.text : parts.words;
  const beliefs = findBeliefs(
    {
      text: reading.text,
      ...cards,
      vocabulary,
      cardMemoryGB: (family) => memoryOfFamily(catalog, family),
      instanceExists: (type) => catalog.instance(type) !== undefined,
    },
    parts.said,
  );
  // a claim chooses no card and changes no setting
  const { said, slots } = claimsOnly(reading.text, beliefs, parts.slots) ? NOTHING_SAID : parts;
  const acceptsDefault =
    context.asked !== null &&
    slots[context.asked] === undefined &&
    (says('acceptsDefault', words) ||
      (context.offered === true && agrees(words)) ||
      (context.asked === 'budget' && leavesBudgetOpen(words)));
  const startsAfresh = isAfresh(words, said, context);
  const command = commandOf(words, said);
  const locale = localeOf(words, context.locale);
  const outOfScope = topicsOutOfScope(reading.text, said.model !== undefined);
  const intents = decideIntents({
    text: words,
    context,
    said,
    changes,
    artifact: artifacts.artifact,
    measured: artifacts.measured !== null,
    acceptsDefault,
    startsAfresh,
    otherContent: outOfScope.length > 0 || beliefs.length > 0,
    claims: beliefs.length > 0,
    command,
    models: model.typed.length,
    recipe: parts.recipe !== null,
  });
  return {
    locale,
    intent: intents[0] ?? 'unknown',
    intents,
    slots,
    changes,
    artifact: artifacts.artifact,
    toldDiagnosis: artifacts.told,
    ambiguities: [...model.ambiguities, ...findAmbiguities(reading, slots, { catalog, locale, asked: context.asked })],
    beliefs,
    outOfScope,
    acceptsDefault,
    leftOpen: null,
    startsAfresh,
    measured: artifacts.measured,
    compare: compareNames(parts, words),
    unknownNames: model.unknownNames,
    alternatives: intents.includes('compare') ? [] : parts.alternatives,
    pricedHours: pricedHours(words),
    command,
    recipe: parts.recipe,
  };
}

function memoryOfFamily(catalog: Catalog, family: string): number | null {
  return catalog.instances.find((row) => row.family === family)?.gpuMemoryGB ?? null;
}

import type { Catalog } from '../../catalog/index.ts';
import { findAmbiguities } from './ambiguities.ts';
import { agrees, chosenFrom } from './choice.ts';
import { findBeliefs } from './intents/beliefs.ts';
import { decideIntents } from './intents/intents.ts';
import { topicsOutOfScope } from './intents/scope.ts';
import { type Cue, says } from './lexicon/lexicon.ts';
import { localeOf } from './locale.ts';
import { type Normalized, normalize } from './normalize.ts';
import { type Parts, readParts } from './parts.ts';
import { startReading } from './reading.ts';
import { cutsBetweenRuns, isWholeRun, lastOfTwo } from './second-run.ts';
import { askedHours, rentedHours } from './slots/schedule.ts';
import type { BeliefId, Slots, Understanding, UnderstandingContext } from './understanding.ts';
import { type Vocabulary, vocabularyOf } from './vocabulary.ts';

const COMMANDS: readonly (readonly [command: string, cue: Cue])[] = [
  ['terraform', 'terraform'],
  ['order', 'orderCommand'],
  ['details', 'details'],
  ['change-budget', 'changeBudget'],
  ['own-card', 'ownCard'],
  ['cheaper', 'cheaper'],
  ['explain', 'explain'],
  ['cheapest', 'cheapest'],
  ['duration', 'duration'],
  ['remedy', 'remedy'],
];
/** Questions about the answer that was given, when nothing else is said. */
const ABOUT_THE_ANSWER: ReadonlySet<string> = new Set(['cheapest', 'duration', 'remedy']);

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

function beliefsIn(
  text: string,
  { cards, said }: Parts,
  { vocabulary, catalog }: { readonly vocabulary: Vocabulary; readonly catalog: Catalog },
): readonly BeliefId[] {
  const cardMemoryGB = (family: string): number | null => memoryOfFamily(catalog, family);
  const instanceExists = (type: string): boolean => catalog.instance(type) !== undefined;
  return findBeliefs({ text, ...cards, vocabulary, cardMemoryGB, instanceExists }, said);
}

/** The question that was asked is left to the bot. */
function leavesOpen(words: string, slots: Slots, { asked, offered }: UnderstandingContext): boolean {
  if (asked === null || slots[asked] !== undefined) return false;
  if (says('acceptsDefault', words) || (offered === true && agrees(words))) return true;
  return asked === 'budget' && leavesBudgetOpen(words);
}

const KEEPS_TOTAL =
  /(?:总|全局|有效|等效)的? ?(?:batch|bs|批)[^,.;\n]{0,12}(?:不变|一样|保持|维持|相同)|(?:保持|维持|还原)[^,.;\n]{0,6}(?:总|全局|有效|等效)|(?:total|effective|global) batch(?: size)? (?:(?:should|must|has to|needs to) )?(?:stays?|remains?|(?:is|be) (?:kept|the same|unchanged))|(?:same|keep(?:ing)?|match(?:ing)?|preserv(?:e|ing))[^,.;\n]{0,8}(?:total|effective|global)/;

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
  const whole = readMessage(normal, context, catalog);
  return { ...whole, ...secondRun(normal, { whole, context }, catalog) };
}

interface ReadWhole {
  readonly whole: Understanding;
  readonly context: UnderstandingContext;
}

/** "256 batch 64, then the same at 512": read together, figures of one run would go to the other. */
function secondRun(normal: Normalized, { whole, context }: ReadWhole, catalog: Catalog): Partial<Understanding> {
  if (whole.artifact !== null || whole.recipe !== null || whole.intents.includes('compare')) return {};
  for (const { first, second, announced } of cutsBetweenRuns(normal)) {
    const one = readMessage(normalize(first), context, catalog);
    if (!announced && !isWholeRun(one.slots)) continue;
    const held = { ...context.held, ...one.slots };
    const two = readMessage(normalize(second), { ...context, held, asked: null }, catalog);
    const last = lastOfTwo(one, two, announced);
    if (last !== null) return last;
  }
  return {};
}

function readMessage(normal: Normalized, context: UnderstandingContext, catalog: Catalog): Understanding {
  const reading = startReading(normal);
  const vocabulary = vocabularyOf(catalog);
  const parts = readParts(reading, context, vocabulary);
  const { artifacts, model, changes } = parts;
  const words = artifacts.artifact === null ? reading.text : parts.words;
  const beliefs = beliefsIn(reading.text, parts, { vocabulary, catalog });
  // a claim chooses no card and changes no setting
  const { said, slots } = claimsOnly(reading.text, beliefs, parts.slots) ? NOTHING_SAID : parts;
  const acceptsDefault = leavesOpen(words, slots, context);
  const startsAfresh = isAfresh(words, said, context);
  const command = commandOf(words, said);
  const locale = localeOf(words, context.locale);
  const outOfScope = topicsOutOfScope(reading.text, said.model !== undefined);
  // a sum beside the time is one that may be spent
  const asked = said.budget === undefined ? askedHours(words) : null;
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
    asksSum: asked !== null,
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
    added: says('adds', words) && (model.typed.length > 0 || said.gpu !== undefined) ? model.typed : null,
    unknownNames: model.unknownNames,
    otherVersion: model.otherVersion,
    alternatives: intents.includes('compare') ? [] : parts.alternatives,
    pricedHours: rentedHours(words) ?? asked,
    command,
    recipe: parts.recipe,
    keepsTotal: KEEPS_TOTAL.test(words),
  };
}

function memoryOfFamily(catalog: Catalog, family: string): number | null {
  return catalog.instances.find((row) => row.family === family)?.gpuMemoryGB ?? null;
}

import type { DialogAction } from '../dialog/dialog-state.ts';
import type { Intent, SlotName, Slots } from '../understanding/understanding.ts';
import { sizedNote } from './blocks/assumptions.ts';
import { needText, rentText } from './blocks/verdict.ts';
import { slotChoices, slotsText } from './choices.ts';
import type { Facts, Problem } from './facts.ts';
import type { Words } from './messages/index.ts';
import { refusalText, sizeChoices } from './refusals.ts';
import type { Block, Choice } from './reply.ts';
import { priceBlocks } from './short-answers.ts';

export interface Part {
  readonly blocks: readonly Block[];
  readonly choices: readonly Choice[];
}

const verdict = (text: string): Block => ({ kind: 'verdict', level: 'main', text });
const paragraph = (text: string): Block => ({ kind: 'text', level: 'main', text });

/** One question with its reason; the one about the budget already carries what is known of the memory. */
export function question(
  action: Extract<DialogAction, { kind: 'ElicitSlot' }>,
  { facts, intent }: { readonly facts: Facts; readonly intent: Intent | null },
  words: Words,
): Part {
  const plain = questionText(action.slot, action.attempt, words);
  const text = intent === 'oom_report' && action.attempt === 1 ? words.advice.oom.ask(plain) : plain;
  const choices = slotChoices(action.slot, action.attempt, words);
  const estimate = facts.recommendation?.estimate;
  if (facts.prices !== undefined) {
    return { blocks: [...priceBlocks(facts.prices, words), paragraph(text)], choices };
  }
  if (action.slot !== 'budget' || estimate === undefined) return { blocks: [verdict(text)], choices };
  const figure = [verdict(needText(estimate, words)), ...cheapest(facts, words)];
  return { blocks: [...figure, sizedNote(estimate, facts, words), paragraph(text)], choices };
}

function cheapest({ recommendation }: Facts, words: Words): readonly Block[] {
  return recommendation?.recommended == null ? [] : [paragraph(rentText(recommendation, words))];
}

/** Reason, then examples, then the default. */
export function questionText(slot: SlotName, attempt: number, words: Words): string {
  const { ask } = words.dialog;
  const key = slot === 'imageWidth' ? 'imageHeight' : slot;
  const [reason, examples, fallback] = isAsked(key, words) ? ask[key] : ask.other;
  return attempt <= 1 ? reason : attempt === 2 ? examples : fallback;
}

function isAsked(slot: string, words: Words): slot is keyof Words['dialog']['ask'] {
  return slot in words.dialog.ask;
}

/** A mention that could be one of a few things, as buttons. */
export function confirmation(action: Extract<DialogAction, { kind: 'ConfirmSlot' }>, words: Words): Part {
  const { typed, candidates } = action.ambiguity;
  const labels = candidates.map(({ label }) => label);
  const [first = typed] = labels;
  const [reason, examples, fallback] = words.dialog.confirm;
  // a sum has no first reading that could stand for it
  const offers = action.attempt > 2 && action.ambiguity.slot !== 'budget';
  const text = offers
    ? fallback(typed, first)
    : (action.attempt <= 1 ? reason : examples)(typed, alternatives(labels, words));
  return { blocks: [verdict(text)], choices: candidates };
}

function alternatives(labels: readonly string[], words: Words): string {
  const comma = words.locale === 'zh' ? '、' : ', ';
  return [labels.slice(0, -1).join(comma), ...labels.slice(-1)].filter((part) => part !== '').join(words.dialog.or);
}

export function help(words: Words): Part {
  const { title, intro, items } = words.dialog.help;
  const example = words.dialog.help.items[0] ?? '';
  const say = /["“](.+?)["”]/.exec(example)?.[1] ?? example;
  return {
    blocks: [verdict(title), { kind: 'list', level: 'main', title: intro, items }],
    choices: [{ label: words.answer.choices.example, say, primary: true }],
  };
}

/** In the middle of a conversation a greeting or thanks is answered shortly: what is held stays. */
export function greeting(slots: Slots, words: Words): Part {
  if (Object.keys(slots).length > 0) return { blocks: [verdict(words.dialog.welcome)], choices: [] };
  return {
    blocks: [verdict(words.dialog.greet), paragraph(words.dialog.ask.model[1])],
    choices: slotChoices('model', 1, words),
  };
}

export function decline(topic: string, words: Words): Part {
  const { declined } = words.dialog;
  const text = isDeclined(topic, words) ? declined[topic] : declined.unclear;
  return { blocks: [verdict(text)], choices: [{ label: words.answer.choices.example, say: 'unet 512x512 batch 8' }] };
}

function isDeclined(topic: string, words: Words): topic is keyof Words['dialog']['declined'] {
  return topic in words.dialog.declined;
}

export function closing(reason: 'reset' | 'undo' | 'nothing-to-undo', slots: Slots, words: Words): Part {
  const held = slotsText(slots);
  const blocks = [verdict(words.dialog.closed[reason])];
  return { blocks: held === '' ? blocks : [...blocks, paragraph(words.dialog.held(held))], choices: [] };
}

const NEAREST_SHOWN = 4;
const MAX_LABEL = 20;

/** A sentence and a next step. */
export function problemPart(problem: Problem, words: Words): Part {
  const { fieldNames, limits, errors } = words.dialog;
  const field = problem.details['field'] ?? '';
  const known = isField(field, words);
  const details = {
    ...problem.details,
    ...(field === '' ? {} : { field: known ? fieldNames[field] : fieldNames.other }),
    ...(known && field in limits ? { limit: limits[field] } : {}),
  };
  const nearest = (problem.details['nearest'] ?? '').split(', ').filter((name) => name !== '');
  const choices = nearest.slice(0, NEAREST_SHOWN).map((name) => ({ label: name.slice(0, MAX_LABEL), say: name }));
  const refusal = problem.code === 'unsupported-combination' ? refusalText(problem, words) : null;
  if (refusal !== null) return { blocks: [verdict(refusal)], choices: [...sizeChoices(problem), ...choices] };
  return { blocks: [verdict(errors[problem.code](details))], choices };
}

function isField(field: string, words: Words): field is keyof Words['dialog']['limits'] {
  return field in words.dialog.limits;
}

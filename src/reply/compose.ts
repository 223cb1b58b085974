import type { Belief } from '../advice/beliefs.ts';
import type { Recommendation } from '../advice/recommendation.ts';
import type { DialogAction, Turn } from '../dialog/dialog-state.ts';
import type { Locale } from '../message.ts';
import type { Intent, Understanding } from '../understanding/understanding.ts';
import { type AnswerInput, cardBlocks, failedBlocks, orderBlocks, sizeBlocks } from './answer.ts';
import { MONTH_HOURS, sumText } from './blocks/price.ts';
import { needAnd, offerText, sizeVerdict } from './blocks/verdict.ts';
import { modelChoices, nextChoices } from './choices.ts';
import {
  closing,
  confirmation,
  decline,
  greeting,
  help,
  type Part,
  problemPart,
  question,
  questionText,
} from './dialogue.ts';
import type { Facts, Problem } from './facts.ts';
import { fallbackText } from './fallback.ts';
import { cheaperBlocks, durationBlocks, explainBlocks, remedyBlocks } from './follow-ups.ts';
import { gib, readable, significant } from './format.ts';
import { type Words, wordsOf } from './messages/index.ts';
import { type Failure, oomBlocks } from './oom.ts';
import { orderedFit } from './order.ts';
import type { Block, Reply } from './reply.ts';
import { maximumBlocks, measuredBlocks, modelBlocks, priceBlocks, recipeBlocks } from './short-answers.ts';

export interface ComposeInput {
  readonly turn: Turn;
  readonly facts: Facts;
  readonly estimateCode: string | null;
}

/** Writes the reply of one turn in the person's language. */
export function composeReply({ turn, facts, estimateCode }: ComposeInput): Reply {
  const words = wordsOf(turn.state.locale);
  const part =
    facts.problem === undefined ? actionPart(turn, { facts, estimateCode }, words) : problemPart(facts.problem, words);
  const { remarks, pending } = asides(turn, facts, words);
  const [verdict, ...rest] = part.blocks;
  const blocks = withVerdictFirst([...(verdict === undefined ? [] : [verdict]), ...remarks, ...rest, ...pending]);
  const answered = turn.action.kind === 'Answer' && facts.problem === undefined;
  const asking = turn.action.kind === 'ElicitSlot' || turn.action.kind === 'ConfirmSlot';
  return {
    locale: turn.state.locale,
    kind: answered ? 'answer' : asking ? 'question' : 'notice',
    fallback: fallbackText(blocks, part.choices),
    blocks,
    choices: part.choices,
    ...(estimateCode === null ? {} : { estimateCode }),
  };
}

function actionPart(turn: Turn, known: Pick<ComposeInput, 'facts' | 'estimateCode'>, words: Words): Part {
  const { action, state } = turn;
  switch (action.kind) {
    case 'ElicitSlot':
      return question(action, { facts: known.facts, intent: state.intent }, words);
    case 'ConfirmSlot':
      return confirmation(action, words);
    case 'Help':
      return help(words);
    case 'Greet':
      return greeting(state.slots, words);
    case 'Decline':
      return decline(action.topic, words);
    case 'Close':
      return afterClosing(action, { turn, known }, words);
    case 'Answer':
      return answerPart(turn, { intent: action.intent, input: { ...known, slots: state.slots } }, words);
  }
}

/** Taking back a change shows the answer of before again. */
function afterClosing(
  action: Extract<DialogAction, { kind: 'Close' }>,
  { turn, known }: { turn: Turn; known: Pick<ComposeInput, 'facts' | 'estimateCode'> },
  words: Words,
): Part {
  const closed = closing(action.reason, turn.state.slots, words);
  if (known.facts.recommendation === undefined && known.facts.models === undefined) return closed;
  const answer = answerPart(turn, { intent: 'size', input: { ...known, slots: turn.state.slots } }, words);
  const [verdict, ...rest] = answer.blocks;
  if (verdict?.kind !== 'verdict') return closed;
  return { ...answer, blocks: [{ ...verdict, text: words.answer.verdict.again(verdict.text) }, ...rest] };
}

function answerPart(turn: Turn, { intent, input }: { intent: Intent; input: AnswerInput }, words: Words): Part {
  const estimate = input.facts.recommendation?.estimate;
  const choices =
    estimate === undefined ? modelChoices(input.facts.models ?? [], words) : nextChoices(estimate, input.facts, words);
  return { blocks: answerBlocks(turn, { intent, input }, words), choices };
}

function answerBlocks(
  turn: Turn,
  { intent, input }: { intent: Intent; input: AnswerInput },
  words: Words,
): readonly Block[] {
  const { facts } = input;
  const { recommendation, maxima, prices, recipe } = facts;
  const { understanding, state } = turn;
  const form = orderForm(understanding.command);
  if (form !== null && recommendation !== undefined) {
    const verdict: Block = { kind: 'verdict', level: 'main', text: orderVerdict(recommendation, words) };
    return [verdict, ...shown(orderBlocks(recommendation, form, words))];
  }
  const followUp =
    recommendation === undefined ? null : followUpBlocks(understanding.command, { input, recommendation }, words);
  if (followUp !== null) return followUp;
  if (intent === 'oom_report') {
    const diagnosis = oomBlocks(failureOf(turn, recommendation), words);
    return recommendation === undefined ? diagnosis : [...diagnosis, ...failedBlocks(input, recommendation, words)];
  }
  if (facts.comparisons !== undefined) return measuredBlocks(facts.comparisons, words);
  if (facts.models !== undefined) return modelBlocks(facts.models, words);
  if (maxima !== undefined) return maximumBlocks(maxima, words);
  if (prices !== undefined) return priceBlocks(prices, words);
  if (recipe !== undefined) return recipeBlocks(recipe, words);
  if (recommendation === undefined) {
    const text = intent === 'measurement' ? words.answer.measured.needsAnswer : words.dialog.declined.unclear;
    return (facts.beliefs ?? []).length > 0 ? [] : [{ kind: 'verdict', level: 'main', text }];
  }
  const sum = asksOnlySum(understanding) ? rentedText(turn, facts, words) : [];
  if (sum.length > 0) {
    const verdicts = sum.map((text): Block => ({ kind: 'verdict', level: 'main', text }));
    return [...verdicts, ...sizeBlocks(input, recommendation, words).slice(1)];
  }
  const ownCards = state.slots.owned === true && intent !== 'fits' && intent !== 'compare';
  return ownCards ? sizeBlocks(input, recommendation, words) : cardBlocks(input, recommendation, words);
}

/** What a question about the answer before shows of it. */
function followUpBlocks(
  command: string | null,
  { input, recommendation }: { input: AnswerInput; recommendation: Recommendation },
  words: Words,
): readonly Block[] | null {
  const rest = (): readonly Block[] => sizeBlocks(input, recommendation, words).slice(1);
  switch (command) {
    case 'explain':
      return explainBlocks(recommendation, words);
    case 'cheaper':
    case 'cheapest':
      return [...cheaperBlocks(input.facts.lowest, words), ...rest()];
    case 'duration':
      return [...durationBlocks(recommendation, words), ...rest()];
    case 'remedy':
      return remedyBlocks(recommendation, words);
    case 'details':
      return shown(sizeBlocks(input, recommendation, words));
    default:
      return null;
  }
}

function failureOf({ understanding, state }: Turn, recommendation: Recommendation | undefined): Failure {
  const card = recommendation?.own ?? recommendation?.named[0] ?? null;
  const artifact = understanding.artifact ?? state.failure ?? null;
  const diagnosis = artifact?.diagnosis ?? understanding.toldDiagnosis;
  return { artifact, diagnosis, estimate: recommendation?.estimate, card };
}

function orderForm(command: string | null): 'order' | 'terraform' | null {
  return command === 'order' || command === 'terraform' ? command : null;
}

function orderVerdict(recommendation: Recommendation, words: Words): string {
  const fit = orderedFit(recommendation);
  return fit === null || fit === recommendation.recommended
    ? sizeVerdict(recommendation, words)
    : needAnd(recommendation, offerText(fit, words), words);
}

/** Where only a correction or a remark is said, it is the verdict. */
function withVerdictFirst([first, ...rest]: readonly Block[]): readonly Block[] {
  if (first === undefined) return [];
  return first.kind === 'text' ? [{ ...first, kind: 'verdict' }, ...rest] : [first, ...rest];
}

/** A block that was asked for belongs on the first screen. */
function shown(blocks: readonly Block[]): readonly Block[] {
  return blocks.map((block) => ({ ...block, level: 'main' }));
}

/** Corrections, limits of the product, and the question that is still open. */
function asides(turn: Turn, facts: Facts, words: Words): { remarks: readonly Block[]; pending: readonly Block[] } {
  const { action, state, understanding } = turn;
  const { aside, unknownGpuAside, unsupported, resume, leftOpen, alternative } = words.dialog;
  const corrections = (facts.beliefs ?? []).flatMap((belief) => correction(belief, words));
  const limits = action.kind === 'Decline' ? [] : understanding.outOfScope.flatMap((topic) => lookUp(aside, topic));
  const unknown = (facts.unknownGpus ?? []).map((name) => unknownGpuAside(name));
  const unified = (facts.sharedMemory ?? []).map(({ card, cuda, memoryGiB }) =>
    words.dialog.unifiedMemory(card, memoryGiB, cuda),
  );
  const foreign = (facts.withoutCuda ?? []).map((card) => words.dialog.withoutCuda(card));
  const shared = shareText(turn, words);
  const version = facts.recommendation === undefined ? undefined : state.otherVersion;
  const rent = asksOnlySum(understanding) ? [] : rentedText(turn, facts, words);
  const missing = (facts.unsupported ?? []).map((name) => unsupported[name]);
  const open =
    action.kind !== 'ElicitSlot' && action.kind !== 'ConfirmSlot' && facts.problem === undefined ? state.asked : null;
  const pending = open === null ? [] : [resume(questionText(open, 1, words))];
  const either = understanding.alternatives.map(({ taken, other }, index) => {
    const needs = facts.others?.[index] ?? null;
    return alternative(taken, other, needs === null ? '' : gib(needs));
  });
  const taken = [...(understanding.leftOpen === null ? [] : [leftOpen(understanding.leftOpen)]), ...either];
  const paragraphs = (texts: readonly string[]): readonly Block[] =>
    texts.map((text) => ({ kind: 'text', level: 'main', text }));
  return {
    remarks: paragraphs([
      ...taken,
      ...(version === undefined ? [] : [words.dialog.otherVersion(version)]),
      ...rent,
      ...corrections,
      ...unknown,
      ...unified,
      ...foreign,
      ...missing,
      ...shared,
      ...limits,
    ]),
    pending: paragraphs(pending),
  };
}

/** What the machine costs for the time that it is wanted; a list of prices says so itself. */
function rentedText(
  { understanding, state }: Turn,
  { recommendation, prices }: Facts,
  words: Words,
): readonly string[] {
  const { pricedHours: hours } = understanding;
  const fit = recommendation === undefined || prices !== undefined ? null : orderedFit(recommendation);
  if (hours === null || fit?.price == null) return [];
  const sum = sumText(fit.price, { hours, hoursPerMonth: state.slots.hoursPerMonth ?? MONTH_HOURS }, words);
  return [words.dialog.rented(fit.instanceType ?? fit.gpu, sum)];
}

/** Only what it costs for some time is asked, of the run at hand: the sum is the answer. */
function asksOnlySum({ pricedHours, slots, changes }: Understanding): boolean {
  return pricedHours !== null && Object.keys(slots).length === 0 && changes.length === 0;
}

/** A total batch said beside the number of GPUs: what that is per GPU. */
function shareText({ state, understanding, action }: Turn, words: Words): readonly string[] {
  const { batchSize, batchScope, gpus } = state.slots;
  // a recipe says itself how it is shared
  if (action.kind === 'Answer' && action.intent === 'translate') return [];
  const said = understanding.slots.batchSize !== undefined || understanding.slots.gpus !== undefined;
  if (!said || batchSize === undefined || batchScope !== 'total' || gpus === undefined || gpus < 2) return [];
  return [words.dialog.share(batchSize, gpus, significant(batchSize / gpus))];
}

function correction({ id, values, source, checkedOn }: Belief, words: Words): readonly string[] {
  const { beliefs, sourced } = words.tips;
  return isCorrected(id, words)
    ? [sourced(beliefs[id](readable(values)), source.split('; ')[0] ?? source, checkedOn)]
    : [];
}

function isCorrected(id: string, words: Words): id is keyof Words['tips']['beliefs'] {
  return id in words.tips.beliefs;
}

function lookUp(texts: Readonly<Record<string, string>>, key: string): readonly string[] {
  const text = texts[key];
  return text === undefined ? [] : [text];
}

/** A sentence and a next step, where no turn was taken at all. */
export function composeProblem(locale: Locale, problem: Problem): Reply {
  const { blocks, choices } = problemPart(problem, wordsOf(locale));
  return { locale, kind: 'notice', fallback: fallbackText(blocks, choices), blocks, choices };
}

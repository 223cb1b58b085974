import type { Fit, Recommendation } from '../advice/recommendation.ts';
import type { Slots } from '../understanding/understanding.ts';
import { assumptionsNote } from './blocks/assumptions.ts';
import { costFacts } from './blocks/cost.ts';
import { hostBlocks } from './blocks/host.ts';
import { memoryBar } from './blocks/memory.ts';
import { tiersTable } from './blocks/tiers.ts';
import { tipBlocks } from './blocks/tips.ts';
import { cardName, cardVerdict, holds, isLate, needText, rentText, sizeVerdict } from './blocks/verdict.ts';
import type { Facts } from './facts.ts';
import { duration, gib, money, range } from './format.ts';
import type { Words } from './messages/index.ts';
import { orderText } from './order.ts';
import type { Block } from './reply.ts';

const GIB = 1024 ** 3;

export interface AnswerInput {
  readonly facts: Facts;
  readonly slots: Slots;
  readonly estimateCode: string | null;
}

/** What it needs, what to rent, what it costs, what to change. */
export function sizeBlocks(input: AnswerInput, recommendation: Recommendation, words: Words): readonly Block[] {
  const cards = recommendation.own === null ? [] : [recommendation.own];
  const verdict = sizeVerdict(recommendation, words);
  return [
    { kind: 'verdict', level: 'main', text: verdict },
    ...cards.map((card) => ownCardText(card, recommendation, words)),
    ...supporting(input, recommendation, words),
  ];
}

/** Whether the named cards hold it; the rented ones stand beside. */
export function cardBlocks(input: AnswerInput, recommendation: Recommendation, words: Words): readonly Block[] {
  const cards = [...(recommendation.own === null ? [] : [recommendation.own]), ...recommendation.named];
  const [first] = cards;
  if (first === undefined) return sizeBlocks(input, recommendation, words);
  const verdict =
    cards.length === 1 ? oneVerdict(first, recommendation, words) : compareVerdict(cards, recommendation, words);
  const others =
    cards.length === 1
      ? [needText(recommendation.estimate, words), ...notRented(first, input, words), ...runTextOf(first, words)]
      : cards.map((card) => comparedText(card, recommendation, words));
  return [
    { kind: 'verdict', level: 'main', text: verdict },
    ...[...others, ...beside(cards, recommendation, words)].map(
      (text): Block => ({ kind: 'text', level: 'main', text }),
    ),
    ...supporting(input, recommendation, words),
  ];
}

/** No table says how fast a card is that nobody rents out. */
function oneVerdict(card: Fit, recommendation: Recommendation, words: Words): string {
  const verdict = fitVerdict(card, recommendation, words);
  return card.instanceType === null ? paced(verdict, card, words) : verdict;
}

/** A card of a comparison: whether it holds it, how fast it is and what 1,000 steps cost. */
function comparedText(card: Fit, recommendation: Recommendation, words: Words): string {
  return paced(cardVerdict(card, recommendation, words), card, words);
}

function paced(verdict: string, card: Fit, words: Words): string {
  if (card.secondsPerIteration === null || !holds(card)) return verdict;
  const { price, costPerThousandIterations: thousand } = card;
  const cost = price === null || thousand === null ? null : money(thousand, price.currency);
  return words.answer.verdict.paced(verdict, range(...card.secondsPerIteration), cost);
}

/** A card that was named as if it could be rented, and cannot. */
function notRented(card: Fit, { slots }: AnswerInput, words: Words): readonly string[] {
  const named = slots.gpu !== undefined && 'name' in slots.gpu;
  return slots.owned === true || !named || card.tier !== null || card.instanceType !== null
    ? []
    : [words.answer.verdict.notRented(card.gpu)];
}

/** How long a run of known length takes on the card that was asked about. */
function runTextOf(card: Fit, words: Words): readonly string[] {
  if (card.runHours === undefined) return [];
  const { price, runHours } = card;
  const cost = price === null ? null : money(runHours * price.amount, price.currency);
  return [words.answer.verdict.runOn(cardName(card), duration(runHours, words.locale), cost)];
}

/** The unrestricted recommendation, where it is another machine than the named ones. */
function beside(cards: readonly Fit[], recommendation: Recommendation, words: Words): readonly string[] {
  const { recommended } = recommendation;
  const named = cards.some((card) => card.instanceType !== null && card.instanceType === recommended?.instanceType);
  const nothing = recommended === null && recommendation.nextCount === null;
  return nothing || named ? [] : [rentText(recommendation, words)];
}

/** Behind a failure: what else to run it on, and where the memory goes. */
export function failedBlocks(input: AnswerInput, recommendation: Recommendation, words: Words): readonly Block[] {
  const machine = words.advice.oom.otherMachine(rentText(recommendation, words));
  // the figures of the failure fill the first screen: where the memory goes comes behind it
  const blocks = supporting(input, recommendation, words).map(
    (block): Block => (block.kind === 'bar' ? { ...block, level: 'details' } : block),
  );
  return [{ kind: 'text', level: 'main', text: machine }, ...blocks];
}

function fitVerdict(card: Fit, recommendation: Recommendation, words: Words): string {
  const { estimate } = recommendation;
  const verdict = cardVerdict(card, recommendation, words);
  const { usableGiB, neededGiB } = card;
  const spare = usableGiB - neededGiB;
  const tight = spare >= 0 && spare < usableGiB * estimate.uncertainty.relative;
  return tight ? `${verdict}${words.locale === 'zh' ? '；' : '; '}${words.answer.verdict.tight}` : verdict;
}

function compareVerdict(cards: readonly Fit[], recommendation: Recommendation, words: Words): string {
  const { bests } = recommendation;
  const holding = cards.filter(holds);
  const inTime = holding.filter((card) => !isLate(card, recommendation));
  const fitting = inTime.length > 0 ? inTime : holding;
  const unchanged = fitting.filter(({ changes }) => changes.length === 0);
  const rank = ({ gpu }: Fit): number => bests.findIndex((best) => best.gpu === gpu);
  const [best] = [...(unchanged.length > 0 ? unchanged : fitting)].sort(
    (left, right) => (rank(left) + 1 || Infinity) - (rank(right) + 1 || Infinity),
  );
  if (best === undefined) return words.answer.verdict.neither(cards.map(cardName).join(', '));
  return words.answer.verdict.better(cardName(best), cardVerdict(best, recommendation, words));
}

function ownCardText(card: Fit, recommendation: Recommendation, words: Words): Block {
  const verdict = paced(cardVerdict(card, recommendation, words), card, words);
  return { kind: 'text', level: 'main', text: words.answer.verdict.own(cardName(card), verdict) };
}

function supporting(input: AnswerInput, recommendation: Recommendation, words: Words): readonly Block[] {
  const { facts, slots, estimateCode } = input;
  const { estimate, recommended } = recommendation;
  const capacity = recommended === null ? undefined : recommended.usableGiB * GIB;
  const cost = costFacts(recommendation, words);
  return [
    tiersTable(recommendation, words),
    memoryBar(estimate, capacity, words),
    ...tipBlocks(recommendation, words),
    ...(cost === null
      ? []
      : [cost, { kind: 'text', level: 'details', text: words.answer.cost.threshold } satisfies Block]),
    ...hostBlocks(recommendation, words),
    ...validationText(recommendation, words),
    ...orderBlocks(recommendation, 'order', words),
    assumptionsNote({ estimate, recommendation, facts, slots }, words, estimateCode),
  ];
}

/** Worth a line only when validation needs more than training does. */
function validationText({ estimate }: Recommendation, words: Words): readonly Block[] {
  const { bytes, workload } = estimate;
  if (bytes.validationPeak <= bytes.allocatedPeak) return [];
  const size = `${workload.validationHeight}×${workload.validationWidth}`;
  return [{ kind: 'text', level: 'details', text: words.answer.memory.validation(gib(bytes.validationPeak), size) }];
}

/** The order command and what to check before it. */
export function orderBlocks(
  recommendation: Recommendation,
  form: 'order' | 'terraform',
  words: Words,
): readonly Block[] {
  const code = orderText(recommendation, form, words);
  if (code === null) return [];
  return [
    { kind: 'code', level: 'details', title: words.answer.sections[form], text: code },
    { kind: 'list', level: 'details', title: words.answer.sections.checkFirst, items: words.answer.order.checks },
  ];
}

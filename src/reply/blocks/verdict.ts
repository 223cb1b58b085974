import type { ChargeType, Fit, Price, Recommendation } from '../../advice/recommendation.ts';
import type { Estimate } from '../../estimator/estimate-result.ts';
import { duration, gib, gibNumber, gibOf, hoursRange, significant } from '../format.ts';
import type { Words } from '../messages/index.ts';
import { amountRange, budgetText } from './cost.ts';
import { paidBy, paidText, priceText } from './price.ts';
import { changesText, gpuText, soldInText } from './tiers.ts';

/** "Needs 7.0 GiB per GPU (nvidia-smi ≈ 8.1)". */
export function needText({ bytes }: Estimate, words: Words): string {
  return words.answer.verdict.need(gib(bytes.allocatedPeak), gibNumber(bytes.device / 1024 ** 3));
}

/** The one line that answers "what do I need and what do I rent". */
export function sizeVerdict(recommendation: Recommendation, words: Words): string {
  return needAnd(recommendation, rentText(recommendation, words), words);
}

/** What it needs → the machine for it. */
export function needAnd({ estimate }: Recommendation, machine: string, words: Words): string {
  return `${needText(estimate, words)}${words.locale === 'zh' ? '→ ' : ' → '}${machine}`;
}

/** "take ecs.gn7i-c16g1.4xlarge: 1×A10 22.1 GiB, ¥10.09/h, within your ¥15/h", or why there is none. */
export function rentText(recommendation: Recommendation, words: Words): string {
  const { recommended, budget, bests, nextCount, deadlineHours } = recommendation;
  const text = words.answer.verdict;
  const comma = words.locale === 'zh' ? '，' : ', ';
  if (recommended?.price == null) {
    if (nextCount !== null) {
      const next = text.nextCount(recommendation.estimate.workload.gpus, offerText(nextCount, words));
      return nextCount.status === 'over-budget' ? `${next}${comma}${words.answer.status.overBudget}` : next;
    }
    return elsewhereText(recommendation, words) ?? (bests.some(isUnpriced) ? text.unpricedOnly : text.nothing);
  }
  const offer: Offer = [
    recommended.instanceType ?? recommended.gpu,
    gpuText(recommended),
    offeredPrice(recommended.price, paidBy(recommended, recommendation), words),
  ];
  const asked = budget === null ? '' : budgetText(budget, words);
  if (recommended.reason === 'nothing-within-deadline' && deadlineHours !== null) {
    return (budget === null ? text.deadlineAny : text.deadline)(
      duration(deadlineHours, words.locale),
      text.take(...offer),
      duration(recommended.runHours ?? 0, words.locale),
    );
  }
  if (recommended.status === 'over-budget') {
    const changed = cheaperWithChanges(recommendation, recommended);
    if (changed === undefined) return [text.overBudget(asked, ...offer), ...changesOf(recommended, words)].join(comma);
    const price = changed.price === null ? '' : priceText(changed.price, words);
    return `${text.overAsIs(asked, ...offer)}${text.cheaperWith(changesText(changed.changes, words), changed.instanceType ?? changed.gpu, price)}`;
  }
  const parts = [
    ...splitTexts(recommendation, words),
    text.take(...offer),
    ...changesOf(recommended, words),
    ...(budget === null ? [] : [text.withinBudget(asked)]),
    ...runTexts(recommendation, words),
  ];
  return parts.join(comma);
}

function changesOf({ changes }: Fit, words: Words): readonly string[] {
  return changes.length > 0 ? [words.answer.verdict.withChanges(changesText(changes, words))] : [];
}

/** A subscription's month beside the hour that it is computed from and that budgets are judged by. */
function offeredPrice(price: Price, chargeType: ChargeType, words: Words): string {
  const paid = paidText(price, chargeType, words);
  return chargeType === 'PrePaid' ? words.answer.verdict.subscription(paid, priceText(price, words)) : paid;
}

/** Over budget the fewest changes come first: a machine that costs less with some is named beside. */
function cheaperWithChanges({ bests }: Recommendation, { price, changes }: Fit): Fit | undefined {
  const limit = price?.amount ?? 0;
  return bests
    .filter((fit) => fit.status === 'over-budget' && fit.changes.length > changes.length)
    .filter((fit) => fit.price !== null && fit.price.currency === price?.currency && fit.price.amount < limit)
    .sort((left, right) => (left.price?.amount ?? 0) - (right.price?.amount ?? 0))[0];
}

const isUnpriced = (fit: Fit): boolean => fit.status === 'price-on-request';

const lowest = ({ pricesElsewhere = [] }: Fit): number => Math.min(...pricesElsewhere.map(({ amount }) => amount));

/** Nothing in the region has a price: the cheapest type that other regions sell, one that needs no change first. */
function elsewhereText({ bests, region }: Recommendation, words: Words): string | undefined {
  const [fit] = bests
    .filter(({ status }) => status === 'not-in-region')
    .sort((one, two) => one.changes.length - two.changes.length || lowest(one) - lowest(two));
  if (fit === undefined) return undefined;
  const offer = `${fit.instanceType ?? fit.gpu} (${gpuText(fit)})`;
  return words.advice.table.nothingIn(region, offer, soldInText(fit, region, words));
}

/** What the whole run takes where its length was said, or how far a sum for the run goes where it was not. */
function runTexts({ run, hoursBought }: Recommendation, words: Words): readonly string[] {
  const { wholeRun, lasts } = words.answer.verdict;
  if (run !== null && run.basis !== 'usual') return [wholeRun(hoursRange(run.hours, words.locale), amountRange(run))];
  return hoursBought === null ? [] : [lasts(duration(hoursBought, words.locale))];
}

/** The number of GPUs was free: how the total batch is shared, and what that needs. */
function splitTexts({ recommended, estimate }: Recommendation, words: Words): readonly string[] {
  if (recommended === null || recommended.gpus === estimate.workload.gpus) return [];
  const share = recommended.imagesPerStep / recommended.gpus;
  return [words.answer.verdict.split(recommended.gpus, significant(share), gibOf(recommended.neededGiB))];
}

type Offer = readonly [instance: string, gpu: string, price: string];

/** "take ecs.gn7i-c16g1.4xlarge: 1×A10 22.1 GiB, ¥10.09/h". */
export function offerText(fit: Fit, words: Words): string {
  const price = fit.price === null ? words.answer.status.priceOnRequest : priceText(fit.price, words);
  return words.answer.verdict.take(fit.instanceType ?? fit.gpu, gpuText(fit), price);
}

/** Whether one card holds it, with the figures that say why, and whether it is quick enough. */
export function cardVerdict(fit: Fit, { deadlineHours }: Deadline, words: Words): string {
  const verdict = memoryVerdict(fit, words);
  if (!holds(fit) || !isLate(fit, { deadlineHours })) return verdict;
  const hours = (value: number | null | undefined): string => duration(value ?? 0, words.locale);
  return `${verdict}${words.answer.verdict.late(hours(deadlineHours), hours(fit.runHours))}`;
}

type Deadline = Pick<Recommendation, 'deadlineHours'>;

/** Longer than the person has. */
export function isLate({ runHours }: Fit, { deadlineHours }: Deadline): boolean {
  return deadlineHours !== null && runHours !== undefined && runHours > deadlineHours;
}

function memoryVerdict(fit: Fit, words: Words): string {
  const card = cardName(fit);
  const text = words.answer.verdict;
  const needed = gibOf(fit.neededGiB);
  const usable = gibNumber(fit.usableGiB);
  const spare = gibNumber(Math.abs(fit.usableGiB - fit.neededGiB));
  if (!holds(fit)) return text.no(card, needed, usable, spare);
  if (fit.changes.length > 0) {
    const asIs = gibOf(fit.asIsGiB ?? fit.neededGiB);
    return text.yesWith(card, { asIs, changes: changesText(fit.changes, words), needed, usable });
  }
  return text.yes(card, needed, usable, spare);
}

/** "A10", "8×A10". */
export function cardName({ gpu, gpus }: Fit): string {
  return gpus === 1 ? gpu : `${gpus}×${gpu}`;
}

/** True when the card's memory is enough, whatever its price says. */
export function holds(fit: Fit): boolean {
  return fit.neededGiB <= fit.usableGiB;
}

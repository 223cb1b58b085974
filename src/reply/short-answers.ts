import type { Estimate } from '../estimator/estimate-result.ts';
import type { Understanding } from '../understanding/understanding.ts';
import { monthAmounts } from './blocks/cost.ts';
import { priceText } from './blocks/tiers.ts';
import type { Maximum, PriceFacts, PriceOffer, RecipeFacts } from './facts.ts';
import { gibNumber, gibOf, money, range, significant } from './format.ts';
import type { Words } from './messages/index.ts';
import type { Block } from './reply.ts';

const GIB = 1024 ** 3;
const OFFERS_SHOWN = 5;

/** The largest batch or picture per card. */
export function maximumBlocks(maxima: readonly Maximum[], words: Words): readonly Block[] {
  const [first, ...rest] = maxima.map((maximum) => maximumText(maximum, words));
  if (first === undefined) return [];
  return [
    { kind: 'verdict', level: 'main', text: first },
    ...(rest.length === 0 ? [] : [{ kind: 'list', level: 'main', title: '', items: rest } satisfies Block]),
  ];
}

function maximumText({ card, batch, size, neededGiB, usableGiB }: Maximum, words: Words): string {
  const text = words.answer.verdict;
  const needed = gibOf(neededGiB);
  const usable = gibNumber(usableGiB);
  if (size !== undefined) return text.maxSize(card, `${size.height}×${size.width}`, needed, usable);
  return batch === undefined || batch === 0
    ? text.maxBatchNone(card, needed, usable)
    : text.maxBatch(card, batch, needed, usable);
}

/** What named cards or instance types cost. */
export function priceBlocks(prices: readonly PriceFacts[], words: Words): readonly Block[] {
  const verdict = prices.map((facts) => priceVerdict(facts, words)).join(words.locale === 'zh' ? '；' : '; ');
  const items = prices.flatMap(({ offers }) => offers.slice(0, OFFERS_SHOWN).map((offer) => offerText(offer, words)));
  const [first] = prices.flatMap(({ offers }) => offers);
  return [
    { kind: 'verdict', level: 'main', text: verdict },
    ...(items.length === 0
      ? []
      : [{ kind: 'list', level: 'main', title: words.answer.price.title, items } satisfies Block]),
    ...(first === undefined ? [] : priceNotes(first, words)),
  ];
}

function priceVerdict({ card, offers, hours }: PriceFacts, words: Words): string {
  const text = words.answer.price;
  const [cheapest] = offers;
  if (cheapest === undefined) return text.unknown(card);
  const price = { amount: cheapest.amountPerHour, currency: cheapest.currency };
  const base = text.verdict(card, priceText(price, words), cheapest.instanceType);
  if (hours !== null) {
    const total = money(cheapest.amountPerHour * hours, cheapest.currency);
    return `${base}${words.locale === 'zh' ? '，' : ', '}${text.hours(significant(hours), total)}`;
  }
  return `${base}${words.locale === 'zh' ? '，' : ', '}${text.month(...monthAmounts(price))}`;
}

function offerText(offer: PriceOffer, words: Words): string {
  const price = priceText({ amount: offer.amountPerHour, currency: offer.currency }, words);
  const host = words.answer.price.host(offer.vcpu, offer.hostMemoryGiB);
  return words.answer.price.line(offer.instanceType, `${offer.gpus}×${offer.card}`, price, host);
}

function priceNotes(offer: PriceOffer, words: Words): readonly Block[] {
  const dated = words.answer.assumed.prices(offer.checkedOn, offer.region);
  const observed = offer.observed ? ` · ${words.answer.assumed.observed}` : '';
  return [
    { kind: 'text', level: 'details', text: words.answer.cost.threshold },
    { kind: 'note', level: 'main', text: `${dated}${observed}` },
  ];
}

/** The recipe on other GPUs: micro-batch, accumulation, learning rate. */
export function recipeBlocks(recipe: RecipeFacts, words: Words): readonly Block[] {
  const text = words.answer.translate;
  return [
    { kind: 'verdict', level: 'main', text: text.verdict(recipe.batchPerGpu, recipe.accumulation, recipe.gpus) },
    {
      kind: 'list',
      level: 'main',
      title: '',
      items: [text.total(recipe.totalBatch, recipe.fromBatch, recipe.fromGpus), text.learningRate, text.batchNorm],
    },
  ];
}

/** A measured figure beside the estimate, with the usual reasons for the difference. */
export function measuredBlocks(
  measured: NonNullable<Understanding['measured']>,
  estimated: { readonly estimate: Estimate; readonly seconds: readonly [number, number] | null },
  words: Words,
): readonly Block[] {
  const text = words.answer.measured;
  const { bytes, uncertainty } = estimated.estimate;
  const memory = measured.deviceGiB ?? measured.allocatedGiB;
  const expected = (measured.deviceGiB === undefined ? bytes.allocatedPeak : bytes.device) / GIB;
  const lines = [
    ...(memory === undefined ? [] : [memoryLine(measured.deviceGiB !== undefined, memory, { expected, words })]),
    ...secondsLine(measured.secondsPerIteration, estimated.seconds, words),
  ];
  const [first, ...rest] = lines;
  if (first === undefined) return [{ kind: 'verdict', level: 'main', text: text.needsAnswer }];
  const difference = memory === undefined ? 0 : memory / expected - 1;
  const reason = Math.abs(difference) <= uncertainty.relative ? text.within : difference > 0 ? text.above : text.below;
  const items = [...rest, reason, ...(measured.deviceGiB === undefined ? [] : [text.smiIsMore])];
  return [
    { kind: 'verdict', level: 'main', text: first },
    { kind: 'list', level: 'main', title: '', items },
  ];
}

function memoryLine(device: boolean, memory: number, { expected, words }: { expected: number; words: Words }): string {
  const text = words.answer.measured;
  const difference = memory / expected - 1;
  const sign = difference >= 0 ? '+' : '−';
  const percent = `${sign}${Math.abs(difference * 100).toFixed(0)} %`;
  return text.verdict(device ? text.device : text.allocated, gibOf(memory), gibOf(expected), percent);
}

function secondsLine(
  measured: number | undefined,
  expected: readonly [number, number] | null,
  words: Words,
): readonly string[] {
  if (measured === undefined || expected === null) return [];
  const text = words.answer.measured;
  const middle = Math.sqrt(expected[0] * expected[1]);
  const difference = `${measured >= middle ? '+' : '−'}${Math.abs((measured / middle - 1) * 100).toFixed(0)} %`;
  return [text.verdict(text.seconds, `${significant(measured)} s`, `${range(...expected)} s`, difference)];
}

import type { Comparison } from '../advice/measurement.ts';
import { MONTH_HOURS, priceText, sumText } from './blocks/price.ts';
import { cardVerdict } from './blocks/verdict.ts';
import type { Maximum, ModelFigure, PriceFacts, PriceOffer, RecipeFacts } from './facts.ts';
import { duration, gibNumber, gibOf, money, range, significant } from './format.ts';
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
  const items = prices.flatMap(({ offers, notIn }) =>
    offers.slice(0, OFFERS_SHOWN).map((offer) => offerText(offer, notIn !== null, words)),
  );
  const [first] = prices.flatMap(({ offers }) => offers);
  return [
    { kind: 'verdict', level: 'main', text: verdict },
    ...(items.length === 0
      ? []
      : [{ kind: 'list', level: 'main', title: words.answer.price.title, items } satisfies Block]),
    ...(first === undefined ? [] : priceNotes(first, words)),
  ];
}

function priceVerdict({ card, offers, hours, hoursPerMonth, notIn, lasts }: PriceFacts, words: Words): string {
  const text = words.answer.price;
  const [cheapest] = offers;
  if (cheapest === undefined) return text.unknown(card);
  const price = { amount: cheapest.amountPerHour, currency: cheapest.currency };
  const cards = cheapest.gpus === 1 ? card : `${cheapest.gpus}×${card}`;
  const amount = priceText(price, words);
  const placed = notIn === null ? amount : text.at(amount, cheapest.region);
  const base = `${text.verdict(cards, placed, cheapest.instanceType)}${notIn === null ? '' : text.notIn(notIn)}`;
  if (lasts !== null) {
    const buys = words.answer.cost.buys(money(lasts.amount, lasts.currency), duration(lasts.hours, words.locale));
    return `${base}${words.locale === 'zh' ? '，' : ', '}${buys}`;
  }
  return `${base}${words.locale === 'zh' ? '，' : ', '}${sumText(price, { hours: hours ?? MONTH_HOURS, hoursPerMonth }, words)}`;
}

function offerText(offer: PriceOffer, elsewhere: boolean, words: Words): string {
  const amount = priceText({ amount: offer.amountPerHour, currency: offer.currency }, words);
  const price = elsewhere ? words.answer.price.at(amount, offer.region) : amount;
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
      items: [
        text.total(recipe.totalBatch, recipe.fromBatch, recipe.fromGpus),
        ...recipe.cards.map((card) => cardVerdict(card, { deadlineHours: null }, words)),
        ...optionsText(recipe, words),
        text.learningRate,
        ...plainText(recipe, words),
        text.batchNorm,
      ],
    },
  ];
}

function optionsText({ options }: RecipeFacts, words: Words): readonly string[] {
  if (options.length === 0) return [];
  return [words.answer.translate.options(options.map((one) => `${one.batchPerGpu} × ${one.accumulation}`).join(', '))];
}

/** The same GPUs without accumulation: another total needs another learning rate. */
function plainText({ plain, totalBatch, gpus }: RecipeFacts, words: Words): readonly string[] {
  if (plain === null) return [];
  const factor = plain.total / totalBatch;
  const times = Math.max(factor, 1 / factor);
  const rates = { factor: significant(times), root: significant(Math.sqrt(times)), smaller: factor < 1 };
  return [words.answer.translate.plain({ ...plain, gpus, from: totalBatch }, rates)];
}

/** Networks side by side, the lightest first. */
export function modelBlocks(models: readonly ModelFigure[], words: Words): readonly Block[] {
  const sorted = models.toSorted((left, right) => left.allocatedBytes - right.allocatedBytes);
  const items = sorted.map(({ label, allocatedBytes, deviceBytes, cards }) => {
    const figure = words.answer.compared.figure(gibOf(allocatedBytes / GIB), gibNumber(deviceBytes / GIB));
    const onCards = cards.map((card) => cardVerdict(card, { deadlineHours: null }, words));
    return { label, value: [figure, ...onCards].join(words.locale === 'zh' ? '；' : '; ') };
  });
  const [lightest] = sorted;
  const heaviest = sorted.at(-1);
  if (lightest === undefined || heaviest === undefined) return [];
  const factor = significant(heaviest.allocatedBytes / lightest.allocatedBytes);
  return [
    { kind: 'verdict', level: 'main', text: words.answer.compared.verdict(lightest.label, heaviest.label, factor) },
    { kind: 'facts', level: 'main', title: words.answer.sections.figures, items },
    { kind: 'text', level: 'main', text: words.answer.compared.next },
  ];
}

/** Measured figures beside the estimate, with the usual reasons for a difference. */
export function measuredBlocks(comparisons: readonly Comparison[], words: Words): readonly Block[] {
  const text = words.answer.measured;
  const [first, ...rest] = comparisons.map((one) => comparisonText(one, words));
  // a time is all that may be missing from the estimate: it needs a card
  if (first === undefined) return [{ kind: 'verdict', level: 'main', text: text.needsCard }];
  const reasons = [...new Set(comparisons.flatMap(({ reasons: likely }) => likely))].map(
    (id) => words.tips.reasons[id],
  );
  const device = comparisons.some(({ kind }) => kind === 'device');
  const items = [...rest, verdictText(comparisons, words), ...(device ? [text.smiIsMore] : []), text.kept];
  return [
    { kind: 'verdict', level: 'main', text: first },
    { kind: 'list', level: 'main', title: '', items },
    ...(reasons.length === 0
      ? []
      : [{ kind: 'list', level: 'main', title: text.causes, items: reasons } satisfies Block]),
  ];
}

function verdictText(comparisons: readonly Comparison[], words: Words): string {
  const text = words.answer.measured;
  const off = comparisons.find(({ verdict }) => verdict !== 'as-estimated');
  if (off === undefined) return text.within;
  if (off.kind === 'time') return off.verdict === 'higher' ? text.slower : text.faster;
  return off.verdict === 'higher' ? text.above : text.below;
}

function comparisonText({ kind, measured, low, estimated, high, ratio }: Comparison, words: Words): string {
  const text = words.answer.measured;
  const percent = `${ratio >= 1 ? '+' : '−'}${Math.abs((ratio - 1) * 100).toFixed(0)} %`;
  if (kind === 'time') return text.verdict(text.time, `${significant(measured)} s`, `${range(low, high)} s`, percent);
  return text.verdict(text[kind], gibOf(measured), gibOf(estimated), percent);
}

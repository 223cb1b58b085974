import type { Catalog } from '../../catalog/index.ts';
import type { InstanceRow } from '../../catalog/rows.ts';
import { hoursBought } from '../advice/choice/money.ts';
import type { Recommendation } from '../advice/recommendation.ts';
import { namedGpus } from '../dialog/slots.ts';
import type { LowestFacts, PriceFacts, PriceOffer } from '../reply/facts.ts';
import type { GpuMention, Slots } from '../understanding/understanding.ts';
import type { AnswerPorts } from './ports.ts';
import { HOURS_PER_MONTH } from './request.ts';

/** Prices of every card, family or type that the conversation names, cheapest first. */
export function priceFacts(slots: Slots, ports: AnswerPorts, hours: number | null = null): readonly PriceFacts[] {
  return namedGpus(slots).map((mention) => {
    const facts = { ...pricesOf(mention, slots, ports), ...(hours === null ? {} : { hours }) };
    return { ...facts, lasts: lastsFor(slots.budget, facts.offers[0], ports.usdCny) };
  });
}

/** How long a sum that is not for a time lasts; a sum that nobody calls a run's may be one for each hour. */
function lastsFor(budget: Slots['budget'], offer: PriceOffer | undefined, usdCny: number): PriceFacts['lasts'] {
  if (budget === undefined || offer === undefined || !(budget.period === undefined || budget.period === 'total'))
    return null;
  const hours = hoursBought(budget, { amount: offer.amountPerHour, currency: offer.currency }, usdCny);
  return hours < SHORTEST_STAY ? null : { amount: budget.amount, currency: budget.currency, hours };
}

/** Who has less than two hours' worth speaks of a price. */
const SHORTEST_STAY = 2;

/**
 * Of the cards that were named side by side, else of all. Null where nothing in the region has a price. The recommended
 * type may cost more: its host keeps the card fed.
 */
export function lowestOffer({ bests, named, region }: Recommendation, ports: AnswerPorts): LowestFacts | null {
  const { catalog } = ports;
  const holding = (named.length > 1 ? named : bests).filter(({ neededGiB, usableGiB }) => neededGiB <= usableGiB);
  const offers = holding.flatMap((fit) => {
    const card = catalog.gpus.find(({ label }) => label === fit.gpu);
    const rows = card === undefined ? [] : catalog.proposable(card.name, fit.gpus);
    return rows.flatMap((row) => offersOf(row, [region], ports)).map((offer) => ({ fit, offer }));
  });
  return offers.toSorted((left, right) => left.offer.amountPerHour - right.offer.amountPerHour)[0] ?? null;
}

function pricesOf(mention: GpuMention, slots: Slots, ports: AnswerPorts): Omit<PriceFacts, 'lasts'> {
  const rows = instancesOf(mention, ports.catalog);
  const count = mention.count ?? slots.gpus;
  const counted = count === undefined ? rows : rows.filter(({ gpuCount }) => gpuCount === count);
  const wanted = counted.length > 0 ? counted : rows;
  const region = slots.region ?? ports.region;
  const here = wanted.flatMap((row) => offersOf(row, [region], ports));
  const offers = here.length > 0 ? here : offersElsewhere(wanted, region, ports);
  return {
    card: cardName(mention),
    offers: offers.sort((left, right) => perGpu(left) - perGpu(right) || left.amountPerHour - right.amountPerHour),
    hours: slots.deadlineHours ?? null,
    hoursPerMonth: slots.hoursPerMonth ?? HOURS_PER_MONTH,
    notIn: here.length > 0 || offers.length === 0 ? null : region,
  };
}

function cardName({ name, instance, family, memoryGiB }: GpuMention): string {
  if (name === undefined) return instance ?? family ?? `${memoryGiB ?? '?'} GB`;
  return memoryGiB === undefined || /\d ?g/i.test(name) ? name : `${name} ${memoryGiB}GB`;
}

/** In the same country where it is sold there, else anywhere: prices of two currencies are not compared. */
function offersElsewhere(rows: readonly InstanceRow[], region: string, ports: AnswerPorts): PriceOffer[] {
  const offers = rows.flatMap((row) => offersOf(row, ports.prices().regionsOf(row.instanceType), ports));
  const country = `${region.split('-')[0]}-`;
  const near = offers.filter((offer) => offer.region.startsWith(country));
  return near.length > 0 ? near : offers;
}

/** In hundredths: lists round each type's price, and a tenth of a cent must not put two cards before one. */
function perGpu({ amountPerHour, gpus }: PriceOffer): number {
  return Math.round((amountPerHour / gpus) * 100);
}

function instancesOf(mention: GpuMention, catalog: Catalog): readonly InstanceRow[] {
  if (mention.instance !== undefined) {
    const row = catalog.instance(mention.instance);
    return row === undefined ? [] : [row];
  }
  if (mention.family !== undefined) return catalog.instances.filter(({ family }) => family === mention.family);
  if (mention.name === undefined) {
    const sized = catalog.gpus.filter(({ nominalMemoryGB }) => nominalMemoryGB === mention.memoryGiB);
    return sized.flatMap(({ name }) => catalog.proposable(name));
  }
  const match = catalog.findGpu(mention.name, mention.memoryGiB);
  const rows = match === undefined ? [] : 'ambiguous' in match ? match.ambiguous : [match];
  return rows.flatMap(({ name }) => catalog.proposable(name));
}

function offersOf(row: InstanceRow, regions: readonly string[], ports: AnswerPorts): readonly PriceOffer[] {
  const quotes = regions.flatMap((region) => ports.prices().find(row.instanceType, region) ?? []);
  return quotes.map(({ amountPerHour, currency, region, checkedOn, observed }) => ({
    card: ports.catalog.gpuByName(row.gpu)?.label ?? row.gpu,
    instanceType: row.instanceType,
    gpus: row.gpuCount,
    vcpu: row.vcpu,
    hostMemoryGiB: row.memoryGiB,
    amountPerHour,
    currency,
    region,
    checkedOn,
    observed,
  }));
}

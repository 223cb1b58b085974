import type { PriceBook, PriceQuote } from '../../../catalog/price-book.ts';
import type { GpuRow } from '../../../catalog/rows.ts';
import type { Workload } from '../../estimator/workload.ts';
import { judgeBudget, UNLIMITED } from '../cost.ts';
import { usableGiB } from '../fit.ts';
import type { EstimateOf } from '../memory/estimates.ts';
import type { Workbench } from '../memory/workbench.ts';
import type { Mitigated } from '../mitigations.ts';
import type { Fit, FitNote, FitStatus, Price } from '../recommendation.ts';
import type { AdvicePorts, RecommendationRequest } from '../request.ts';
import { bestOffer, type Offer } from './candidates.ts';
import { type Card, tierOf } from './card.ts';
import { geometricMiddle, priceOf, SECONDS_PER_HOUR } from './money.ts';
import { type Stage, type StagedType, secondsOn, stageOf } from './stage.ts';

/** What every judgement of one recommendation shares. */
export interface Judging {
  readonly request: RecommendationRequest;
  readonly ports: AdvicePorts;
  readonly estimate: EstimateOf;
  /** What follows from estimates alone. */
  readonly bench: Workbench;
  /** Optimizer steps of the whole run for a number of images per step; null when its length is unknown. */
  readonly iterations: (imagesPerStep: number) => number | null;
}

type Seconds = Fit['secondsPerIteration'];

const hoursOf = (iterations: number | null, seconds: Seconds): number | null =>
  iterations === null || seconds === null ? null : (iterations * geometricMiddle(seconds)) / SECONDS_PER_HOUR;

interface JudgedOffer extends Offer {
  readonly type: StagedType;
  readonly quote: PriceQuote | null;
  readonly runHours: number | null;
  readonly budgetCost: Fit['budgetCost'];
  readonly missesDeadline: boolean;
}

function judgeOffer(judging: Judging, type: StagedType, iterations: number | null): JudgedOffer {
  const { request, ports } = judging;
  const { instance } = type;
  const quote = ports.prices.find(instance.instanceType, request.region) ?? null;
  const price = quote === null ? null : priceOf(quote, request.chargeType);
  const runHours = hoursOf(iterations, type.seconds);
  const verdict =
    quote === null || price === null
      ? UNLIMITED
      : judgeBudget(judging, { price, onDemandPerHour: quote.amountPerHour, runHours });
  const missesDeadline = request.deadlineHours !== null && runHours !== null && runHours > request.deadlineHours;
  return {
    type,
    instance,
    quote,
    price,
    soldIn: quote === null ? ports.prices.regionsOf(instance.instanceType) : [],
    within: verdict.within && !missesDeadline,
    runHours,
    budgetCost: verdict.cost,
    missesDeadline,
  };
}

function statusOf(mitigated: Mitigated, offer: JudgedOffer): FitStatus {
  if (!mitigated.fits) return 'does-not-fit';
  if (offer.quote === null && offer.soldIn.length > 0) return 'not-in-region';
  // A price on request may still be known to take too long.
  if (!offer.within) return 'over-budget';
  if (offer.quote === null) return 'price-on-request';
  return mitigated.changes.length === 0 ? 'fits' : 'fits-with-changes';
}

/** Judges the best type of one GPU model with one number of GPUs. */
export function judgeRental(judging: Judging, stage: Stage): Fit {
  const { row } = stage.card;
  const iterations = judging.iterations(stage.imagesPerStep);
  const offers = stage.types.map((type) => judgeOffer(judging, type, iterations));
  const offer = bestOffer(offers, judging.ports.usdCny);
  const fit = draftOf(stage, row === null ? null : tierOf(row));
  if (offer === undefined) {
    if (row !== null) fit.soldCounts = soldCounts(judging, row);
    return fit;
  }
  const { instance, seconds } = offer.type;
  const { price, runHours, quote } = offer;
  fit.status = statusOf(stage.mitigated, offer);
  fit.instanceType = instance.instanceType;
  fit.price = price;
  fit.budgetCost = offer.budgetCost;
  fit.secondsPerIteration = seconds;
  fit.costPerThousandIterations = price === null || seconds === null ? null : perThousand(price.amount, seconds);
  fit.vcpu = instance.vcpu;
  fit.hostMemoryGiB = instance.memoryGiB;
  fit.notes = notesOf(judging, stage, offer);
  if (runHours !== null) fit.runHours = runHours;
  if (quote?.zonesWithStock !== undefined) fit.zonesWithStock = quote.zonesWithStock;
  if (fit.status === 'not-in-region') {
    fit.soldIn = offer.soldIn;
    fit.pricesElsewhere = pricesElsewhere(judging, offer);
  }
  return fit;
}

/** A fit being filled in: hundreds are made for one question, and copying objects field by field took most of its time. */
type Draft = { -readonly [Field in keyof Fit]: Fit[Field] };

/** A card without a machine. */
function draftOf({ card, mitigated, imagesPerStep, cardNotes }: Stage, tier: Fit['tier']): Draft {
  const draft: Draft = {
    tier,
    status: 'no-candidate',
    instanceType: null,
    gpu: card.spec.name,
    gpus: mitigated.workload.gpus,
    usableGiB: usableGiB(card.spec),
    neededGiB: mitigated.neededGiB,
    changes: mitigated.changes,
    price: null,
    budgetCost: null,
    secondsPerIteration: null,
    costPerThousandIterations: null,
    notes: cardNotes,
    imagesPerStep,
    vcpu: null,
    hostMemoryGiB: null,
  };
  if (mitigated.changes.length > 0) draft.asIsGiB = mitigated.asIsGiB;
  return draft;
}

function perThousand(amountPerHour: number, seconds: readonly [number, number]): number {
  return (amountPerHour * geometricMiddle(seconds) * 1000) / SECONDS_PER_HOUR;
}

const elsewhere = new WeakMap<PriceBook, Map<string, readonly Price[]>>();

/** The same for every region that does not sell the type. */
function pricesElsewhere({ ports, request }: Judging, { instance, soldIn }: JudgedOffer): readonly Price[] {
  const { prices } = ports;
  const known = elsewhere.get(prices) ?? new Map<string, readonly Price[]>();
  elsewhere.set(prices, known);
  const key = `${instance.instanceType} ${request.chargeType}`;
  const before = known.get(key);
  if (before !== undefined) return before;
  const quotes = soldIn.flatMap((region) => prices.find(instance.instanceType, region) ?? []);
  const made = quotes.map((quote) => priceOf(quote, request.chargeType));
  known.set(key, made);
  return made;
}

function soldCounts(judging: Judging, row: GpuRow): readonly number[] {
  const counts = judging.ports.catalog.proposable(row.name).map((instance) => instance.gpuCount);
  return [...new Set(counts)].sort((left, right) => left - right);
}

function notesOf({ request, ports }: Judging, { cardNotes }: Stage, offer: JudgedOffer): readonly FitNote[] {
  const { type, instance, quote, budgetCost } = offer;
  const notes: FitNote[] = [...type.hostNotes];
  if (quote !== null) {
    const subscribes = budgetCost?.chargeType === 'PrePaid' || request.chargeType === 'PrePaid';
    if (subscribes && !ports.prices.subscriptionVerified(instance.instanceType)) notes.push('subscription-unverified');
    if (request.chargeType === 'Spot' && quote.spotPerHour === null) notes.push('spot-price-unknown');
    if (quote.observed) notes.push('observed-price');
  }
  if (offer.missesDeadline) notes.push('misses-deadline');
  notes.push(...cardNotes);
  return notes;
}

/** Judges a card without renting it: own, or sold nowhere. */
export function judgeOwn(judging: Judging, card: Card, workload: Workload): Fit {
  const stage = stageOf(judging.bench, { card, workload, types: [] });
  const { mitigated } = stage;
  const fit = draftOf(stage, null);
  const fitting: FitStatus = mitigated.changes.length === 0 ? 'fits' : 'fits-with-changes';
  fit.status = mitigated.fits ? fitting : 'does-not-fit';
  fit.secondsPerIteration = secondsOn(card, mitigated);
  const runHours = hoursOf(judging.iterations(stage.imagesPerStep), fit.secondsPerIteration);
  if (runHours !== null) fit.runHours = runHours;
  return fit;
}

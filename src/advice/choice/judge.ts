import type { PriceQuote } from '../../../catalog/price-book.ts';
import type { GpuRow, InstanceRow } from '../../../catalog/rows.ts';
import type { Workload } from '../../estimator/workload.ts';
import { judgeBudget } from '../cost.ts';
import { usableGiB } from '../fit.ts';
import type { EstimateOf } from '../memory/estimates.ts';
import type { OnCard, Workbench } from '../memory/workbench.ts';
import { imagesPerStep } from '../memory/workload-of.ts';
import type { Mitigated } from '../mitigations.ts';
import type { Fit, FitNote, FitStatus } from '../recommendation.ts';
import type { AdvicePorts, RecommendationRequest } from '../request.ts';
import { bestOffer, hostRule, type Offer } from './candidates.ts';
import { type Card, cardOf, tierOf } from './card.ts';
import { geometricMiddle, priceOf, SECONDS_PER_HOUR } from './money.ts';

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

/** One card with the workload as it runs there. */
interface Scene {
  readonly judging: Judging;
  readonly card: Card;
  readonly mitigated: OnCard;
}

type Seconds = Fit['secondsPerIteration'];

function timeOf({ card, mitigated }: Scene, vcpusPerGpu?: number): Seconds {
  return mitigated.fits && card.timeable ? mitigated.secondsWith(vcpusPerGpu) : null;
}

function runHoursOf({ judging, mitigated }: Scene, seconds: Seconds): number | null {
  const iterations = judging.iterations(imagesPerStep(mitigated.workload));
  return iterations === null || seconds === null ? null : (iterations * geometricMiddle(seconds)) / SECONDS_PER_HOUR;
}

interface JudgedOffer extends Offer {
  readonly quote: PriceQuote | null;
  readonly seconds: Seconds;
  readonly runHours: number | null;
  readonly budgetCost: Fit['budgetCost'];
  readonly missesDeadline: boolean;
}

function judgeOffer(scene: Scene, instance: InstanceRow): JudgedOffer {
  const { request, ports } = scene.judging;
  const quote = ports.prices.find(instance.instanceType, request.region) ?? null;
  const seconds = timeOf(scene, instance.vcpu / instance.gpuCount);
  const runHours = runHoursOf(scene, seconds);
  const terms = { request, prices: ports.prices, usdCny: ports.usdCny };
  const verdict = quote === null ? { within: true, cost: null } : judgeBudget(terms, quote, runHours);
  const missesDeadline = request.deadlineHours !== null && runHours !== null && runHours > request.deadlineHours;
  return {
    instance,
    quote,
    price: quote === null ? null : priceOf(quote, request.chargeType),
    soldIn: quote === null ? ports.prices.regionsOf(instance.instanceType) : [],
    within: verdict.within && !missesDeadline,
    seconds,
    runHours,
    budgetCost: verdict.cost,
    missesDeadline,
  };
}

function statusOf(mitigated: Mitigated, offer: JudgedOffer | undefined): FitStatus {
  if (offer === undefined) return 'no-candidate';
  if (!mitigated.fits) return 'does-not-fit';
  if (offer.quote === null && offer.soldIn.length > 0) return 'not-in-region';
  // A price on request may still be known to take too long.
  if (!offer.within) return 'over-budget';
  if (offer.quote === null) return 'price-on-request';
  return mitigated.changes.length === 0 ? 'fits' : 'fits-with-changes';
}

/** Judges the best type of one GPU model with one number of GPUs (`workload.gpus`). */
export function judgeRental(
  judging: Judging,
  row: GpuRow,
  rental: { readonly workload: Workload; readonly types: readonly InstanceRow[] },
): Fit {
  const card = cardOf(row);
  const mitigated = judging.bench.onCard(rental.workload, card);
  const scene = { judging, card, mitigated };
  const offers = rental.types.map((instance) => judgeOffer(scene, instance));
  const best = bestOffer(offers, judging.ports.usdCny);
  const offer = offers.find((one) => one === best);
  const status = statusOf(mitigated, offer);
  return {
    ...bareFit(scene),
    ...(offer === undefined ? {} : offerFields(offer)),
    tier: tierOf(row),
    status,
    notes: notesOf(scene, offer),
    ...(status === 'not-in-region' && offer !== undefined ? elsewhere(judging, offer) : {}),
    ...(status === 'no-candidate' ? { soldCounts: soldCounts(judging, row) } : {}),
  };
}

function elsewhere({ ports, request }: Judging, { instance, soldIn }: JudgedOffer) {
  const quotes = soldIn.flatMap((region) => ports.prices.find(instance.instanceType, region) ?? []);
  return { soldIn, pricesElsewhere: quotes.map((quote) => priceOf(quote, request.chargeType)) };
}

function offerFields(offer: JudgedOffer) {
  const { instance, price, seconds, runHours, quote } = offer;
  const perThousand = (amount: number, range: readonly [number, number]) =>
    (amount * geometricMiddle(range) * 1000) / SECONDS_PER_HOUR;
  return {
    instanceType: instance.instanceType,
    price,
    budgetCost: offer.budgetCost,
    secondsPerIteration: seconds,
    costPerThousandIterations: price === null || seconds === null ? null : perThousand(price.amount, seconds),
    vcpu: instance.vcpu,
    hostMemoryGiB: instance.memoryGiB,
    ...(runHours === null ? {} : { runHours }),
    ...(quote?.zonesWithStock === undefined ? {} : { zonesWithStock: quote.zonesWithStock }),
  };
}

function soldCounts(judging: Judging, row: GpuRow): readonly number[] {
  const counts = judging.ports.catalog.proposable(row.name).map((instance) => instance.gpuCount);
  return [...new Set(counts)].sort((left, right) => left - right);
}

/** Judges a card without renting it: own, or sold nowhere. */
export function judgeOwn(judging: Judging, card: Card, workload: Workload): Fit {
  const mitigated = judging.bench.onCard(workload, card);
  const scene = { judging, card, mitigated };
  const seconds = timeOf(scene);
  const runHours = runHoursOf(scene, seconds);
  const fitting: FitStatus = mitigated.changes.length === 0 ? 'fits' : 'fits-with-changes';
  return {
    ...bareFit(scene),
    status: mitigated.fits ? fitting : 'does-not-fit',
    secondsPerIteration: seconds,
    notes: notesOf(scene, undefined),
    ...(runHours === null ? {} : { runHours }),
  };
}

function bareFit({ card, mitigated }: Scene): Omit<Fit, 'status' | 'notes'> {
  return {
    tier: null,
    instanceType: null,
    gpu: card.spec.name,
    gpus: mitigated.workload.gpus,
    usableGiB: usableGiB(card.spec),
    neededGiB: mitigated.neededGiB,
    ...(mitigated.changes.length === 0 ? {} : { asIsGiB: mitigated.asIsGiB }),
    changes: mitigated.changes,
    price: null,
    budgetCost: null,
    secondsPerIteration: null,
    costPerThousandIterations: null,
    imagesPerStep: imagesPerStep(mitigated.workload),
    vcpu: null,
    hostMemoryGiB: null,
  };
}

type Applicable = readonly (readonly [FitNote, boolean])[];

function notesOf({ judging, card, mitigated }: Scene, offer: JudgedOffer | undefined): readonly FitNote[] {
  const { workload } = mitigated;
  const { row, spec } = card;
  const asked: Applicable = [
    ...(offer === undefined ? [] : offerNotes(judging, offer)),
    ['old-gpu-wheels', row !== null && row.torchWheels !== 'default-wheels'],
    ['no-bf16', row !== null && !spec.bf16 && workload.precision !== 'fp32'],
    ['no-p2p', row !== null && row.peerToPeer === false && workload.gpus > 1],
  ];
  return asked.flatMap(([note, applies]) => (applies ? [note] : []));
}

function offerNotes(judging: Judging, offer: JudgedOffer): Applicable {
  const { request, ports } = judging;
  const { instance, quote } = offer;
  const rule = hostRule(instance);
  const subscribes = offer.budgetCost?.chargeType === 'PrePaid' || (request.chargeType === 'PrePaid' && quote !== null);
  return [
    ['host-memory-below-rule', !rule.memory],
    ['host-cpu-below-rule', !rule.cpu],
    ['subscription-unverified', subscribes && !ports.prices.subscriptionVerified(instance.instanceType)],
    ['spot-price-unknown', request.chargeType === 'Spot' && quote !== null && quote.spotPerHour === null],
    ['observed-price', quote?.observed === true],
    ['misses-deadline', offer.missesDeadline],
  ];
}

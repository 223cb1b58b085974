import { isTimeable, toGpuSpec } from '../../catalog/gpu-names.ts';
import type { PriceQuote } from '../../catalog/price-book.ts';
import type { GpuRow, InstanceRow } from '../../catalog/rows.ts';
import type { GpuSpec } from '../estimator/estimate-result.ts';
import type { Workload } from '../estimator/workload.ts';
import { bestOffer, hostRule, type Offer } from './candidates.ts';
import { geometricMiddle, judgeBudget, priceOf, SECONDS_PER_HOUR } from './cost.ts';
import { type EstimateOf, usableGiB } from './fit.ts';
import { type Mitigated, mitigate } from './mitigations.ts';
import type { Fit, FitNote, FitStatus } from './recommendation.ts';
import type { AdvicePorts, RecommendationRequest } from './request.ts';

/** What every judgement of one recommendation shares. */
export interface Judging {
  readonly request: RecommendationRequest;
  readonly ports: AdvicePorts;
  readonly estimate: EstimateOf;
  /** Optimizer steps of the whole run for a number of images per step; null when its length is unknown. */
  readonly iterations: (imagesPerStep: number) => number | null;
}

export type Tier = 'A' | 'B' | 'C';

/** The guides' 方案 A, B and C by label memory: up to 16, 24 to 48, 80 GB and more. */
export function tierOf(row: GpuRow): Tier {
  if (row.nominalMemoryGB <= 16) return 'A';
  return row.nominalMemoryGB <= 48 ? 'B' : 'C';
}

export function imagesPerStep(workload: Workload): number {
  return workload.batchSize * workload.gradientAccumulation * workload.gpus;
}

function timeOf(judging: Judging, card: Card, mitigated: Mitigated, vcpusPerGpu?: number): Fit['secondsPerIteration'] {
  if (!mitigated.fits || !card.timeable) return null;
  const options = vcpusPerGpu === undefined ? {} : { vcpusPerGpu };
  return judging.ports.secondsPerIteration(mitigated.estimate, card.spec, options);
}

/** A card to judge: a catalogue row, or only memory. */
export interface Card {
  readonly spec: GpuSpec;
  readonly timeable: boolean;
  readonly row: GpuRow | null;
}

/** The entry that tips and limits are about, with the workload as it runs there. */
export interface Chosen {
  readonly fit: Fit;
  readonly card: Card;
  readonly workload: Workload;
}

export function cardOf(row: GpuRow): Card {
  return { spec: toGpuSpec(row), timeable: isTimeable(row), row };
}

function runHoursOf(judging: Judging, mitigated: Mitigated, seconds: Fit['secondsPerIteration']): number | null {
  const iterations = judging.iterations(imagesPerStep(mitigated.workload));
  return iterations === null || seconds === null ? null : (iterations * geometricMiddle(seconds)) / SECONDS_PER_HOUR;
}

interface JudgedOffer extends Offer {
  readonly quote: PriceQuote | null;
  readonly seconds: Fit['secondsPerIteration'];
  readonly runHours: number | null;
  readonly budgetCost: Fit['budgetCost'];
  readonly missesDeadline: boolean;
}

function judgeOffer(judging: Judging, card: Card, mitigated: Mitigated, instance: InstanceRow): JudgedOffer {
  const { request, ports } = judging;
  const quote = ports.prices.find(instance.instanceType, request.region) ?? null;
  const seconds = timeOf(judging, card, mitigated, instance.vcpu / instance.gpuCount);
  const runHours = runHoursOf(judging, mitigated, seconds);
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
  const mitigated = mitigate(judging.estimate, rental.workload, card.spec);
  const offers = rental.types.map((instance) => judgeOffer(judging, card, mitigated, instance));
  const best = bestOffer(offers, judging.ports.usdCny);
  const offer = offers.find((one) => one === best);
  const status = statusOf(mitigated, offer);
  const price = offer?.price ?? null;
  const seconds = offer?.seconds ?? null;
  return {
    ...bareFit(card, mitigated),
    tier: tierOf(row),
    status,
    instanceType: offer?.instance.instanceType ?? null,
    price,
    budgetCost: offer?.budgetCost ?? null,
    secondsPerIteration: seconds,
    costPerThousandIterations:
      price === null || seconds === null ? null : (price.amount * geometricMiddle(seconds) * 1000) / SECONDS_PER_HOUR,
    notes: notesOf(judging, card, mitigated, offer),
    vcpu: offer?.instance.vcpu ?? null,
    hostMemoryGiB: offer?.instance.memoryGiB ?? null,
    ...(status === 'not-in-region' && offer !== undefined ? { soldIn: offer.soldIn } : {}),
    ...(status === 'no-candidate' ? { soldCounts: soldCounts(judging, row) } : {}),
    ...(offer?.runHours === null || offer === undefined ? {} : { runHours: offer.runHours }),
  };
}

function soldCounts(judging: Judging, row: GpuRow): readonly number[] {
  const counts = judging.ports.catalog.proposable(row.name).map((instance) => instance.gpuCount);
  return [...new Set(counts)].sort((left, right) => left - right);
}

/** Judges a card without renting it: own, or sold nowhere. */
export function judgeOwn(judging: Judging, card: Card, workload: Workload): Fit {
  const mitigated = mitigate(judging.estimate, workload, card.spec);
  const seconds = timeOf(judging, card, mitigated);
  const runHours = runHoursOf(judging, mitigated, seconds);
  const fitting: FitStatus = mitigated.changes.length === 0 ? 'fits' : 'fits-with-changes';
  return {
    ...bareFit(card, mitigated),
    status: mitigated.fits ? fitting : 'does-not-fit',
    secondsPerIteration: seconds,
    notes: notesOf(judging, card, mitigated, undefined),
    ...(runHours === null ? {} : { runHours }),
  };
}

function bareFit(card: Card, mitigated: Mitigated): Omit<Fit, 'status' | 'notes'> {
  return {
    tier: null,
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
    imagesPerStep: imagesPerStep(mitigated.workload),
    vcpu: null,
    hostMemoryGiB: null,
  };
}

function notesOf(
  judging: Judging,
  card: Card,
  mitigated: Mitigated,
  offer: JudgedOffer | undefined,
): readonly FitNote[] {
  const { workload } = mitigated;
  const { row, spec } = card;
  const asked: readonly (readonly [FitNote, boolean])[] = [
    ...(offer === undefined ? [] : offerNotes(judging, offer)),
    ['old-gpu-wheels', row !== null && row.torchWheels !== 'default-wheels'],
    ['no-bf16', row !== null && !spec.bf16 && workload.precision !== 'fp32'],
    ['no-p2p', row !== null && row.peerToPeer === false && workload.gpus > 1],
  ];
  return asked.flatMap(([note, applies]) => (applies ? [note] : []));
}

function offerNotes(judging: Judging, offer: JudgedOffer): readonly (readonly [FitNote, boolean])[] {
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

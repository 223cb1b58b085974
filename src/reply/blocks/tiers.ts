import type { Change, Fit, FitStatus, Price, Recommendation } from '../../advice/recommendation.ts';
import { duration, gibNumber, joined, money, range } from '../format.ts';
import type { Words } from '../messages/index.ts';
import type { Block, TierLine } from '../reply.ts';
import { paidText, priceText } from './price.ts';

/** The guides' three tiers, each with its best instance type or the reason why not. */
export function tiersTable(recommendation: Recommendation, words: Words): Block {
  return {
    kind: 'tiers',
    level: 'main',
    title: words.answer.tiersTitle,
    columns: words.answer.columns,
    rows: recommendation.tiers.map((fit) => tierLine(fit, recommendation, words)),
  };
}

function tierLine(fit: Fit, { recommended, region, chargeType }: Recommendation, words: Words): TierLine {
  const none = words.answer.none;
  return {
    tier: fit.tier === null ? '' : words.answer.tierNames[fit.tier],
    recommended: recommended !== null && isSameOffer(fit, recommended),
    instance: fit.instanceType ?? none,
    gpu: gpuText(fit),
    result: resultText(fit, region, words),
    price: fit.price === null ? none : paidText(fit.price, chargeType, words),
    secondsPerStep: fit.secondsPerIteration === null ? none : range(...fit.secondsPerIteration),
    costPerThousand:
      fit.price === null || fit.costPerThousandIterations === null
        ? none
        : money(fit.costPerThousandIterations, fit.price.currency),
    note: hostNote(fit, words),
  };
}

function isSameOffer(left: Fit, right: Fit): boolean {
  return left.instanceType === right.instanceType && left.gpus === right.gpus;
}

/** The memory in a card's label ("V100 32GB"): the usable figure stands beside it. */
const LABEL_MEMORY = / \d+ ?GB$/;

/** "1×A10 22.1 GiB". */
export function gpuText(fit: Pick<Fit, 'gpus' | 'gpu' | 'usableGiB'>): string {
  return `${fit.gpus}×${fit.gpu.replace(LABEL_MEMORY, '')} ${gibNumber(fit.usableGiB)} GiB`;
}

const SHOWN_REGIONS = 3;

/** Where a type is sold instead and for how much: the same country first, the cheapest first. */
export function soldInText({ pricesElsewhere = [] }: Fit, region: string, words: Words): string {
  const country = (id: string): string => id.split('-')[0] ?? '';
  const isFar = (price: Price): number => Number(country(price.region) !== country(region));
  const order = [...pricesElsewhere].sort((one, two) => isFar(one) - isFar(two) || one.amount - two.amount);
  const texts = order
    .slice(0, SHOWN_REGIONS)
    .map((price) => words.answer.status.priceIn(price.region, priceText(price, words)));
  return joined(texts, words.locale);
}

function resultText(fit: Fit, region: string, words: Words): string {
  const text = words.answer.status;
  const spare = gibNumber(Math.abs(fit.usableGiB - fit.neededGiB));
  const results: Readonly<Record<FitStatus, () => string>> = {
    fits: () => text.fits(spare),
    'fits-with-changes': () => text.fitsWith(changesText(fit.changes, words)),
    'over-budget': () =>
      isLate(fit) ? words.advice.table.late(duration(fit.runHours ?? 0, words.locale)) : text.overBudget,
    'price-on-request': () => text.priceOnRequest,
    'not-in-region': () => text.notInRegion(soldInText(fit, region, words)),
    'no-candidate': () => text.noCandidate(fit.gpus, (fit.soldCounts ?? []).join('/')),
    'does-not-fit': () => text.doesNotFit(spare),
  };
  const result = results[fit.status]();
  return fit.zonesWithStock?.length === 0 ? `${result} · ${text.soldOut}` : result;
}

/** Over the time that the person has, whatever it costs. */
function isLate(fit: Fit): boolean {
  return fit.notes.includes('misses-deadline') && fit.runHours !== undefined;
}

export function changesText(changes: readonly Change[], words: Words): string {
  const text = words.answer.change;
  const names = changes.map(({ id, value }) => (id === 'micro-batch' ? text.microBatch(value ?? 1) : text[id]));
  return names.join(' + ');
}

function hostNote(fit: Fit, words: Words): string {
  if (fit.vcpu === null || fit.hostMemoryGiB === null) return '';
  const short = fit.notes.some((note) => note === 'host-memory-below-rule' || note === 'host-cpu-below-rule');
  return short ? words.advice.hostShort(fit.vcpu, fit.hostMemoryGiB) : '';
}

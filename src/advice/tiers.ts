import { compareText } from './choice/candidates.ts';
import type { Tier } from './choice/card.ts';
import { toCny } from './choice/money.ts';
import { cnyPerImage } from './cost.ts';
import type { Fit, FitStatus, Recommendation, RecommendationReason } from './recommendation.ts';

/** Order of preference (advice.md, "A tier shows"). */
const RANK: Readonly<Record<FitStatus, number>> = {
  fits: 0,
  'fits-with-changes': 1,
  'price-on-request': 2,
  'over-budget': 3,
  'not-in-region': 4,
  'no-candidate': 5,
  'does-not-fit': 6,
};

const isWithin = (fit: Fit): boolean => fit.status === 'fits' || fit.status === 'fits-with-changes';

const nameOf = (fit: Fit): string => fit.instanceType ?? fit.gpu;

/** Infinity less infinity is no order: equal. */
function compare(left: number, right: number): number {
  return left === right ? 0 : left - right;
}

export function hourlyCny(fit: Fit, usdCny: number): number {
  return fit.price === null ? Number.POSITIVE_INFINITY : toCny(fit.price.amount, fit.price.currency, usdCny);
}

/** Negative when `left` is to be preferred. */
export function compareFits(left: Fit, right: Fit, usdCny: number): number {
  const changes = isWithin(left) && isWithin(right) ? left.changes.length - right.changes.length : 0;
  return (
    RANK[left.status] - RANK[right.status] ||
    changes ||
    compare(cnyPerImage(left, usdCny), cnyPerImage(right, usdCny)) ||
    compare(hourlyCny(left, usdCny), hourlyCny(right, usdCny)) ||
    compare(right.usableGiB - right.neededGiB, left.usableGiB - left.neededGiB) ||
    compareText(nameOf(left), nameOf(right))
  );
}

export function sortFits(fits: readonly Fit[], usdCny: number): readonly Fit[] {
  return [...fits].sort((left, right) => compareFits(left, right, usdCny));
}

const TIERS: readonly Tier[] = ['A', 'B', 'C'];

/** The best entry of each tier; `fits` are sorted. */
export function tierLines(fits: readonly Fit[]): readonly Fit[] {
  return TIERS.flatMap((tier) => fits.find((fit) => fit.tier === tier) ?? []);
}

/** The same order over all models without the unpriced; when nothing is within budget, the one that comes nearest. */
export function recommendedOf(
  sorted: readonly Fit[],
  terms: { readonly usdCny: number; readonly hasBudget: boolean },
): Recommendation['recommended'] {
  const priced = sorted.filter((fit) => fit.price !== null && (isWithin(fit) || fit.status === 'over-budget'));
  const within = priced.filter(isWithin);
  const best = within[0];
  if (best !== undefined) return { reason: reasonOf(within, terms.hasBudget), ...best };
  const inTime = priced.filter((fit) => !fit.notes.includes('misses-deadline'));
  if (inTime.length === 0) return fastest(priced);
  const nearest = [...inTime].sort(
    (left, right) =>
      left.changes.length - right.changes.length ||
      compare(hourlyCny(left, terms.usdCny), hourlyCny(right, terms.usdCny)) ||
      compareFits(left, right, terms.usdCny),
  )[0];
  return nearest === undefined ? null : { ...nearest, reason: 'nothing-within-budget' };
}

function fastest(priced: readonly Fit[]): Recommendation['recommended'] {
  const hours = (fit: Fit) => fit.runHours ?? Number.POSITIVE_INFINITY;
  const quickest = [...priced].sort((left, right) => compare(hours(left), hours(right)))[0];
  return quickest === undefined ? null : { ...quickest, reason: 'nothing-within-deadline' };
}

function reasonOf(within: readonly Fit[], hasBudget: boolean): RecommendationReason {
  if (!hasBudget) return 'no-budget-given';
  return within.length === 1 ? 'only-one-within-budget' : 'cheapest-per-image';
}

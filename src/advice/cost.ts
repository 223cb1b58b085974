import { geometricMiddle, SECONDS_PER_HOUR, toCny } from './choice/money.ts';
import type { BudgetLimit, Fit, Price } from './recommendation.ts';
import type { AdvicePorts, RecommendationRequest } from './request.ts';

const HOURS_PER_DAY = 24;
/** Amounts are shown to the cent, so a budget equal to the shown amount holds it. */
const HALF_A_CENT = 0.005;

export interface BudgetTerms {
  readonly request: RecommendationRequest;
  readonly ports: Pick<AdvicePorts, 'prices' | 'usdCny'>;
}

export interface BudgetVerdict {
  readonly within: boolean;
  readonly cost: Fit['budgetCost'];
}

/** What one type costs. */
export interface TypeCost {
  /** For the asked way of paying. */
  readonly price: Price;
  readonly onDemandPerHour: number;
  readonly runHours: number | null;
}

/** Where there is no budget, or no cost to hold against it. */
export const UNLIMITED: BudgetVerdict = { within: true, cost: null };

/** What a type costs in the budget's own period, and whether that is within it (advice.md, "Within budget"). */
export function judgeBudget(terms: BudgetTerms, type: TypeCost): BudgetVerdict {
  const { budget } = terms.request;
  const { usdCny } = terms.ports;
  const cost = budget === null ? undefined : periodCost(terms, type, budget);
  if (budget === null || cost === undefined) return UNLIMITED;
  const within =
    toCny(cost.amount, cost.currency, usdCny) <= toCny(budget.amount + HALF_A_CENT, budget.currency, usdCny);
  return { within, cost: (budget.period ?? 'hour') === 'hour' ? null : cost };
}

function periodCost(
  terms: BudgetTerms,
  input: TypeCost,
  { period = 'hour' }: BudgetLimit,
): NonNullable<Fit['budgetCost']> | undefined {
  const { currency, amount, chargeType } = input.price;
  switch (period) {
    case 'hour':
      return { amount, currency, chargeType };
    case 'day':
      return { amount: amount * HOURS_PER_DAY, currency, chargeType };
    case 'total':
      return input.runHours === null ? undefined : { amount: amount * input.runHours, currency, chargeType };
    case 'month':
      return monthlyCost(terms, input);
  }
}

/** The cheaper of a subscription month and the used hours of pay-as-you-go. */
function monthlyCost(terms: BudgetTerms, input: TypeCost): NonNullable<Fit['budgetCost']> {
  const { currency, amount, chargeType } = input.price;
  const subscription = terms.ports.prices.subscriptionHours * input.onDemandPerHour;
  const used = terms.request.hoursPerMonth * amount;
  return subscription <= used
    ? { amount: subscription, currency, chargeType: 'PrePaid' }
    : { amount: used, currency, chargeType };
}

/** CNY for one image, the measure that orders types of different speed. */
export function cnyPerImage(fit: Fit, usdCny: number): number {
  if (fit.price === null || fit.secondsPerIteration === null) return Number.POSITIVE_INFINITY;
  const perHour = toCny(fit.price.amount, fit.price.currency, usdCny);
  return (perHour * geometricMiddle(fit.secondsPerIteration)) / (SECONDS_PER_HOUR * fit.imagesPerStep);
}

import type { PriceBook, PriceQuote } from '../../catalog/price-book.ts';
import { geometricMiddle, priceOf, SECONDS_PER_HOUR, toCny } from './choice/money.ts';
import type { BudgetLimit, Fit, Price } from './recommendation.ts';
import type { RecommendationRequest } from './request.ts';

const HOURS_PER_DAY = 24;
/** Amounts are shown to the cent, so a budget equal to the shown amount holds it. */
const HALF_A_CENT = 0.005;

export interface BudgetTerms {
  readonly request: RecommendationRequest;
  readonly prices: PriceBook;
  readonly usdCny: number;
}

export interface BudgetVerdict {
  readonly within: boolean;
  readonly cost: Fit['budgetCost'];
}

/** What a type costs in the budget's own period, and whether that is within it (advice.md, "Within budget"). */
export function judgeBudget(terms: BudgetTerms, quote: PriceQuote, runHours: number | null): BudgetVerdict {
  const { budget, chargeType } = terms.request;
  if (budget === null) return { within: true, cost: null };
  const price = priceOf(quote, chargeType);
  const cost = periodCost(terms, { budget, price, onDemandPerHour: quote.amountPerHour, runHours });
  if (cost === undefined) return { within: true, cost: null };
  const within =
    toCny(cost.amount, cost.currency, terms.usdCny) <=
    toCny(budget.amount + HALF_A_CENT, budget.currency, terms.usdCny);
  return { within, cost: (budget.period ?? 'hour') === 'hour' ? null : cost };
}

interface PeriodInput {
  readonly budget: BudgetLimit;
  readonly price: Price;
  readonly onDemandPerHour: number;
  readonly runHours: number | null;
}

function periodCost(terms: BudgetTerms, input: PeriodInput): NonNullable<Fit['budgetCost']> | undefined {
  const { currency, amount, chargeType } = input.price;
  switch (input.budget.period ?? 'hour') {
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
function monthlyCost(terms: BudgetTerms, input: PeriodInput): NonNullable<Fit['budgetCost']> {
  const { currency, amount, chargeType } = input.price;
  const subscription = terms.prices.subscriptionHours * input.onDemandPerHour;
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

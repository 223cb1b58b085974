import type { PriceQuote } from '../../../catalog/price-book.ts';
import type { BudgetLimit, ChargeType, Price } from '../recommendation.ts';

export const SECONDS_PER_HOUR = 3600;

export function toCny(amount: number, currency: Price['currency'], usdCny: number): number {
  return currency === 'USD' ? amount * usdCny : amount;
}

/** The price that counts for the asked way of paying; a spot price that nobody stated is judged at pay-as-you-go. */
export function priceOf(quote: PriceQuote, chargeType: ChargeType): Price {
  const spot = chargeType === 'Spot' ? quote.spotPerHour : null;
  return {
    amount: spot ?? quote.amountPerHour,
    currency: quote.currency,
    period: 'hour',
    region: quote.region,
    chargeType: spot === null ? 'PostPaid' : 'Spot',
    checkedOn: quote.checkedOn,
    observed: quote.observed,
  };
}

export function geometricMiddle([low, high]: readonly [number, number]): number {
  return Math.sqrt(low * high);
}

/** Hours that a budget for the whole run buys at this price. */
export function hoursBought(budget: BudgetLimit, price: Price, usdCny: number): number {
  return toCny(budget.amount, budget.currency, usdCny) / toCny(price.amount, price.currency, usdCny);
}

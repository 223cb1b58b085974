import type { PriceQuote } from '../../../catalog/price-book.ts';
import type { ChargeType, Price } from '../recommendation.ts';

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

type Money = Pick<Price, 'amount' | 'currency'>;

/** Hours that a sum buys at an hourly price. */
export function hoursBought(sum: Money, perHour: Money, usdCny: number): number {
  return toCny(sum.amount, sum.currency, usdCny) / toCny(perHour.amount, perHour.currency, usdCny);
}

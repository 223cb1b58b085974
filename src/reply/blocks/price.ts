import type { ChargeType, Fit, Recommendation } from '../../advice/recommendation.ts';
import { money } from '../format.ts';
import type { Words } from '../messages/index.ts';

/** Hours of a machine that runs all month (the vendor's billing month). */
export const MONTH_HOURS = 720;
/** A subscription month costs as much as this many pay-as-you-go hours (catalog/SOURCES.md, prices of 2024-12-30). */
const SUBSCRIPTION_HOURS = 480;

interface HourlyPrice {
  readonly amount: number;
  readonly currency: 'CNY' | 'USD';
}

/** "¥10.09/h". */
export function priceText(price: HourlyPrice, words: Words): string {
  return `${money(price.amount, price.currency)}${words.answer.perHour}`;
}

/** A month of hours, and a month's subscription. */
export function monthAmounts({ amount, currency }: HourlyPrice): readonly [string, string] {
  return [money(Math.round(amount * MONTH_HOURS), currency), money(Math.round(amount * SUBSCRIPTION_HOURS), currency)];
}

/** In the unit of the way of paying that was asked for: "¥10.09/h", "¥4,845/month". */
export function paidText(price: HourlyPrice, chargeType: ChargeType, words: Words): string {
  if (chargeType !== 'PrePaid') return priceText(price, words);
  return `${monthAmounts(price)[1]}${words.answer.period.month}`;
}

/** A month's budget may hold a machine only as a subscription: then that is what is shown and ordered. */
export function paidBy({ budgetCost }: Fit, { chargeType }: Recommendation): ChargeType {
  return budgetCost?.chargeType ?? chargeType;
}

import type { ChargeType, Fit, Recommendation } from '../../advice/recommendation.ts';
import { duration, grouped, money } from '../format.ts';
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

/** What a time costs; whole months by the hours that the machine is used in each, beside their subscriptions. */
export function sumText(price: HourlyPrice, { hours, hoursPerMonth }: TimeOfUse, words: Words): string {
  const months = hours / MONTH_HOURS;
  if (months < 1 || !Number.isInteger(months)) {
    return words.answer.price.hours(duration(hours, words.locale), money(price.amount * hours, price.currency));
  }
  const used = months * hoursPerMonth;
  const amounts = [used, months * SUBSCRIPTION_HOURS].map((count) =>
    money(Math.round(price.amount * count), price.currency),
  );
  const [amount = '', subscription = ''] = amounts;
  return words.answer.price.months({ months, hours: grouped(used), amount, subscription });
}

interface TimeOfUse {
  /** Of the time that is asked about, day and night. */
  readonly hours: number;
  readonly hoursPerMonth: number;
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

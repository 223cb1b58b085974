import type { BudgetLimit, Fit, Recommendation, RunCost } from '../../advice/recommendation.ts';
import { duration, grouped, hoursRange, money } from '../format.ts';
import type { Words } from '../messages/index.ts';
import type { Block } from '../reply.ts';
import { MONTH_HOURS, monthAmounts, priceText } from './price.ts';

interface Item {
  readonly label: string;
  readonly value: string;
}

/** What the recommended type costs by the hour, the month, 1,000 steps and the run. */
export function costFacts(recommendation: Recommendation, words: Words): Block | null {
  const fit = recommendation.recommended;
  if (fit?.price == null) return null;
  const text = words.answer.cost;
  const items = [
    { label: text.hour, value: priceText(fit.price, words) },
    monthItem(fit, fit.price, words),
    ...thousandItem(fit, words),
    ...runItems(recommendation, words),
    { label: text.spot, value: text.spotValue },
  ];
  return { kind: 'facts', level: 'details', title: words.answer.sections.cost, items };
}

function monthItem(fit: Fit, price: NonNullable<Fit['price']>, words: Words): Item {
  const text = words.answer.cost;
  const [payAsYouGo, subscription] = monthAmounts(price);
  const unverified = fit.notes.includes('subscription-unverified') ? ` · ${text.unverified}` : '';
  return { label: text.month, value: `${text.monthValue(payAsYouGo, MONTH_HOURS, subscription)}${unverified}` };
}

function thousandItem(fit: Fit, words: Words): readonly Item[] {
  if (fit.costPerThousandIterations === null || fit.price === null) return [];
  const value = money(fit.costPerThousandIterations, fit.price.currency);
  return [{ label: words.answer.cost.thousand, value }];
}

function runItems({ run, budget, hoursBought }: Recommendation, words: Words): readonly Item[] {
  const text = words.answer.cost;
  if (run !== null) {
    const hours = hoursRange(run.hours, words.locale);
    const value = text.runValue(hours, amountRange(run), grouped(run.iterations), text.basis[run.basis]);
    return [{ label: text.run, value }];
  }
  if (hoursBought === null || budget === null) return [];
  return [{ label: text.run, value: text.buys(budgetText(budget, words), duration(hoursBought, words.locale)) }];
}

/** "¥132–¥251". */
export function amountRange({ amount: [low, high], currency }: RunCost): string {
  return low === high ? money(low, currency) : `${money(low, currency)}–${money(high, currency)}`;
}

/** "¥15/h", "¥5,000/month". */
export function budgetText(budget: BudgetLimit, words: Words): string {
  return `${money(budget.amount, budget.currency)}${words.answer.period[budget.period ?? 'hour']}`;
}

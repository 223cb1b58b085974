import { words } from '../lexicon/lexicon.ts';
import { before, type Reading } from '../reading.ts';
import type { Budget } from '../understanding.ts';
import { ADVERB, type BudgetContext, EACH, RUN_NEAR, UNIT } from './budget-words.ts';

const PERIOD_ALONE = UNIT.map(({ period, cue }, index) => ({
  period,
  pattern: new RegExp(
    `^[^\\d]{0,6}(?:(?:${EACH}|按) ?${words(cue)}|${words(ADVERB[index]?.cue ?? 'hourly')})[^\\d]{0,8}$`,
  ),
}));
const RUN_ALONE = new RegExp(`^[^\\d]{0,6}${words('perRun')}[^\\d]{0,8}$`);

/** "每小时" after "预算 25": the period alone. */
export function readPeriod(reading: Reading, { held, asked }: BudgetContext): Budget | null {
  if (held === undefined || (held.period !== undefined && !asked) || reading.text.length > 24) return null;
  const period =
    PERIOD_ALONE.find(({ pattern }) => pattern.test(reading.text))?.period ??
    (RUN_ALONE.test(reading.text) ? 'total' : undefined);
  return period === undefined ? null : { ...held, period };
}

/** Longer messages speak of more than the budget. */
const CORRECTION = 40;
/** So short a message names nothing but the currency. */
const ALONE = 8;
const REFUSED = /(?:不是|而不是|并非|not|instead of|rather than)\s?(?:in\s)?(?:an? |the )?$/;
const SETS_RIGHT = /不对|错|应该|其实|说的是|指的?是|改[成为]|actually|wait|sorry|mean|oops|correction|预算|budget/;
const ASKS = /多少|几|呢|吗|how|what|\?/;
const CURRENCIES = [
  { currency: 'CNY', pattern: new RegExp(`(?<![美欧日港韩])${words('cny')}`) },
  { currency: 'USD', pattern: new RegExp(words('usd')) },
] as const;
const PERIODS = [
  ...UNIT.map(({ period, cue }, index) => ({
    period,
    pattern: new RegExp(`${EACH} ?${words(cue)}|${words(ADVERB[index]?.cue ?? 'hourly')}`),
  })),
  { period: 'total', pattern: RUN_NEAR },
] as const;

/** Of the things that a text names, the one that it does not refuse; undefined where that leaves it open. */
function meant<T extends { readonly pattern: RegExp }>(text: string, things: readonly T[]): T | undefined {
  const named = things.flatMap((thing) => {
    const at = text.search(thing.pattern);
    return at < 0 || REFUSED.test(before(text, at, 14)) ? [] : [thing];
  });
  return named.length === 1 ? named[0] : undefined;
}

/** "the budget was dollars", "不是每月，是整个项目": the held sum in another currency or for another time. */
export function readCorrection(text: string, held: Budget | undefined): Budget | null {
  const refuses = /不是|并非|(?<![a-z])not |instead of|rather than/.test(text);
  if (held === undefined || text.length > CORRECTION || ASKS.test(text)) return null;
  if (/\d/.test(text.replace(String(held.amount), ''))) return null;
  const currency = meant(text, CURRENCIES)?.currency;
  const period = meant(text, PERIODS)?.period;
  if (currency === undefined && period === undefined) return null;
  const aboutIt = text.includes(String(held.amount)) || (period === undefined && text.trim().length <= ALONE);
  if (!refuses && !aboutIt && !SETS_RIGHT.test(text)) return null;
  return { ...held, ...(currency === undefined ? {} : { currency }), ...(period === undefined ? {} : { period }) };
}

import { words } from '../lexicon/lexicon.ts';
import { after, before, clauseOf, erase, FILLER, type Found, find, outermost, type Reading } from '../reading.ts';
import type { Budget, SlotChange } from '../understanding.ts';
import { readCorrection, readPeriod } from './budget-corrections.ts';
import { ADVERB, type BudgetContext, EACH, RUN_NEAR, UNIT } from './budget-words.ts';
import { rentedHours } from './schedule.ts';

const CURRENCY_BEFORE = /(¥|rmb|cny|人民币) ?$|(\$|usd|us\$|美元) ?$/;
const CURRENCY_AFTER = new RegExp(
  `^ ?(?:(${words('cny')}|块钱?(?= ?(?:$|[/,.;!?\\n)每一1以之内左上封够人行吧呢的就预]|per|an? |h|月|天|小时|钟|max|budget)))|(${words('usd')}))`,
);
const PERIOD_AFTER = UNIT.map(({ period, cue }) => ({
  period,
  pattern: new RegExp(
    `^ ?(?:的|max|以内|tops)? ?${EACH} ?${words(cue)}|^, ?${EACH} ?${words(cue)}(?= ?(?:$|[,.;!]|吧|以内|max))`,
  ),
}));
const PERIOD_BEFORE = UNIT.map(({ period, cue }) => ({
  period,
  pattern: new RegExp(
    `(?:${EACH} ?${words(cue)}|${words(ADVERB.find((one) => one.period === period)?.cue ?? 'hourly')}${period === 'month' ? '|(?<![个\\d])月' : ''})[^\\d,;!?${FILLER}]{0,12}$`,
  ),
}));
const ADVERB_AFTER = ADVERB.map(({ period, cue }) => ({
  period,
  pattern: new RegExp(`^ ?(?:,|的)? ?${words(cue)}`),
}));
/** "三万块能用多久": a sum for as long as it lasts. */
const LASTS = new RegExp(words('lasts'));
/** "甲方给了 3 万块": given once, if it is more than what an hour costs. */
const GRANTED = new RegExp(words('granted'));
const BUDGET_BEFORE = new RegExp(
  `${words('budget')}(?:[^\\d,;!?\\n]{0,8}|[^\\d;!?\\n]{0,3}|[^\\d,;!?\\n]{0,8}, ?(?:应该|其实|实际|正确的?|改|it )?(?:是|为|成|should be|is|was) ?|[^\\d,;!?\\n]{0,4}(?:改|换|调|错|变)[^\\d,;!?\\n]{0,6}, ?)$`,
);
/** "512 预算 10": the word belongs to what follows it. */
const BUDGET_AFTER = /^ ?(?:块钱?|元)? ?的? ?(?:经费|预算|budget)(?![^\d,;\n]{0,4}\d)/;
/** Sums that nobody here converts. */
const OTHER_CURRENCY = new RegExp(`^ ?(?:k |w )?(?:${words('otherCurrency')})`);
const OTHER_SIGN = /(?:[€£₩₹]|eur|gbp|jpy|hkd|欧元|英镑|日元|港币) ?$/;
const LIMIT_AFTER = new RegExp(`^ ?${words('limit')}`);
/** The number counts something else. */
const OTHER_UNIT =
  /^ ?(?:g(?:i?b)?(?![a-z])|mb|mib|张|卡|个(?!月)|类|x ?\d|px|像素|%|步|轮|次|epochs?|iters?|iterations?|gpus?|cards?|images?|imgs?|classes|k ?(?:iter|步)|p\b|倍|小时(?! ?\d)|天(?! ?\d)|块(?:卡|显卡|gpu|[a-z])|分钟|秒|周|个?星期|steps?|核|vcpu|(?:hours?|days?|weeks?|months?)(?!ly)|(?:min(?:ute)?s?|sec(?:ond)?s?|h)\b)/;
const OTHER_KEY = /(?:batch|bs|size|crop|[a-z_]{3,} ?=|\dx|x|-|类|尺寸|每卡|epochs?|top) ?$/;

/** "预算-5000/月": a dash instead of a colon. */
const DASHED = /(?:预算|budget)(?:-| - )$/;
/** "预算 -5": with a space only before it, the dash is the sum's sign; behind a number it is none ("10 -20"). */
const BELOW_NOTHING = /(?<=^|[\s:=,;])(?<!\d\s{1,2})-[¥$]?$/;

/** The k of "10 kuai" and the w of "10 weeks" are no thousands; "rmb30" begins with its currency; "€"-style "$2,5" is 2.5. */
const AMOUNT =
  /(?:(?<![\d.a-z_])|(?<=(?<![a-z])(?:rmb|cny|usd)))(\d{1,3}(?:,\d{3})+(?:\.\d{1,2})?|(?<=[¥$] ?)\d{1,4},\d{1,2}(?![\d,])|\d{1,9}(?:\.\d{1,4})?)(?: ?(k|w)(?![a-z])| ?(k|w)(?=rmb|cny|usd|yuan|dollar))?(?![a-z\d]*[a-z]\d)/g;

interface Signs {
  readonly currency: 'CNY' | 'USD' | null;
  readonly period: Budget['period'] | null;
  readonly keyword: boolean;
  readonly limit: boolean;
  /** The period stands at the number itself (5k/月, 每月 5k). */
  readonly periodAt: boolean;
}

function currencyAt(lead: string, tail: string): 'CNY' | 'USD' | null {
  const ahead = CURRENCY_BEFORE.exec(lead);
  if (ahead !== null) return ahead[1] === undefined ? 'USD' : 'CNY';
  const behind = CURRENCY_AFTER.exec(tail);
  return behind === null ? null : behind[1] === undefined ? 'USD' : 'CNY';
}

/** "3000 到 5000": what stands before the range names both ends. */
const RANGE_START = /\d[\d,.]* ?[kw]? ?(?:元|块钱?)? ?(?:[-~到至]|to|and) ?$/;
/** "总 batch 16" counts images, not the run. */
const OTHER_TOTAL = /(?:总|total|global) ?(?:的|共)? ?(?:batch|bs|步|iter|显存|\d+ ?张)[^,;]*/g;

const SUM_BELOW =
  /(?:预算|budget|经费)[^\d,;\n-]{0,6}(?<=[\s:=])-[¥$]?(\d[^,;\n]{0,17})|(?<=^|[\s,;])(?<!\d\s{1,2})-[¥$]?(\d{1,7}(?:\.\d{1,2})? ?(?:元|块钱?|yuan|rmb|cny|usd|dollars?)(?![a-z])[^,;\n]{0,12})/;
const SUM_BELOW_ALONE = /^\s*-[¥$]?(\d{1,7}(?:\.\d{1,2})?[^\d]{0,8})$/;

/** A sum with a minus sign, as typed without it; alone it is one where a sum was asked for. */
export function sumBelowNothing(text: string, asked: boolean): string | null {
  const found = SUM_BELOW.exec(text) ?? (asked ? SUM_BELOW_ALONE.exec(text) : null);
  return (
    found
      ?.slice(1)
      .find((sum) => sum !== undefined)
      ?.trim() ?? null
  );
}

/** What follows a sum's currency and limit: its period, say. */
const behindMoney = (tail: string): string => tail.replace(CURRENCY_AFTER, '').replace(LIMIT_AFTER, '');

function signsOf(reading: Reading, found: Found, lasts: boolean): Signs {
  const lead = before(reading.rest, found.start, 40).replace(RANGE_START, '').slice(-24);
  const tail = after(reading.rest, found.end, 28);
  const currency = currencyAt(lead, tail);
  const afterMoney = behindMoney(tail);
  const bareLead = lead.replace(CURRENCY_BEFORE, '');
  const behind = [...PERIOD_AFTER, ...ADVERB_AFTER].find(({ pattern }) => pattern.test(afterMoney))?.period;
  const ahead = PERIOD_BEFORE.find(({ pattern }) => pattern.test(bareLead))?.period;
  const keyword = BUDGET_BEFORE.test(bareLead) || BUDGET_AFTER.test(tail);
  const limit = LIMIT_AFTER.test(tail.replace(CURRENCY_AFTER, ''));
  const run =
    RUN_NEAR.test(clauseOf(reading.text, found).replace(OTHER_TOTAL, '')) ||
    RUN_NEAR.test(nextClause(reading, found)) ||
    lasts ||
    (GRANTED.test(clauseOf(reading.text, found)) && amountOf(found) >= LEAST_THAT_LASTS);
  return {
    currency,
    period: behind ?? ahead ?? (run ? 'total' : null),
    keyword,
    limit,
    periodAt: behind !== undefined || ahead !== undefined || LONG.test(afterMoney),
  };
}

/** "bs 不能超过 4" limits something else than money. */
const OTHER_LIMIT =
  /(?:batch|bs|批大小|批次|尺寸|图|crop|卡|epochs?|size|显存|memory|vram|gpus?|cards?|images?)[^,;\d]{0,12}$/;
const MONEY_WORD = /预算|budget|花|钱|pay|spend|afford|经费|价/;

/** "老板批了两万，训完为止": the clause behind may tell what the sum is for. */
function nextClause(reading: Reading, found: Found): string {
  return /^[^,;\d]{0,4}, ?([^,;\d]{0,10})/.exec(after(reading.text, found.end, 24))?.[1] ?? '';
}

function isMoney(reading: Reading, found: Found, signs: Signs, context: BudgetContext): boolean {
  const tail = after(reading.rest, found.end, 12);
  if (OTHER_CURRENCY.test(tail) || OTHER_SIGN.test(before(reading.rest, found.start, 6))) return false;
  if (OTHER_UNIT.test(tail) && signs.currency === null) return false;
  if (BELOW_NOTHING.test(before(reading.text, found.start, 6))) return false;
  const label = before(reading.rest, found.start, 24).replace(RANGE_START, '').slice(-10);
  if (OTHER_KEY.test(label) && !DASHED.test(label) && signs.currency === null) return false;
  if (signs.currency !== null)
    return signs.keyword || signs.limit || signs.period !== null || context.asked || isPlainSum(reading, found);
  if (signs.keyword) {
    const lead = before(reading.rest, found.start, 24);
    return !OTHER_LIMIT.test(lead) || MONEY_WORD.test(lead);
  }
  if (signs.periodAt || isTotalOfTime(reading, found) || isSpentOver(reading, found)) return true;
  return context.asked && (signs.limit || signs.period !== null);
}

/** "have it for 10 weeks, total 20000": beside the time that a machine is wanted, a total is money. */
function isTotalOfTime(reading: Reading, { start, end }: Found): boolean {
  const total = TOTAL_BEFORE.test(before(reading.rest, start)) || TOTAL_AFTER.test(after(reading.rest, end));
  return total && rentedHours(reading.text) !== null;
}

/** "3 万够用几天": what is asked to last is money, as far as it is no picture's side. */
function isSpentOver({ rest }: Reading, found: Found): boolean {
  return amountOf(found) >= LEAST_THAT_LASTS && LASTS_BEHIND.test(after(rest, found.end, 20));
}

const LEAST_THAT_LASTS = 1000;
const LASTS_BEHIND = new RegExp(`^[^\\d,;]{0,4}${words('lasts')}`);

const TOTAL_BEFORE = /(?:total|总共|一共|总计|合计|共)[^\d,;]{0,6}$/;
const TOTAL_AFTER = /^ ?(?:in total|total|altogether|all[- ]in|overall)(?![a-z])/;

/** A sum of money with nothing else to it: an offer ("我有 500 块"), unless a price is quoted. */
function isPlainSum(reading: Reading, found: Found): boolean {
  return !/(?:价格|单价|售价|costs?|price)[^\d]{0,8}$/.test(before(reading.text, found.start, 14));
}

function amountOf({ groups }: Found): number {
  const unit = groups[1] || groups[2];
  const scale = unit === 'k' ? 1000 : unit === 'w' ? 10_000 : 1;
  return (
    Math.round(Number((groups[0] ?? '').replace(/^(\d+),(\d{1,2})$/, '$1.$2').replaceAll(',', '')) * scale * 100) / 100
  );
}

const WEEK = '(?:周|个?星期|weeks?|wk)(?![a-z])';
const WEEKLY = new RegExp(`^ ?(?:${EACH} ?${WEEK}|weekly)`);
/** "训一周 预算 800" is a week's run, not a week's sum. */
const WEEKLY_BEFORE = /(?:每(?:周|个?星期)|weekly|(?:per|each|every) week)[^\d,;!?]{0,10}$/;
const WEEKS_PER_MONTH = 30 / 7;
const HOURS_PER_MONTH = 720;
const YEARLY = new RegExp(`^[^\\d,;]{0,3}${EACH} ?${words('year')}`);
/** "800 per week": a sum although no currency is said. */
const LONG = new RegExp(`^ ?(?:${EACH} ?(?:${WEEK}|${words('year')})|weekly(?![a-z])|yearly(?![a-z]))`);
/** "一年预算3万", "2027年的经费 10 万", "annual budget of $20k" */
const YEARLY_BEFORE =
  /(?:(?:[每一1全整今明本这]|20\d\d ?)年|年(?=度|预算|经费)|annual|yearly|(?:per|a|each|every|this) year)[^\d,;!?剩]{0,14}$/;

function toBudget(reading: Reading, found: Found, signs: Signs, held: Budget | undefined): Budget {
  const amount = amountOf(found);
  const currency = signs.currency ?? held?.currency ?? 'CNY';
  // a year's sum and a week's are held as a month's of 30 days, one for rented hours as an hour's
  if (YEARLY.test(after(reading.rest, found.end, 14)) || YEARLY_BEFORE.test(before(reading.rest, found.start, 24)))
    return { amount: Math.round(amount / 0.12) / 100, currency, period: 'month' };
  if (
    WEEKLY.test(behindMoney(after(reading.rest, found.end, 28))) ||
    WEEKLY_BEFORE.test(before(reading.rest, found.start, 16))
  )
    return { amount: Math.round(amount * WEEKS_PER_MONTH * 100) / 100, currency, period: 'month' };
  const rented = rentedHours(reading.text);
  if (rented !== null && (signs.period ?? 'total') === 'total') {
    // who rents for months may subscribe
    const [unit, period] = rented < HOURS_PER_MONTH ? ([1, 'hour'] as const) : ([HOURS_PER_MONTH, 'month'] as const);
    return { amount: Math.round((amount / rented) * unit * 100) / 100, currency, period };
  }
  const period = signs.period ?? held?.period;
  return period === undefined ? { amount, currency } : { amount, currency, period };
}

/** What can be spent: amount, currency (CNY where none is said), period where one is said. */
export function readBudget(reading: Reading, context: BudgetContext): Budget | null {
  const amounts = outermost(find(reading, AMOUNT));
  const lasts = amounts.length > 0 && LASTS.test(reading.text);
  const sums = amounts.flatMap((found) => {
    const signs = signsOf(reading, found, lasts);
    return isMoney(reading, found, signs, context) ? [{ found, signs }] : [];
  });
  const spans = sums.map(({ found }) => moneySpan(reading, found));
  // the 1 of "300 美元 1个月" counts months
  const last = sums.findLast(({ found }) => !spans.some(({ start, end }) => start < found.start && found.start < end));
  if (last === undefined) return readPeriod(reading, context) ?? readCorrection(reading.text, context.held);
  const budget = toBudget(reading, last.found, last.signs, context.held);
  erase(reading, [...spans, ...sums.map(({ found }) => rangeStart(reading, found))]);
  return budget;
}

/** The lower end of "2000 到 3000" is no picture's side. */
function rangeStart({ rest }: Reading, { start }: Found): { readonly start: number; readonly end: number } {
  return { start: start - (RANGE_START.exec(before(rest, start, 20))?.[0].length ?? 0), end: start };
}

function moneySpan(reading: Reading, found: Found): { readonly start: number; readonly end: number } {
  const tail = after(reading.rest, found.end, 28);
  const currency = CURRENCY_AFTER.exec(tail)?.[0] ?? '';
  const limit = LIMIT_AFTER.exec(tail.slice(currency.length))?.[0] ?? '';
  const left = tail.slice(currency.length + limit.length);
  const period =
    [...PERIOD_AFTER].map(({ pattern }) => pattern.exec(left)?.[0] ?? '').find((text) => text !== '') ?? '';
  return { start: found.start, end: found.end + currency.length + limit.length + period.length };
}

const UNLIMITED = new RegExp(words('unlimitedBudget'));
const DEARER =
  /(?:贵|预算|budget|价格|花|spend)[^\d,;]{0,6}(?:翻倍|翻番|1倍|double|twice)|double (?:the |my )?budget|twice (?:the |as (?:much|expensive))/;
const HALF =
  /(?:预算|budget|价格|花费)[^\d,;]{0,4}(?:减半|砍半|一半|half|halve)|half (?:the |my )?budget|便宜一半|halve (?:the |my )?budget/;

/** Changes of the budget that no plain amount carries. */
export function readBudgetChanges(text: string): readonly SlotChange[] {
  if (UNLIMITED.test(text)) return [{ slot: 'budget', clear: true }];
  if (DEARER.test(text)) return [{ slot: 'budget', multiply: 2 }];
  return HALF.test(text) ? [{ slot: 'budget', multiply: 0.5 }] : [];
}

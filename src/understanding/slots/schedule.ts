import { words } from '../lexicon/lexicon.ts';
import { before, type Found, type Reading, take } from '../reading.ts';
import type { Slots } from '../understanding.ts';
import { dropEmpty } from './training.ts';

type Schedule = Pick<Slots, 'iterations' | 'epochs' | 'trainImages' | 'deadlineHours' | 'hoursPerMonth'>;

const HOUR = words('hour');
const DAY = words('day');
const FINISH = '(?:跑完|训完|训练完|练完|搞定|出结果|完成|跑得完|训得完|结束|done|finish(?:ed)?|complete(?:d)?)';

const ITERATIONS =
  /(?<![\d.])(\d{1,7}(?:\.\d)?) ?(k|m|w)? ?(?:次|个)? ?(?:iter(?:ation)?s?|steps?|步|迭代|it\b)(?![a-z/])|\b(?:max_?iters?|max_?steps|num_?iters|iters|total_?iters|iterations|max_epochs_iters)["']? ?[=:] ?(\d{1,7})|(?<![\d.])(\d{2,3})(k) ?(?:schedule|sched)|(?:一共|总共|共)(?:要)?(?:跑|训|练) ?(\d{1,4}(?:\.\d)?) ?([kw])(?![a-z\d])/g;
const EPOCHS =
  /(?<![\d.=])(\d{1,5}) ?(?:个)? ?(?:epochs?(?! ?[=:])|eps?\b|轮|代(?!码))|\b(?:max_?epochs?|num_?(?:train_)?epochs?|epochs?)["']? ?(?:[=:]|是|为)? ?(\d{1,5})(?![\d.])|--epochs[= ](\d{1,5})/g;
const IMAGES =
  /(?:数据集?|训练集|样本|dataset|data|training set|train set|图片?) ?(?:一共|总共|大概|大约|约|有|共|is|of|has|about|around|:|=|是|就|只有){0,3} ?(\d{1,3}(?:,\d{3})+|\d{2,8})(k)? ?(?:张|幅|images?|pictures?|imgs?|samples?|多张|来张)|(?<![\d.])(\d{1,3}(?:,\d{3})+|\d{2,8})(k)? ?(?:张|幅)? ?(?:训练图片?|训练样本|训练集|training images|train images|training samples|images in (?:the )?(?:train|data))|(?<![\d.x])(\d{1,3}(?:,\d{3})+|\d{3,8}|\d{1,4}(?=k))(k)? ?(?:张图片?|张照片|幅图像?|images|photos|pictures)(?! ?(?:per|\/|每|一))/g;
const DEADLINES: readonly { readonly pattern: RegExp; readonly hours: number }[] = [
  {
    pattern: new RegExp(
      `(?<![\\d.])(\\d{1,4}(?:\\.\\d)?) ?${HOUR} ?(?:之?内|以内|就)? ?(?:要|能|得|就|可以|想)? ?(?:把它)?${FINISH}`,
      'g',
    ),
    hours: 1,
  },
  {
    pattern: new RegExp(
      `(?<![\\d.])(\\d{1,3}(?:\\.\\d)?) ?${DAY} ?(?:之?内|以内|就)? ?(?:要|能|得|就|可以|想)? ?(?:把它)?${FINISH}`,
      'g',
    ),
    hours: 24,
  },
  {
    pattern:
      /(?:within|in (?:under|less than)?|under|less than|deadline(?: is| of)?|done in|finish(?:ed|es)? in|no more than) ?(?:an?\s)?(\d{1,4}(?:\.\d)?)? ?(?:hours?|hrs?|h)(?![a-z])(?! ?(?:budget|per))/g,
    hours: 1,
  },
  {
    pattern:
      /(?:within|in (?:under|less than)?|under|less than|deadline(?: is| of)?|done in|finish(?:ed|es)? in|no more than) ?(?:an?\s|one\s)?(\d{1,3}(?:\.\d)?)? ?(?:days?)(?![a-z])/g,
    hours: 24,
  },
  { pattern: /(?:还有|还剩|只剩|只有|剩下?) ?(\d{1,3}) ?个?(?:小时|钟头)/g, hours: 1 },
  { pattern: /(?:还有|还剩|只剩|只有|剩下?) ?(\d{1,2}) ?天/g, hours: 24 },
  { pattern: /(?:最多|不(?:能)?超过|至多) ?(\d{1,3}) ?个?(?:小时|钟头)/g, hours: 1 },
  { pattern: /(?<![\d.])(\d{1,3}) ?(?:hours?|hrs?) (?:tops|max(?:imum)?|at most|or less|limit)(?![a-z])/g, hours: 1 },
  { pattern: /(?<![\d.])(\d{1,2}) ?days? (?:tops|max(?:imum)?|at most|or less|limit)(?![a-z])/g, hours: 24 },
  {
    pattern: new RegExp(
      `(?<![\\d.])(\\d{1,4}) ?分钟 ?(?:(?:之?内|以内|就|要|能){1,2} ?(?:把它)?(?:${FINISH})?|${FINISH})`,
      'g',
    ),
    hours: 1 / 60,
  },
  {
    pattern:
      /(?:within|in (?:under|less than)?|under|less than|deadline(?: is| of)?|done in|finish(?:ed|es)? in|no more than) ?(\d{1,4}) ?min(?:ute)?s?(?![a-z])/g,
    hours: 1 / 60,
  },
  {
    pattern:
      /(?:within|in (?:under|less than)?|done in|finish(?:ed|es)? in|no more than) ?(?:an?\s|one\s)?(\d{1,2})? ?weeks?(?![a-z])/g,
    hours: 168,
  },
  {
    pattern: /(?<![\d.]|(?:元|块钱?|刀|金|币|[$¥]|usd|rmb|cny) ?)(\d{1,3}) ?个?(?:小时|钟头)(?:之?内|以内)/g,
    hours: 1,
  },
  { pattern: /(?<![\d.]|(?:元|块钱?|刀|金|币|[$¥]|usd|rmb|cny) ?)(\d{1,3}) ?天(?:之?内|以内)/g, hours: 24 },
  { pattern: /(?<![\d.])(\d{1,2}) ?个?(?:周|星期)(?:之?内|以内)/g, hours: 168 },
  { pattern: /(?:半天|half a day) ?(?:之?内)? ?(?:能|要|就)?(?:跑完|训完|搞定)/g, hours: 12 },
  { pattern: /(?:overnight|过夜|一?1?晚上?|明早)[^\d,;]{0,6}(\d{1,2}) ?(?:hours?|h(?![a-z])|个?小时)/g, hours: 1 },
  {
    pattern:
      /半个?(?:小时|钟头)(?:之?内|以内|就)? ?(?:要|能|得|就)?(?:把它)?(?:跑完|训完|训得完|跑得完|搞定|完成)|(?:within|in|under|less than) half an hour/g,
    hours: 0.5,
  },
  {
    pattern:
      /(?:明早|明天早上|过夜|一晚上?|overnight|by tomorrow(?: morning)?) ?(?:之?前|要|能|就)?(?:跑完|训完|搞定|出结果|done)?/g,
    hours: 12,
  },
  {
    pattern: /(?<![\d.])(\d{1,2}) ?(?:周|个?星期|weeks?) ?(?:之?内|以内)? ?(?:要|能|得|就)? ?(?:跑完|训完|搞定|完成)/g,
    hours: 168,
  },
];
const MONTHLY_HOURS =
  /(?:每|一|1)个?月 ?(?:大概|大约|就|只)? ?(?:用|跑|训|开) ?(\d{1,3}) ?个?小时|(\d{1,3}) ?hours? (?:a|per|each) month|每天 ?(?:大概|就|只)? ?(?:用|跑|训|开)? ?(\d{1,2}) ?个?小时|(\d{1,2}) ?hours? (?:a|per|each) day/g;
const DAYS_PER_MONTH = 30;

/** "第 51 步就爆", "at epoch 12", "every 10k iterations": when something happens, not how long the run is. */
const ORDINAL =
  /(?:第|每|到|跑了|训了|撑了|前面?|已经?|every|ran(?: for)?|each|at|after|around|by|in|from|till|until|since)\s*(?:epoch |iter |step )?$/;

function isLength(reading: Reading, { start }: Found): boolean {
  return !ORDINAL.test(before(reading.text, start, 10));
}

/** w: 万. */
const UNITS: Readonly<Record<string, number>> = { k: 1_000, w: 10_000, m: 1_000_000 };

function countOf({ groups }: Found): number | null {
  const [number, unit] = [groups.find((group) => /^\d/.test(group)), groups.find((group) => /^[kmw]$/.test(group))];
  if (number === undefined) return null;
  return Math.round(Number(number.replaceAll(',', '')) * (unit === undefined ? 1 : (UNITS[unit] ?? 1)));
}

/** A unit of time, or a part of the day: every deadline names one. */
const TIME = /小时|钟|天|日|周|星期|晚|夜|早|(?<![a-z])[hd](?![a-z])|hour|hr|day|week|min|night|tomorrow/;

function readDeadline(reading: Reading): number | null {
  if (!TIME.test(reading.rest)) return null;
  for (const { pattern, hours } of DEADLINES) {
    const found = take(reading, pattern).at(-1);
    if (found !== undefined)
      return (found.groups[0] === undefined || found.groups[0] === '' ? 1 : Number(found.groups[0])) * hours;
  }
  return null;
}

function readMonthlyHours(reading: Reading): number | null {
  const found = take(reading, MONTHLY_HOURS).at(-1);
  if (found === undefined) return null;
  const [monthly, monthlyEn, daily, dailyEn] = found.groups;
  const perMonth = Number(monthly || monthlyEn || 0);
  return perMonth > 0 ? perMonth : Number(daily || dailyEn || 0) * DAYS_PER_MONTH || null;
}

function positive(value: number | null | undefined): number | null {
  return value !== null && value !== undefined && value > 0 ? value : null;
}

/** Units of time by which machines are paid, in hours; a month has 30 days, a year twelve of those. */
const TIMES: readonly { readonly hours: number; readonly zh: string; readonly en: string; readonly adverb: string }[] =
  [
    { hours: 24, zh: '[一1每单](?:天|日)', en: 'day', adverb: 'daily' },
    { hours: 168, zh: '[一1每]个?(?:周|星期)', en: 'week', adverb: 'weekly' },
    { hours: 360, zh: '半个月', en: 'half a month', adverb: 'fortnightly' },
    { hours: 720, zh: '[一1每]个?月', en: 'month', adverb: 'monthly' },
    { hours: 4320, zh: '半年', en: 'half a year', adverb: 'half-yearly' },
    { hours: 8640, zh: '[一1每全整]年', en: 'year', adverb: '(?:yearly|annual(?:ly)?)' },
  ];
/** No number of something else, and no sum that may be spent. */
const ASKS_SUM =
  '(?:(?:的|大概|大约|要|得|下来|会|需要|总共|一共|跑满)*(?:多少(?!步|轮|张|次|个|卡|g|小时|天|显存|内存)|价|什么价|费|花(?![^,;]{0,8}\\d))|(?:的话|的|呢)*\\s*[?呢]*$)';

/** "一年多少钱", "what is that per month", "monthly cost": the time for which a price is asked. */
const PRICED = TIMES.map(({ hours, zh, en, adverb }) => {
  const each = `(?:(?:a|per|each|one|every|the|this) (?:whole |full )?)?${en}`;
  const sources = [
    `(?<![\\d每第前后上下])(?:${zh})${ASKS_SUM}`,
    `(?:costs?|price|pay|much|bill|(?:what(?:'s| is| would| will)|how about) (?:that|it|this)(?: be| come to)?)[^,.;?\\n]{0,30}(?<![a-z])${each}(?![a-z])`,
    `(?<![a-z])${adverb} (?:cost|price|bill|sum|total|fee|charge)`,
    `^[\\s,.]*(?:(?:and|so|ok|what about|how about|then|for|over)[\\s,]{1,2})*(?:(?:for |over )?(?:per|a|each|one|the whole|a whole) ${en}|${adverb})[\\s?.!]*$`,
  ];
  return [hours, new RegExp(sources.join('|'))] as const;
});

const UNIT_HOURS: readonly (readonly [hours: number, unit: RegExp])[] = [
  [1, /小时|钟头|hour|hr/],
  [24, /天|day/],
  [168, /周|星期|week/],
  [720, /月|month/],
  [8640, /年|year/],
];
const UNIT = '(小时|钟头|天|周|星期|月|年|hours?|hrs?|days?|weeks?|months?|years?)';
/** A look that spares the search: every form has a number with its unit. */
const NEEDS_TIME = /\d ?个?(?:[小钟天周星月年]|[hdwmy][a-z])/;
/** "只租 10 小时", "10 小时多少钱", "have it for 3 days": how long the machine is wanted. */
const RENTED = new RegExp(
  `(?:租用?|(?<!每天?|[一1每]个?(?:天|周|星期|月|年)[^,;\\d]{0,4})(?:要|想|会|得|一共|总共|需要|打算)用|包(?=[\\d ])) ?(?:个|它|一台)? ?(\\d{1,4}) ?个?${UNIT}|(?:训练?|跑)(?:上|个)? ?(\\d{1,3}) ?个?(周|星期|月)(?![内就前])|(?<![\\d.])(\\d{1,4}) ?个?${UNIT}(?:的|下来|大概|一共|总共|共|要|得){0,2}(?:多少钱|什么价|费用|花多少)|(?:train|run)(?:n?ing)?[^,.;?\\n\\d]{0,24}? for (\\d{1,3}) (weeks?|months?)(?![a-z])|(?:rent(?:ing)?|have|hire|keep|need|use|want|cost|price|pay|much)[^,.;?\\n]{0,24}? for (\\d{1,4}) ${UNIT}(?![a-z])`,
);

/** Hours for which a machine is wanted; null where none are said. */
export function rentedHours(text: string): number | null {
  if (!NEEDS_TIME.test(text)) return null;
  const groups =
    RENTED.exec(text)
      ?.slice(1)
      .filter((group) => group !== undefined) ?? [];
  const [count = '', unit = ''] = groups;
  const hours = UNIT_HOURS.find(([, pattern]) => pattern.test(unit))?.[0];
  return hours === undefined || Number(count) === 0 ? null : Number(count) * hours;
}

/** "那三个月呢", "for 2 years?": a number of months or years and nothing else. */
const COUNTED =
  /^[^\da-z]{0,4}(?:and |what about |how about |for |over ){0,3}(\d{1,2}) ?个?(月|年|months?|years?)(?:的话|呢)*[\s?]*$/;

/** The time that a question about a price is about; null where none is asked. */
export function askedHours(text: string): number | null {
  const known = PRICED.find(([, pattern]) => pattern.test(text))?.[0];
  if (known !== undefined) return known;
  const [, count = '', unit = ''] = COUNTED.exec(text) ?? [];
  const hours = UNIT_HOURS.find(([, pattern]) => pattern.test(unit))?.[0] ?? 0;
  return hours * Number(count) || null;
}

/** Length of the run, size of the training set, and by when it has to be done. */
export function readSchedule(reading: Reading): Schedule {
  const hoursPerMonth = readMonthlyHours(reading);
  const deadlineHours = readDeadline(reading);
  const [iterations] = take(reading, ITERATIONS, (found) => (countOf(found) ?? 0) >= 10 && isLength(reading, found))
    .map(countOf)
    .slice(-1);
  const [epochs] = take(reading, EPOCHS, (found) => isLength(reading, found))
    .map(countOf)
    .slice(-1);
  const [trainImages] = take(reading, IMAGES, (found) => (countOf(found) ?? 0) >= 50)
    .map(countOf)
    .slice(-1);
  return dropEmpty({
    hoursPerMonth: positive(hoursPerMonth),
    deadlineHours: positive(deadlineHours),
    iterations: positive(iterations),
    epochs: positive(epochs),
    trainImages: positive(trainImages),
  });
}

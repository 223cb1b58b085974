import { matchesOf } from './matches.ts';

const DIGITS: Readonly<Record<string, number>> = {
  零: 0,
  〇: 0,
  一: 1,
  二: 2,
  两: 2,
  俩: 2,
  三: 3,
  仨: 3,
  四: 4,
  五: 5,
  六: 6,
  七: 7,
  八: 8,
  九: 9,
};
const SMALL_UNITS: Readonly<Record<string, number>> = { 十: 10, 百: 100, 千: 1000 };
const LARGE_UNITS: Readonly<Record<string, number>> = { 万: 10_000, 亿: 100_000_000 };
const CONTRACTED: Readonly<Record<string, string>> = { 廿: '二十', 卅: '三十' };

const NUMERAL = '零〇一二两俩仨三四五六七八九十百千万亿廿卅';

/** Reads digits one after the other: 二零四八 → 2048. Two neighbours (三四 = "three or four") are no number. */
function readDigits(text: string): number | null {
  let value = '';
  for (const char of text) {
    const digit = DIGITS[char];
    if (digit === undefined) return null;
    value += String(digit);
  }
  if (value.length === 2 && Math.abs(Number(value[0]) - Number(value[1])) <= 1 && !value.includes('0')) return null;
  return Number(value);
}

interface Section {
  /** Value of finished sections (above 万). */
  total: number;
  /** Value below the next large unit. */
  section: number;
  digit: number | null;
  /** Unit that came last, for elliptic tails (两百五 = 250). */
  lastUnit: number;
  sawZero: boolean;
}

function takeUnit(state: Section, unit: number): boolean {
  if (unit === 10 && state.digit === null) state.digit = 1;
  if (state.digit === null || (state.section > 0 && unit >= state.lastUnit)) return false;
  state.section += state.digit * unit;
  state.digit = null;
  state.lastUnit = unit;
  state.sawZero = false;
  return true;
}

function takeLargeUnit(state: Section, unit: number): boolean {
  const below = state.section + (state.digit ?? 0);
  if (below === 0 || (state.total > 0 && unit === 100_000_000)) return false;
  state.total = unit === 100_000_000 ? below * unit : state.total + below * unit;
  state.section = 0;
  state.digit = null;
  state.lastUnit = unit;
  state.sawZero = false;
  return true;
}

function takeDigit(state: Section, digit: number): boolean {
  if (state.digit !== null) return false;
  if (digit === 0) {
    state.sawZero = true;
    return true;
  }
  state.digit = digit;
  return true;
}

function finish(state: Section): number {
  if (state.digit === null) return state.total + state.section;
  const elliptic = !state.sawZero && state.lastUnit >= 100;
  return state.total + state.section + state.digit * (elliptic ? state.lastUnit / 10 : 1);
}

/**
 * Value of a Chinese numeral: 一万两千 → 12000, 两百五 → 250, 廿四 → 24, 二零四八 → 2048, 一点五 → 1.5.
 * Null where the text is no well-formed number (万一, 千万, 三四).
 */
export function parseChineseNumber(text: string): number | null {
  const [whole, fraction, ...more] = text.split('点');
  if (whole === undefined || whole === '' || more.length > 0) return null;
  const value = parseWhole(withoutLower([...whole].map((char) => CONTRACTED[char] ?? char).join('')));
  if (value === null || fraction === undefined) return value;
  const tail = [...fraction].map((char) => DIGITS[char]);
  return tail.length === 0 || tail.some((digit) => digit === undefined) ? null : Number(`${value}.${tail.join('')}`);
}

/** "三四千": one of two neighbours, of which the larger is meant as in every range. */
function withoutLower(text: string): string {
  const [, lower = '', upper = '', unit = ''] =
    /^([一二两三四五六七八])([二两三四五六七八九])([十百千万]{1,2})$/.exec(text) ?? [];
  return (DIGITS[upper] ?? 0) - (DIGITS[lower] ?? 0) === 1 ? upper + unit : text;
}

function parseWhole(text: string): number | null {
  if (!/[十百千万亿]/.test(text)) return text.length === 1 ? (DIGITS[text] ?? null) : readDigits(text);
  const state: Section = { total: 0, section: 0, digit: null, lastUnit: 0, sawZero: false };
  for (const char of text) {
    const digit = DIGITS[char];
    const small = SMALL_UNITS[char];
    const large = LARGE_UNITS[char];
    const taken =
      digit !== undefined
        ? takeDigit(state, digit)
        : small !== undefined
          ? takeUnit(state, small)
          : large !== undefined && takeLargeUnit(state, large);
    if (!taken) return null;
  }
  return finish(state);
}

/** Words that contain a numeral and count nothing. */
const IDIOMS = /^(?:十分(?!钟)|万一|千万|一一)/;
const PERIOD_NEXT = /^\s*(?:个?月|天|个?小时|个?钟|年|周|日)/;
const MEASURE_NEXT =
  /^\s*(?:张|卡|块(?!跑|用|训|放|儿)|个|台|元|小时|天|路|枚|颗|步|轮|类|级|倍|份|分钟|机|片|图|年|周|星期|日(?!常)|次|通道|波段|折|刀|美|层|组|节点|幅|显卡|gpu|gb?\b|[a-z]{0,4}\d)/i;
const END_NEXT = /^\s*(?:$|[,.;!?\n吧呢了行就可])|^\s/;
const NOT_BEFORE = /[另某这那同每任第唯统万上下整]$/;
const CUE_BEFORE = /(?:^|bs|batch(?:[ _]?size)?|卡|总|成|为|是|到|预算|就|用|[=:,])\s*$/i;
const YUAN_BEFORE = /[\d一二两三四五六七八九十百千万]块钱?$/;
const MONEY_BEFORE = /(?:预算|最多|花|不超过|每|¥|一共|批了)[^,.;\n]{0,6}$/;

interface Run {
  readonly run: string;
  readonly before: string;
  readonly after: string;
}

/** 五千一个月 is 五千 and 一个月, 预算三十一小时 is 三十 and 一小时, 八块五一小时 is 八块五 and 一小时. */
function splitsPeriod({ run, before, after }: Run): boolean {
  if (!PERIOD_NEXT.test(after)) return false;
  if (YUAN_BEFORE.test(before) && /^[一二三四五六七八九][一两]$/.test(run)) return true;
  if (!/[十百千万亿][一两]$/.test(run)) return false;
  return !/十.$/.test(run) || MONEY_BEFORE.test(before);
}

function convertSingle({ run, before, after }: Run): string {
  const digit = DIGITS[run] ?? (run === '十' ? 10 : undefined);
  if (digit === undefined || digit === 0 || NOT_BEFORE.test(before)) return run;
  const counts = MEASURE_NEXT.test(after) || (CUE_BEFORE.test(before) && END_NEXT.test(after));
  return counts ? pad(String(digit), before, after) : run;
}

/** Keeps the number apart from digits at either side. */
function pad(number: string, before: string, after: string): string {
  return `${/\d$/.test(before) ? ' ' : ''}${number}${/^\d/.test(after) ? ' ' : ''}`;
}

function convertRun(input: Run): string {
  const { run, before, after } = input;
  if (run.length === 1) return convertSingle(input);
  if (IDIOMS.test(run + after.slice(0, 1))) return run;
  const last = run.slice(-1);
  const splits = splitsPeriod(input);
  if (splits || parseChineseNumber(run) === null) {
    const head = splits || /[十百千万亿]/.test(run) ? parseChineseNumber(run.slice(0, -1)) : null;
    if (head === null) return run;
    const tail = convertSingle({ run: last, before: '', after });
    return `${pad(String(head), before, ' ')} ${tail}`;
  }
  const value = parseChineseNumber(run);
  return value === null || NOT_BEFORE.test(before) ? run : pad(String(value), before, after);
}

const CHINESE_RUN = new RegExp(`[${NUMERAL}]+(?:点[零〇一二三四五六七八九]+)?`, 'g');
/** 1.5万, 1万5, 1万5千, 5千, 3百. */
const MIXED_RUN = /(?<!\d)(\d{1,12}(?:\.\d{1,6})?)\s?([百千万亿])(?:(\d)(?![\d.])([百千])?)?/g;
const MIXED_UNITS: Readonly<Record<string, number>> = { ...SMALL_UNITS, ...LARGE_UNITS };

function mixedValue(match: RegExpExecArray, text: string): string {
  const [all, number = '', unit = '', tail, tailUnit] = match;
  const size = MIXED_UNITS[unit] ?? 1;
  const head = Number(number) * size;
  // 1万500, 1万3090: whatever the digits behind are, they do not lengthen the number.
  if (tail === undefined) return /\d/.test(text.charAt(match.index + all.length)) ? `${head} ` : String(head);
  if (tailUnit !== undefined) return String(head + Number(tail) * (MIXED_UNITS[tailUnit] ?? 1));
  const after = text.slice(match.index + all.length, match.index + all.length + 4);
  return PERIOD_NEXT.test(after) ? `${head} ${tail}` : String(head + (Number(tail) * size) / 10);
}

function convertMixed(text: string): string {
  const parts: string[] = [];
  let at = 0;
  for (const match of matchesOf(MIXED_RUN, text)) {
    parts.push(text.slice(at, match.index), mixedValue(match, text));
    at = match.index + match[0].length;
  }
  return parts.join('') + text.slice(at);
}

/** 八块五, 八块五毛: five tenths, not five of something. */
const TENTHS =
  /(\d{1,6})块(?:钱)?([一二两三四五六七八九半]|\d(?![\d.x]))(?:毛钱?|(?=\s*(?:$|[,.;!?)\n/每一吧的左以]|1个?(?:小时|钟|天|日|周|月|年)|an? |per)))/g;

const CONTEXT = 12;

/** Writes every Chinese numeral that counts something in Arabic digits and leaves the rest of the text as it is. */
export function toArabicNumerals(text: string): string {
  const plain = text.replace(CHINESE_RUN, (run, offset: number) => {
    const before = text.slice(Math.max(0, offset - CONTEXT), offset);
    const after = text.slice(offset + run.length, offset + run.length + CONTEXT);
    const mixed = /\d\s?$/.test(before) && /^[百千万亿]/.test(run);
    return mixed ? spellTail(run, after) : convertRun({ run, before, after });
  });
  return convertMixed(plain).replace(TENTHS, (_all, yuan: string, tenths: string) => {
    return `${yuan}.${tenths === '半' ? 5 : (DIGITS[tenths] ?? tenths)}块`;
  });
}

/** After Arabic digits the unit stays for `convertMixed`: 1万五 → 1万5, 5千一个月 → 5千 1个月. */
function spellTail(run: string, after: string): string {
  const digits = [...run].map((char) => DIGITS[char] ?? char).join('');
  return /\d$/.test(digits) && PERIOD_NEXT.test(after) ? `${digits.slice(0, -1)} ${digits.slice(-1)}` : digits;
}

const ENGLISH: Readonly<Record<string, string>> = {
  one: '1',
  two: '2',
  three: '3',
  four: '4',
  five: '5',
  six: '6',
  seven: '7',
  eight: '8',
  ten: '10',
  twelve: '12',
  fifteen: '15',
  sixteen: '16',
  twenty: '20',
  'twenty-four': '24',
  thirty: '30',
  'thirty-two': '32',
  forty: '40',
  fifty: '50',
};
const WORDS = Object.keys(ENGLISH).toSorted((left, right) => right.length - left.length);
const ENGLISH_RUN = new RegExp(
  `\\b(${WORDS.join('|')})(?=[ -](?:yuan\\b|rmb\\b|dollars?\\b|bucks?\\b|channels?\\b|gpus?\\b|cards?\\b|boxes\\b|nodes?\\b|images?\\b|imgs?\\b|classes\\b|hours?\\b|days?\\b|epochs?\\b|at (?:a time|once)|per (?:gpu|card|device|step)|on each|(?:each|every)(?: (?:gpu|card))?\\b|of (?:them|those|these)\\b|a (?:gpu|card)\\b|nvidia|tesla|rtx|gtx|titan|[a-z]{0,2}\\d{1,4}))`,
  'gi',
);

const ENGLISH_VALUE = new RegExp(
  `(?<=\\b(?:batch(?: size)?(?: of)?|bs|budget(?: of| is)?) )(${WORDS.join('|')})(?![-\\w])`,
  'gi',
);

const ENGLISH_ALONE = new RegExp(`(?<=^\\s*)(${WORDS.join('|')})(?=\\s*[.!]?\\s*$)`, 'i');

/** Writes English counting words in digits before a counted noun ("two 4090s") and behind a quantity ("batch four"). */
export function englishToDigits(text: string): string {
  const digits = (word: string): string => ENGLISH[word.toLowerCase()] ?? word;
  return text.replace(ENGLISH_RUN, digits).replace(ENGLISH_VALUE, digits).replace(ENGLISH_ALONE, digits);
}

import type { Reading } from '../reading.ts';
import type { Alternative } from '../understanding.ts';
import { BATCH_BETWEEN } from './batch.ts';
import { BATCH_WORD } from './batch-words.ts';

const THROUGH = ' ?(?:-|~|到|至|或者?|还是|or|to) ?';
const NOT_FROM = '(?<!(?:从|由|from) ?)';
/** Two numbers of images: "batch 4 到 8", "between 8 and 12 per gpu", "每卡 4 或 8 张". */
const BATCHES: readonly RegExp[] = [
  new RegExp(
    `${BATCH_WORD}[^\\d,;\\n]{0,12}?${NOT_FROM}(\\d{1,3})(${THROUGH})(\\d{1,3})(?![\\d.x]| ?(?:类|gpu|卡|元|块|刀|美|yuan|rmb|usd|cny|dollars?|\\/ ?(?:h|小时|天|月)))`,
  ),
  new RegExp(`每(?:张|块)?卡[^\\d,;\\n]{0,6}?${NOT_FROM}(\\d{1,3})(${THROUGH})(\\d{1,3})(?= ?张|$|[,;.])`),
  new RegExp(
    `${NOT_FROM}(?<![\\d.x])(\\d{1,3})(${THROUGH})(\\d{1,3})(?= ?(?:images?|imgs?|张图?)? ?(?:\\/|per|each|每) ?(?:gpu|card|卡))`,
  ),
];
/** Two sides: "512 or 768", "512 到 1024 之间". */
const SIDES = new RegExp(
  `(?<!(?:从|由|from|resnet|预算|budget|r|[$¥]) ?)(?<![\\d.x-])(\\d{3,4})( ?(?:px)?${THROUGH.replace('-|', '')})(\\d{3,4})(?![\\d.x]| ?(?:元|块|刀|美|rmb|yuan|usd|cny|dollars?|张|步|iter|epoch|images|m?i?b(?![a-z])|\\/|每|an? (?:hour|month)|1个?[月天]|个?[月天]))`,
);

const isSide = (side: number): boolean => side >= 128 && side <= 4096 && (side % 8 === 0 || (side - 1) % 8 === 0);

interface Two {
  readonly small: number;
  readonly large: number;
}

/** Takes the smaller of two numbers out of what is left to read; null where they are no two values of one slot. */
function takeSmaller(reading: Reading, pattern: RegExp, fits: (two: Two) => boolean): Two | null {
  const found = pattern.exec(reading.rest);
  const [all = '', first = '', link = '', second = ''] = found ?? [];
  const [one, other] = [Number(first), Number(second)];
  const two = { small: Math.min(one, other), large: Math.max(one, other) };
  if (found === null || one === other || !fits(two)) return null;
  const at = found.index + all.lastIndexOf(`${first}${link}${second}`);
  const from = one < other ? at : at + first.length;
  const stop = one < other ? at + first.length + link.length : at + first.length + link.length + second.length;
  reading.rest = `${reading.rest.slice(0, from)}${' '.repeat(stop - from)}${reading.rest.slice(stop)}`;
  return two;
}

const BETWEEN = new RegExp(BATCH_BETWEEN);

/** "batch between 8 and 12": the rule of the batch itself reads the second number. */
function between({ rest }: Reading): Two | null {
  const [, small, large] = BETWEEN.exec(rest) ?? [];
  return Number(small) < Number(large) ? { small: Number(small), large: Number(large) } : null;
}

/** Values that are not much apart: 4 to 16 is a range, 2 or 512 are two slots. */
const MOST_APART = 16;

/** Cheap look that spares the long expressions. */
const TWO_NUMBERS = /\d(?:px)? ?(?:[-~到至或还和与]|or|to|and)[者是 ]{0,2} ?\d/;

/** Where two values are left open, the larger one is sized: what holds it holds the other too. */
export function readRanges(reading: Reading): readonly Alternative[] {
  if (!TWO_NUMBERS.test(reading.rest)) return [];
  const near = ({ small, large }: Two): boolean => small >= 1 && large / small <= MOST_APART;
  let batch: Two | null = null;
  for (const pattern of BATCHES) batch ??= takeSmaller(reading, pattern, near);
  batch ??= between(reading);
  const sides = takeSmaller(reading, SIDES, ({ small, large }) => isSide(small) && isSide(large));
  return [
    ...(batch === null ? [] : [{ taken: `batch ${batch.large}`, other: `batch ${batch.small}` }]),
    ...(sides === null ? [] : [{ taken: `${sides.large}x${sides.large}`, other: `${sides.small}x${sides.small}` }]),
  ];
}

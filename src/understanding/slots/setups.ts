import type { Candidate } from '../candidates.ts';
import { words } from '../lexicon/lexicon.ts';
import { after, before, type Found, type Reading, take } from '../reading.ts';
import { BATCH_WORD, LINKS, PER_GPU } from './batch-words.ts';

export type Scope = 'per_gpu' | 'total' | undefined;

export interface Batch {
  readonly size: number;
  readonly scope: Scope;
  readonly inherits?: true | undefined;
  readonly gpus?: number;
}

/** "bs 2x4 卡", "2 img/gpu x 8". */
const TIMES_CARDS = new RegExp(
  `${BATCH_WORD}${LINKS}(\\d{1,4}) ?x ?(\\d{1,3}) ?(?:张|块)?(?:卡|gpus?|cards?)|(?<![\\d.x])(\\d{1,4})${PER_GPU} ?x ?(\\d{1,3})(?![\\dx])`,
  'g',
);

/** "8 gpus x 2", "8卡x2", "4 GPU × 每卡2", "8 卡每卡 2": the second number is per GPU. */
const CARDS_TIMES =
  /(?<![\d.x])(\d{1,3}) ?(?:张|块)? ?(?:gpus?|cards?|卡)(?: ?x ?(?:每卡|batch|bs)?| ?,? ?每(?:张|块)?(?:卡|gpu)上?(?:放|跑)?) ?(\d{1,4})(?!\d| ?x| ?(?:g|gb|gib|元|块)(?![a-z]))/g;

const SETUP = '(\\d{1,2}) ?(?:张|块)?(?:gpus?|cards?|卡)? ?x ?(?:每卡|batch|bs|b)? ?(\\d{1,3})(?![\\dx])';
/** "8x2 → 1x4", "8卡x2 换成 1卡x4": number of cards and images of each, before and after. */
const MOVED = new RegExp(
  `(?<![\\d.x])${SETUP} ?(?:的?(?:配置|设置|方案)|recipe|setup)? ?(?:→|-{1,2}>|=>|换成|换到|改[成到为]|变成?|迁到|到|to|into) ?${SETUP}`,
  'g',
);

/** "官方 8x2", "the paper's 4x4": cards and the images of each, where no picture is that small. */
const BARE =
  /(?<![\d.x-])(\d{1,2})x(\d{1,2})(?![\dx.]| ?(?:张|块|卡|gpus?|cards?|px|像素|conv|kernel|卷积|pool|patch|grid|窗|tile|[a-z]?\d))/g;
/** Somebody's setup, or the person's own cards beside it. */
const TOLD = new RegExp(words('others', 'have'));

const NEEDS_EACH = /each|per (?:gpu|card)|\dxb\d/;
/** "8 GPUs, 1 image each", and the beginning of a configuration's name: "4xb4-80k". */
const CARDS_EACH =
  /(?<![\d.x])(\d{1,3}) ?(?:张|块)? ?(?:gpus?|cards?|卡)(?:,| with| at|:)? ?(\d{1,4}) ?(?:images?|imgs?|samples?|张图?)? ?(?:each|per (?:gpu|card))(?![a-z])|(?<![\d.a-z])(\d{1,3})xb(\d{1,4})(?![a-z\d])/g;

/** The first number counts cards and the second their images, or the other way round. */
function perCard({ groups, start, end }: Found, cardsFirst: boolean): Candidate<Batch> {
  const [first = 0, second = 0] = groups.filter((group) => group !== '').map(Number);
  const [gpus, size] = cardsFirst ? [first, second] : [second, first];
  return { value: { size, scope: 'per_gpu', gpus }, rank: 6, start, end };
}

/** Cards together with the images of each, surest wording first. */
export function readSetups(reading: Reading): readonly Candidate<Batch>[] {
  const moved = take(reading, MOVED).flatMap(({ groups, start, end }): readonly Candidate<Batch>[] => {
    const [from = 0, images = 0, gpus = 0, size = 0] = groups.map(Number);
    const left = { value: { size: images, scope: 'per_gpu', gpus: from }, rank: 6, start, end } as const;
    return [left, { value: { size, scope: 'per_gpu', gpus }, rank: 8, start: end, end }];
  });
  const told = NEEDS_EACH.test(reading.rest) ? take(reading, CARDS_EACH) : [];
  const times = [...take(reading, CARDS_TIMES), ...told].map((found) => perCard(found, true));
  const bare = TOLD.test(reading.text)
    ? take(reading, BARE).map((found) => ({ ...perCard(found, true), rank: 4 }))
    : [];
  return [...moved, ...times, ...bare, ...take(reading, TIMES_CARDS).map((found) => perCard(found, false))];
}

/** "从 4卡x4 换成单卡": the setup that is left says what total is to be kept. */
export function setupLeft(reading: Reading, setups: readonly Candidate<Batch>[]): Candidate<Batch> | null {
  const left = setups.find(({ start }) => /(?:从|由|from) ?$/.test(before(reading.text, start, 6)));
  return left !== undefined && /^[^,;.\n]{0,6}(?:换|改|变|到|迁|to|->)/.test(after(reading.text, left.end, 16))
    ? left
    : null;
}

/** A number of cards with the images of each that is told beside the wanted one: what is to be moved from. */
export function movedFrom(setups: readonly Candidate<Batch>[], { gpus, size }: Batch): Setup | undefined {
  if (gpus === undefined) return undefined;
  const other = setups.find(({ value }) => value.gpus !== gpus || value.size !== size)?.value;
  return other?.gpus === undefined ? undefined : { batchSize: other.size, gpus: other.gpus };
}

export interface Setup {
  readonly batchSize: number;
  readonly gpus: number;
}

import { after, before, find, type Reading } from './reading.ts';
import type { SlotName, Slots, UnderstandingContext } from './understanding.ts';

const NUMBER = /(?<![\d.a-z_/-])(\d{1,6}(?:\.\d{1,2})?)(?![\d.]*\d)(?![a-z%])/g;
/** The number counts something that no slot holds. */
const COUNTS_OTHER =
  /^ ?(?:g|gb|gib|mb|mib|%|倍|年|岁|号|点|个?月|个?小时|天|周|个?星期|分钟|秒|minutes?|seconds?|hours?|days?|weeks?|years?|版|step|步|轮|张图?放不下|th\b|nd\b|核|线程|个人|人|台|次|vcpu|cores?|workers?|fps|gib?|steps?)(?![a-z])/;
const LABEL_BEFORE =
  /(?:[a-z_]{2,} ?[=:]|第|torch|pytorch|cuda|python|v|version|版本|top|lr|seed|worker(?:s|数)?|num_workers|issue|#) ?$/;

/** "上面的 1024 写错了" */
const WRONG = /^ ?(?:是|也)?(?:写|打|说|记|搞|弄|填)错|^ ?(?:was|is) (?:wrong|a typo)/;

interface Bare {
  readonly value: number;
  readonly denied: boolean;
}

function bareNumbers(reading: Reading): readonly Bare[] {
  return find(reading, NUMBER)
    .filter(
      ({ start, end }) =>
        !COUNTS_OTHER.test(after(reading.rest, end, 10)) && !LABEL_BEFORE.test(before(reading.text, start, 12)),
    )
    .map(({ groups, start, end }) => ({
      value: Number(groups[0]),
      denied:
        /(?:不是|并非|\bnot|而不是|from|instead of)\s*$/.test(before(reading.text, start, 12)) ||
        WRONG.test(after(reading.text, end, 8)),
    }));
}

/** Smallest number that is read as pixels; below it a number is a batch size. */
const MIN_SIZE = 64;
const MAX_SIZE = 4096;
const TYPICAL_SIZE = (value: number): boolean =>
  value >= 96 &&
  value <= MAX_SIZE &&
  (value % 16 === 0 || (value >= 256 && value % 4 === 0) || (value - 1) % 8 === 0 || value % 50 === 0);

const DEPTHS = new Set([18, 34, 50, 101, 152]);

/** "不是 8，是 16": the slot that holds the denied number takes the other. */
function correction(denied: number, value: number, held: Slots): Slots | null {
  if (held.batchSize === denied) return { batchSize: value };
  if (held.imageHeight === denied || held.imageWidth === denied) return { imageHeight: value, imageWidth: value };
  if (held.gpus === denied) return { gpus: value };
  if (held.numClasses === denied) return { numClasses: value };
  return held.budget?.amount === denied ? { budget: { ...held.budget, amount: value } } : null;
}

const SQUARE = (side: number): Slots => ({ imageHeight: side, imageWidth: side });

const SMALLEST_SIDE = 16;

function answerTo(asked: SlotName | null, value: number, alone: boolean): Slots | null {
  switch (asked) {
    case 'imageHeight':
    case 'imageWidth':
      return Number.isInteger(value) && (alone || value >= SMALLEST_SIDE) ? SQUARE(value) : null;
    case 'batchSize':
      return Number.isInteger(value) && value <= 4096 ? { batchSize: value } : null;
    case 'gpus':
      return Number.isInteger(value) && value <= 1024 ? { gpus: value } : null;
    case 'numClasses':
      return Number.isInteger(value) ? { numClasses: value } : null;
    case 'budget':
      return { budget: { amount: value, currency: 'CNY' } };
    default:
      return null;
  }
}

const FOLLOW_UP = 40;
const ALONE = /^[^\da-z]{0,4}\d+[^\da-z]{0,4}$/;
const CORRECTS = /what (?:happens|if|about)|how about|改|换|错|不对|不是|oops|mean|sorry|actually|make it|instead|try/;
const SIZE_NOUN = /尺寸|分辨率|图片?大小|crop|裁|输入|resolution|image ?size|patch/;
const KILO = /(?<![\d.a-z])(\d{1,3}(?:\.\d)?)k(?![a-z\d])/g;

/** "8k 太多了，5k 吧": thousands beside a held budget of that magnitude. */
function readKilo(reading: Reading, said: Slots, { held, asked }: UnderstandingContext): Slots {
  const amount = Number(find(reading, KILO).at(-1)?.groups[0]) * 1000;
  if (said.budget !== undefined || !(amount > 0)) return {};
  const { iterations, budget } = held;
  if (distance(amount, iterations) < Math.min(LIKELY_FACTOR, distance(amount, budget?.amount)) && asked === null)
    return { iterations: amount };
  if (held.budget !== undefined && amount > held.budget.amount / 20 && amount < held.budget.amount * 20)
    return { budget: { ...held.budget, amount } };
  if (asked === 'budget') return { budget: { amount, currency: 'CNY' } };
  const side = [1000, 2000, 4000].includes(amount) && said.imageHeight === undefined;
  return side && (asked === 'imageHeight' || said.model !== undefined || held.model !== undefined)
    ? SQUARE((amount / 1000) * 1024)
    : {};
}

const MEMORY_SAID = /^[^\d]{0,6}(\d{1,3}) ?(?:g|gb|gib)(?: ?显存)? ?(?:的|版本?|version|one|model)?[^\d]{0,6}$/;

/** "32G 的呢" beside a held card: the same card with other memory. */
function readMemory(reading: Reading, said: Slots, { held }: UnderstandingContext): Slots {
  const memoryGiB = Number(MEMORY_SAID.exec(reading.text)?.[1]);
  const gpu = held.gpu;
  if (!(memoryGiB > 0) || said.gpu !== undefined || gpu === undefined || !('name' in gpu)) return {};
  return { gpu: { ...gpu, memoryGiB } };
}

const PAIR = /(?<![\d.x/-])(\d{1,5})x(\d{1,5})(?![\d.x%]| ?(?:conv|kernel|卷积|pool|patch|窗|tile|张|块|卡|gpu|card))/;
const LARGE_SIDE = 128;

/** "8x8" where nothing but a size can be meant: kept, so that the answer can say what is possible. */
function readTinyPair(reading: Reading, said: Slots, { held, asked }: UnderstandingContext): Slots {
  const [height = 0, width = 0] = (PAIR.exec(reading.rest) ?? []).slice(1).map(Number);
  const free = said.imageHeight === undefined && said.gpus === undefined && height > 0 && width > 0;
  const batch = said.batchSize !== undefined && held.imageHeight === undefined;
  const sides = height === width || Math.max(height, width) >= LARGE_SIDE;
  return free && (asked === 'imageHeight' || (batch && said.model !== undefined && sides))
    ? { imageHeight: height, imageWidth: width }
    : {};
}

const SHORT_BATCH = /(?<![a-z\d_-])b(\d{1,3})(?![a-z\d_.-])/;

/** Patch sizes of transformers. */
const PATCHES: ReadonlySet<number> = new Set([8, 14, 16, 32]);

/** "fpn r50 768 b4": beside a ResNet it is no network's size, and no network has one of two digits. */
function readShortBatch({ text }: Reading, { batchSize, model, backbone = '' }: Slots): Slots {
  const short = batchSize === undefined && model !== undefined ? Number(SHORT_BATCH.exec(text)?.[1] ?? 0) : 0;
  const free = /^(?:res|hrnet|mobilenet)/.test(backbone) || (short > 9 && !PATCHES.has(short));
  return short > 0 && free ? { batchSize: short } : {};
}

/** A number without its slot: the answer to the question asked, a size by its magnitude, or another value of what is held. */
export function readBare(reading: Reading, said: Slots, context: UnderstandingContext): Slots {
  const bare = { ...readNumbers(reading, said, context), ...readShortBatch(reading, said) };
  return bare.imageHeight === undefined ? { ...bare, ...readTinyPair(reading, said, context) } : bare;
}

function readNumbers(reading: Reading, said: Slots, context: UnderstandingContext): Slots {
  const memory = readMemory(reading, said, context);
  if (memory.gpu !== undefined) return memory;
  const pieces = readPieces(reading, said, context);
  if (pieces.gpus !== undefined) return pieces;
  const numbers = bareNumbers(reading);
  const denied = numbers.find((number) => number.denied);
  const open = numbers.filter((number) => !number.denied);
  const last = open.at(-1);
  if (last === undefined) return readKilo(reading, said, context);
  const corrected = denied === undefined ? null : correction(denied.value, last.value, context.held);
  if (corrected !== null) return corrected;
  const short = reading.text.length <= FOLLOW_UP;
  const corrects = context.asked === 'budget' && CORRECTS.test(reading.text);
  const answer =
    short && !corrects && isOpen(said, context.asked)
      ? answerTo(context.asked, last.value, ALONE.test(reading.text))
      : null;
  if (answer !== null) return answer;
  const size = said.imageHeight === undefined ? readSide(reading, open, { said, context }) : {};
  const follow = readFollowUp(open, { ...said, ...size }, context);
  const rest = { ...size, ...follow, ...readLastNumber(reading, { ...said, ...size, ...follow }) };
  return short && Object.keys(rest).length === 0 ? readSum(open, said, context) : rest;
}

/** How far a number is from a held one; far where none is held. */
function distance(value: number, held: number | undefined): number {
  return held === undefined ? Number.POSITIVE_INFINITY : Math.abs(Math.log(value / held));
}

/** Times that a follow-up differs from what it replaces at most. */
const LIKELY_FACTOR = Math.log(10);

/** "64?" beside a batch of 32 and pictures of 512: the batch is nearer. */
function isNearBatch(value: number, { batchSize, imageHeight }: Slots): boolean {
  return value < MIN_SIZE * 4 && distance(value, batchSize) < Math.min(LIKELY_FACTOR, distance(value, imageHeight));
}

/** "8000 呢" beside a budget of 5000 a month: no side and no batch is that large. */
function readSum(open: readonly Bare[], said: Slots, { held }: UnderstandingContext): Slots {
  const [only, another] = open;
  if (only === undefined || another !== undefined || held.budget === undefined || Object.keys(said).length > 0)
    return {};
  const { value } = only;
  const other = TYPICAL_SIZE(value) || isNearBatch(value, held) || value < MIN_SIZE;
  return !other && distance(value, held.budget.amount) < LIKELY_FACTOR
    ? { budget: { ...held.budget, amount: value } }
    : {};
}

const LAST_CLAUSE = /[,;，] ?(\d{1,2}) ?[.!]? ?$/;

/** "unet++ effnet b4, 512, 8": what stands last, behind a network and a size, is the batch. */
function readLastNumber({ rest }: Reading, { model, imageHeight, batchSize }: Slots): Slots {
  const value = Number(LAST_CLAUSE.exec(rest)?.[1]);
  const open = model !== undefined && imageHeight !== undefined && batchSize === undefined;
  return open && value >= 1 ? { batchSize: value } : {};
}

function isOpen(said: Slots, asked: SlotName | null): boolean {
  return asked !== null && said[asked] === undefined;
}

interface Beside {
  readonly said: Slots;
  readonly context: UnderstandingContext;
}

/** "ADE20K 512", "segformer b1 512": a typical side beside a network or a data set. */
function readSide(reading: Reading, open: readonly Bare[], { said, context }: Beside): Slots {
  const speaksOfModel =
    said.model !== undefined ||
    said.backbone !== undefined ||
    said.dataset !== undefined ||
    context.held.model !== undefined ||
    said.batchSize !== undefined;
  const sizes = SIZE_NOUN.test(reading.text)
    ? ({ value }: Bare) => value >= 32
    : ({ value }: Bare) => TYPICAL_SIZE(value);
  const near = said.batchSize === undefined && open.length === 1 && reading.text.length <= FOLLOW_UP;
  const side = open.find((number) => sizes(number) && !(near && isNearBatch(number.value, context.held)))?.value;
  return side !== undefined && speaksOfModel ? SQUARE(side) : {};
}

/** "那 2 张呢", "2 of them": cards, where cards were spoken of and images were not counted per card. */
const PIECES = /(?<![\d.])(\d{1,3}) ?(?:[张块](?! ?(?:图|照片|样本|\/|每))|of (?:them|those|these)(?![a-z]))/;

function readPieces({ text }: Reading, said: Slots, { held, asked }: UnderstandingContext): Slots {
  const count = Number(PIECES.exec(text)?.[1]);
  const ofCards = (held.gpu !== undefined || held.gpus !== undefined) && held.batchScope !== 'per_gpu';
  const free = said.gpus === undefined && said.batchSize === undefined && asked !== 'batchSize';
  return count >= 1 && ofCards && free && text.length <= FOLLOW_UP ? { gpus: count } : {};
}

/** "2?", "sorry, 6", "and 2 on an A10" after a batch was held; "101 呢" after resnet50. */
function readFollowUp(open: readonly Bare[], said: Slots, { held }: UnderstandingContext): Slots {
  const near = ({ value }: Bare) => open.length === 1 && isNearBatch(value, held);
  const value = open.find((bare) => bare.value < MIN_SIZE || DEPTHS.has(bare.value) || near(bare))?.value;
  if (value === undefined || held.model === undefined) return {};
  if (
    DEPTHS.has(value) &&
    /^resnet\d/.test(held.backbone ?? '') &&
    value > 18 &&
    value !== 50 &&
    said.imageHeight === undefined
  )
    return { backbone: `resnet${value}` };
  const small = value < MIN_SIZE || open.some((bare) => bare.value === value && near(bare));
  const free = said.batchSize === undefined && Number.isInteger(value) && value >= 1 && small;
  return free && held.batchSize !== undefined ? { batchSize: value } : {};
}

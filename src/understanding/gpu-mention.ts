import { words } from './lexicon/lexicon.ts';
import { after, before, erase, find, outermost, type Reading, type Span, take } from './reading.ts';
import type { GpuMention } from './understanding.ts';
import { listedCards, migSlices, SLICED, unknownCards } from './unknown-cards.ts';
import type { Vocabulary } from './vocabulary.ts';

/** A card, an instance type or a bare memory size, with the number of them that stands beside it. */
export interface GpuSpan extends Span {
  readonly gpu: GpuMention;
  readonly count: number | null;
}

const INSTANCE =
  /\b(?:ecs\.)?((?:ebm|scc|hf|[scv])?g(?:n|p)\d[a-z]{0,3}(?:-[a-z0-9]{1,6}){0,2})\.(?:\d{0,3}x)?large\b/g;
const FAMILY = /\b(?:ecs\.)?((?:ebm|scc|hf|[scv])?gn\d[a-z]{0,3}(?:-(?:vws|tee|tdx))?)(?:-[a-z0-9]{1,6})?\b/g;
const SUFFIX = /^[\s-]?(?:super|ti|xtx?|ada)(?![a-z0-9])/;
const MEMORY_AFTER =
  /^s?(?:[\s-]*(?:sxm\d?|pcie|mig|laptop|notebook|mobile|max-?q|笔记本|移动版|显卡|卡))?[\s\-(/:@]*(?:(?:is|has|with|是|有|带)\s*)?(?:显存)?(\d{1,3}(?:\.\d{1,2})?) ?(?:g|gb|gib|gigs?)(?![a-wyz0-9]|x(?!\d))(?!\s*(?:of )?(?:ram|内存|system|host))/;
const MEMORY_BARE_AFTER = /^-(16|32|40|80)(?![\dx])/;
const MEMORY_BEFORE = /(?<![\d.x])(\d{1,3}(?:\.\d{1,2})?) ?(?:g|gb|gib|gigs?) ?(?:显存|版本?)? ?的? ?$/;
const OTHER_LINK = '(?:\\/|,? ?(?:和|跟|与|或者?|还是|对比|or|and|vs\\.?|versus)) ?(?:the |an? )?';
const SIZE_UNIT = '(?:g|gb|gib|gigs?)(?![a-wyz0-9]|x(?!\\d))';
/** "V100 16G 和 32G", "A100 40/80GB": the same card once more, with other memory. */
const SIZES_AFTER = new RegExp(
  `^[\\s\\-(]*的? ?(\\d{1,3})(?: ?${SIZE_UNIT}|(?= ?\\/)) ?的?版?本? ?${OTHER_LINK}(\\d{1,3}) ?${SIZE_UNIT}(?! ?(?:of )?的?(?:ram|内存|主存|system|host|ddr))`,
);
/** "16G 和 32G 的 V100" */
const SIZES_BEFORE = new RegExp(
  `(?<![\\d.x])(\\d{1,3}) ?${SIZE_UNIT} ?的? ?${OTHER_LINK}(\\d{1,3}) ?${SIZE_UNIT} ?(?:显存|版本?)? ?的? ?$`,
);
const LAPTOP = new RegExp(words('laptop'));
const LAPTOP_BEFORE = new RegExp(`${words('laptop')}[^a-z\\d,.;]{0,3}$`);
const COUNT_BEFORE =
  /(?:(?<![\d.,x=:])|(?<=(?:卡|gpus?|cards?|hardware|机器|设备|硬件|total) ?:))(\d{1,3}) ?(?:x|张|块|个|卡|台|片|路|枚|pcs|of (?:those|these)|of)? ?的? ?(?:nvidia|geforce|tesla)? ?$/;
const NOT_A_COUNT =
  /(?:(?:bs|batch(?:[ _-]?size)?|crop|size|尺寸|输入|classes|类|每卡|每张|[一1每][次批步](?:性)?(?:塞|喂|放|跑|送|进|吃)?|华[东南北中]|西南) ?:?|[=/]) ?(?:是|为|of|放)? ?$/;
const COUNT_AFTER = /^s? ?(?:x ?(\d{1,3})(?![\dx])|(\d{1,3}) ?(?:张|块|卡|个)(?! ?(?:\/|每|一|图))|\(?x(\d{1,2})\)?)/;
const SINGLE_AFTER = /^s? ?单(?:张|块)?卡/;
const SINGLE_LEAD = /(?:单张?|单块|(?:a |one )single|single|only one|just one|只有?一?1?[张块]) ?$/;
const DOUBLE_LEAD = /(?:双|一对|[俩两]|(?<![a-z])(?:dual|twin|a pair of)) ?(?:张|块|路|卡)?(?:的)? ?$/;
const DOUBLE_AFTER = /^s? ?(?:双|两张?)卡/;
/** A bare model number that belongs to something else. */
const OTHER_UNIT_AFTER = /^ ?(?:p\b|px|像素|元|块钱|张图|张图片|images?|steps?|步|iters?|epochs?|轮|类|x ?\d{3})/;
const OTHER_UNIT_BEFORE = /(?:¥|\$|预算|budget|\d{3,} ?x|size|尺寸|分辨率|crop) ?$|\d\.$/;

function plausible(memory: string): number | null {
  const value = Number(memory);
  return value >= 1 && value <= 300 ? value : null;
}

function memoryNear(text: string, { start, end }: Span): { readonly memoryGiB: number; readonly span: Span } | null {
  const tail = after(text, end, 24);
  const behind = MEMORY_AFTER.exec(tail) ?? MEMORY_BARE_AFTER.exec(tail);
  if (behind?.[1] !== undefined) {
    const memoryGiB = plausible(behind[1]);
    if (memoryGiB !== null) return { memoryGiB, span: { start: end, end: end + behind[0].length } };
  }
  const ahead = MEMORY_BEFORE.exec(before(text, start, 14));
  const memoryGiB = ahead?.[1] === undefined ? null : plausible(ahead[1]);
  return ahead === null || memoryGiB === null
    ? null
    : { memoryGiB, span: { start: start - ahead[0].length, end: start } };
}

function countNear(text: string, { start, end }: Span): { readonly count: number; readonly span: Span } | null {
  const tail = after(text, end, 12);
  const behind = COUNT_AFTER.exec(tail);
  if (behind !== null)
    return { count: Number(behind[1] ?? behind[2] ?? behind[3]), span: { start: end, end: end + behind[0].length } };
  for (const [pattern, count] of [
    [SINGLE_AFTER, 1],
    [DOUBLE_AFTER, 2],
  ] as const) {
    const match = pattern.exec(tail);
    if (match !== null) return { count, span: { start: end, end: end + match[0].length } };
  }
  const lead = before(text, start, 16);
  const ahead = COUNT_BEFORE.exec(lead);
  if (ahead?.[1] === undefined) {
    const count = SINGLE_LEAD.test(lead) ? 1 : DOUBLE_LEAD.test(lead) ? 2 : null;
    return count === null ? null : { count, span: { start, end: start } };
  }
  const count = Number(ahead[1]);
  if (count < 1 || count > 64 || NOT_A_COUNT.test(lead.slice(0, ahead.index))) return null;
  return { count, span: { start: start - ahead[0].length, end: start } };
}

interface TwoSizes extends Span {
  readonly sizes: readonly [number, number];
}

/** Two memory sizes of one card that stand side by side at its name. */
function twoSizes(text: string, { start, end }: Span): TwoSizes | null {
  const behind = SIZES_AFTER.exec(after(text, end, 40));
  const ahead = behind === null ? SIZES_BEFORE.exec(before(text, start, 40)) : null;
  const [all = '', one = '', other = ''] = behind ?? ahead ?? [];
  const [first, second] = [plausible(one), plausible(other)];
  if (first === null || second === null || first === second) return null;
  const from = behind === null ? start - all.length : end;
  return { start: from, end: from + all.length, sizes: [first, second] };
}

interface Named extends Span {
  readonly name: string;
  readonly laptop: boolean;
}

function named(reading: Reading, vocabulary: Vocabulary): readonly Named[] {
  const known = outermost(vocabulary.gpus.find(reading.rest))
    .filter((mention) => /[a-z]/.test(mention.key) || isCardNumber(reading, mention))
    .map(({ start, end, value }): Named => {
      const suffix = SUFFIX.exec(after(reading.rest, end, 8));
      if (suffix === null) return { start, end, ...value };
      return {
        start,
        end: end + suffix[0].length,
        name: reading.text.slice(start, end + suffix[0].length),
        laptop: false,
      };
    });
  erase(reading, known);
  const unknown = unknownCards(reading, (found) => /[a-z]/.test(found.all) || isCardNumber(reading, found));
  const cards = [...known, ...unknown.map((card) => ({ ...card, laptop: false }))];
  const others = listedCards(reading, cards).map((card) => ({ ...card, laptop: false }));
  return [...cards, ...others].sort((a, b) => a.start - b.start);
}

function isCardNumber(reading: Reading, { start, end }: Span): boolean {
  return (
    !OTHER_UNIT_AFTER.test(after(reading.text, end, 8)) && !OTHER_UNIT_BEFORE.test(before(reading.text, start, 10))
  );
}

function describe(reading: Reading, card: Named): readonly GpuSpan[] {
  const two = twoSizes(reading.rest, card);
  if (two === null) return [describeOne(reading, card)];
  const { name } = card;
  const named = { start: Math.min(card.start, two.start), end: Math.max(card.end, two.end) };
  const count = countNear(reading.rest, named);
  erase(reading, [two, ...(count === null ? [] : [count.span])]);
  const span = { start: Math.min(named.start, count?.span.start ?? named.start), end: named.end };
  return two.sizes.map((memoryGiB) => ({ ...span, gpu: { name, memoryGiB }, count: count?.count ?? null }));
}

function describeOne(reading: Reading, card: Named): GpuSpan {
  const memory = memoryNear(reading.rest, card);
  const body =
    memory === null
      ? card
      : { start: Math.min(card.start, memory.span.start), end: Math.max(card.end, memory.span.end) };
  const count = countNear(reading.rest, body) ?? countNear(reading.rest, card);
  const laptop =
    card.laptop &&
    (LAPTOP_BEFORE.test(before(reading.text, card.start)) || LAPTOP.test(after(reading.text, card.end, 14)));
  const spans = [...(memory === null ? [] : [memory.span]), ...(count === null ? [] : [count.span])];
  erase(reading, spans);
  const gpu = {
    name: laptop ? `${card.name} Laptop` : card.name,
    ...(memory === null ? {} : { memoryGiB: memory.memoryGiB }),
  };
  return {
    start: Math.min(card.start, ...spans.map((span) => span.start)),
    end: Math.max(card.end, ...spans.map((span) => span.end)),
    gpu,
    count: count?.count ?? null,
  };
}

/** 24G 的卡, a 12 GB card, 8GB gpu, 显存只有 8G: a card known by its memory alone. */
const MEMORY_ONLY =
  /(?:(?<![\d.x])(\d{1,3}) ?(?:张|块|个|x) ?)?(?<![\d.])(\d{1,3}(?:\.\d{1,2})?) ?-?(?:g|gb|gib|gigs?) ?(?:(?:v?ram|显存|memory|of v?ram) ?)?(?:的)? ?(?:显卡|独显|卡(?!上跑了)|gpus?\b|cards?\b|graphics card)|(?:显存|v?ram|(?<!每[张块]?)卡|(?:my|our) (?:gpu|card)) ?(?:只有|就|是|有|为|大小|is|has|:|=) ?(?:only )?(\d{1,3}(?:\.\d{1,2})?) ?(?:g|gb|gib)(?![a-z0-9])|(?<=(?:^|[,.;\n]) ?)显存 ?(\d{1,3}(?:\.\d{1,2})?) ?(?:g|gb|gib)(?=\s*[,.;\n])|(?:只有|就|我有|手上有|手头有|have|only have|got) ?(\d{1,3}(?:\.\d{1,2})?) ?(?:g|gb|gib) ?(?:的)? ?(?:显存|v?ram)/g;
/** "8 x 24GB": cards by their number and memory; sticks of host memory are no cards. */
const COUNTED_MEMORY =
  /(?<![\d.x])(\d{1,2}) ?x ?(\d{1,3}) ?(?:g|gb|gib)(?![a-z/])(?! ?(?:的)?(?:ddr|ram|内存|host|system))/g;
/** "24G 够吗", "is 16 GB enough", "fits in 12GB": the memory that somebody has, without the word card. */
const MEMORY_ENOUGH =
  /(?<![\d.])(\d{1,3}) ?(?:g|gb|gib)(?: ?(?:的)?(?:显存|v?ram|gpu memory|memory))? ?(?:以内|以下|之内)? ?(?:够|能(?:跑|训|放|塞|装|不能)|[放塞装]得[下进]|跑得动|行不行|行吗|可以吗|悬|(?:is )?enough|ok\?|suffic)|\b(?:is|are|will|would) (\d{1,3}) ?(?:g|gb|gib)(?: of (?:v?ram|memory))? (?:enough|ok|okay|sufficient|be enough|do|fine)|\b(?:fit(?:s|ting)?|fit it|go(?:es)?|run|train|squeeze it) (?:in|into|on|with|within) (\d{1,3}) ?(?:g|gb|gib|gigs?)(?![a-z])|[塞装放挤][得不]?[进下](?:去|到)? ?(\d{1,3}) ?(?:g|gb|gib)(?![a-z])|\bmore than (\d{1,3}) ?(?:g|gb|gib)(?: of v?ram)?(?= ?\?)|(?:超过|超出|大于) ?(\d{1,3}) ?(?:g|gb|gib) ?(?:显存)?(?=[吗么?])|\b(?:in|into|inside|within) (\d{1,3}) ?(?:g|gb|gib)(?![a-z])(?<=(?:squeeze|cram|fit)[^,.;?\n]{0,60})(?! ?(?:of )?(?:ram|host|system|ddr))|\b(?:with|on|have|having|got|i've|we've)(?: only| just| an?)? (\d{1,3}) ?(?:g|gb|gib)(?= ?(?:of v?ram|v?ram|gpu memory)?(?:[\s,.;?!]|$))(?! ?(?:of )?(?:ram|memory|host|system|ddr|data|images|disk|swap|free|in use))/g;

const SINGLE_BEFORE = /(?:单张?|single|one|an?|1张|my|我的) ?$/;

function countedMemory(reading: Reading): readonly GpuSpan[] {
  return take(reading, COUNTED_MEMORY).flatMap(({ start, end, groups }) => {
    const memoryGiB = plausible(groups[1] ?? '');
    return memoryGiB === null ? [] : [{ start, end, gpu: { memoryGiB }, count: Number(groups[0]) }];
  });
}

function memoryOnly(reading: Reading): readonly GpuSpan[] {
  return take(reading, MEMORY_ONLY).flatMap(({ start, end, groups }) => {
    const memoryGiB = plausible(groups.slice(1).find((group) => group !== '') ?? '');
    if (memoryGiB === null) return [];
    const single =
      /(?:单张?|single|1张) ?$/.test(before(reading.text, start, 8)) &&
      SINGLE_BEFORE.test(before(reading.text, start, 8));
    const count = groups[0] === '' || groups[0] === undefined ? (single ? 1 : null) : Number(groups[0]);
    return [{ start, end, gpu: { memoryGiB }, count }];
  });
}

function memoryEnough(reading: Reading): readonly GpuSpan[] {
  return take(reading, MEMORY_ENOUGH).flatMap(({ start, end, groups }) => {
    const memoryGiB = plausible(groups.find((group) => group !== '') ?? '');
    return memoryGiB === null ? [] : [{ start, end, gpu: { memoryGiB }, count: null }];
  });
}

/** What "10G 显存" alone leaves open, as typed: memory that is there, or memory that is needed. */
export function unclearMemory(reading: Reading): string | null {
  const found = find(reading, /(?<![\d.])\d{1,3} ?(?:g|gb|gib) ?(?:的)?(?:显存|v?ram)/g)[0];
  if (
    found === undefined ||
    /(?:要|需|占|吃|用了?|花|约|左右|多|need|take|use|about|see|over|at)[^,.;]{0,6}$/.test(
      before(reading.text, found.start, 10),
    )
  )
    return null;
  return found.all;
}

function instances(reading: Reading): readonly GpuSpan[] {
  const types = take(reading, INSTANCE).map(({ start, end, all }): GpuSpan => {
    return { start, end, count: null, gpu: { instance: all.startsWith('ecs.') ? all : `ecs.${all}` } };
  });
  const families = take(reading, FAMILY).map(({ start, end, groups }): GpuSpan => {
    return { start, end, count: null, gpu: { family: groups[0] ?? '' } };
  });
  return [...types, ...families];
}

const CLAIM_REACH = 18;
const SAID_OF =
  /^[\s,]*(?:里面?|卡|实例|机器)?\s*(?:应该|不|就|好像|都)?(?:是|=|用的?是?|is|are|has|have|means|comes? with|carr(?:y|ies)|uses?|带|配)/;
/** "is gn6i a T4", "does gn7i have A10s" */
const ASKED_OF = /^ ?(?:an?|the|have|use|carry|come with|based on|made of)? ?(?:an? )?(?:nvidia )?$/;
const ASKS_OF = /(?:^|[\s,.])(?:is|are|does|do|has) (?:the |an? |ecs\.)?$/;

/** "gn6v 是 P100": a claim about a family names its card, it does not choose one. */
function isClaim(reading: Reading, span: Span, families: readonly GpuSpan[]): boolean {
  return families.some((family) => {
    const between = reading.text.slice(family.end, span.start);
    if (family.end > span.start || between.length > CLAIM_REACH) return false;
    const asked = ASKS_OF.test(before(reading.text, family.start)) && ASKED_OF.test(between);
    return asked || SAID_OF.test(between);
  });
}

export interface GpuReading {
  readonly mentions: readonly GpuSpan[];
  /** Cards that a claim about a family names. */
  readonly claimed: readonly (Span & { readonly name: string })[];
}

/** Every card, instance type, family and bare memory size of a message, in order. */
export function readGpuMentions(reading: Reading, vocabulary: Vocabulary): GpuReading {
  const slices = migSlices(reading).map((slice): GpuSpan => ({ ...slice, count: null }));
  const machines = instances(reading);
  const cards = named(reading, vocabulary).filter(({ name }) => slices.length === 0 || !SLICED.test(name));
  const claimed = cards.filter((card) => isClaim(reading, card, machines));
  const described = cards.filter((card) => !claimed.includes(card)).flatMap((card) => describe(reading, card));
  const bare = [...memoryOnly(reading), ...countedMemory(reading), ...memoryEnough(reading)];
  const mentions = [...slices, ...machines, ...described, ...bare].sort((a, b) => a.start - b.start);
  return { mentions, claimed };
}

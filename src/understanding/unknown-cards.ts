import { type Found, type Reading, type Span, take } from './reading.ts';
import type { GpuMention } from './understanding.ts';

interface CardName extends Span {
  readonly name: string;
}

interface CardSlice extends Span {
  readonly gpu: GpuMention;
}

/** Cards of no table, held as typed. */
const UNKNOWN_CARD =
  /\b(?:(?:nvidia )?(?:geforce )?(?:rtx|gtx|quadro|tesla|titan|radeon(?: rx)?|instinct|ascend|mlu|mx) ?-?[a-z]?\d{2,4}[a-z]?(?:[\s-]?(?:ti|super|xt|xtx|max-?q|ada))?|(?:10[5-8]0|16[5-6]0|20[6-8]0|30[5-9]0|40[5-9]0|50[5-9]0) ?(?:ti|super|m)?(?![\d%]))\b|\b(?:mi\d{2,3}[ax]?|mx\d{3}|gtx ?titan ?x?|titan ?(?:v|xp?)|b[123]00|g[bh][23]00|t[1468]00|t1[02]00|cmp ?\d{2,3}hx|(?:habana )?gaudi ?\d?|rx ?\d{4}(?: ?xtx?)?|(?:apple )?m[1-5] (?:pro|max|ultra)|apple m[1-5]|(?:nvidia )?jetson(?:[ -](?:orin|xavier|agx|nano|nx|thor|tx\d|super))*|(?:intel )?arc [ab]\d{3}|tpu(?: ?v?\d[a-z]?)?|dgx spark|gb10)\b|(?:昇腾|寒武纪|海光|摩尔线程|天数智芯|壁仞) ?[a-z]{0,4}\d{0,4}[a-z]?/g;
/** A word of no table with memory on it, "Foo9000 24G": letters and a number, as cards are called. */
const CARD_WITH_MEMORY =
  /(?<![a-z\d.\-_=])(?!(?:bs|lr|ep|epochs?|iters?|steps?|fp|bf|int|tf|crop|size|img|images?|input|batch|v?ram|voc|ade|coco|bdd|isic|nyu|kitti|torch|cuda|cudnn|python|ubuntu|seed|top|os|level|depth|layers?|dim|d|x|b|r) ?-?\d)[a-z]{1,10}-?\d{2,5}[a-z]{0,3}(?=[ \-(]{0,2}\d{1,3} ?(?:g|gb|gib)(?![a-z\d])(?! ?(?:of )?的?(?:ram|内存|主存|system|host|ddr|disk|硬盘|data|数据)))/g;
/** A letter or two and a number, as cards are called; batches, rates and networks are not. */
const LIKE_A_CARD = /(?<![a-z\d.-])(?!(?:bs|lr|ep|[brx])\d)[a-z]{1,2}-?\d{2,4}[a-z]?(?![a-z\d.-])/g;
const NEXT_IN_LIST = /^ ?(?:[,/、]|(?:, ?)?(?:和|跟|与|或者?|还是|or|and|vs\.?|versus)) ?(?:the |an? )?$/;
const CHOICE = /或|还是|or|vs|versus/;

/** Cards that no table has, by the makers' names, or by the memory that stands on them. */
export function unknownCards(reading: Reading, isCard: (found: Found) => boolean): readonly CardName[] {
  return [...take(reading, UNKNOWN_CARD, isCard), ...take(reading, CARD_WITH_MEMORY)].map(({ start, end, all }) => ({
    start,
    end,
    name: all.trim(),
  }));
}

/** "4090, V620 or A10": what is chosen among cards is a card too, though no table has it. */
export function listedCards(reading: Reading, cards: readonly Span[]): readonly CardName[] {
  if (cards.length === 0) return [];
  const isNext = (link: string | null): boolean => link !== null && NEXT_IN_LIST.test(link);
  return take(reading, LIKE_A_CARD, ({ start, end }) => {
    const between = (from: number, to: number): string | null =>
      from <= to && to - from <= 16 ? reading.text.slice(from, to) : null;
    const links = cards.flatMap((card) => [between(card.end, start) ?? between(end, card.start)].filter(isNext));
    return links.length > 1 || links.some((link) => CHOICE.test(link ?? ''));
  }).map(({ start, end, all }) => ({ start, end, name: all }));
}

/** Profiles of NVIDIA's multi-instance GPUs, seventh parts of a card: "3g.20gb" has 20 GB of it. */
const MIG_PROFILE = /(?<![a-z\d.])(\d)g\.(\d{1,3})gb(?:\+[a-z.]+)?(?![a-z\d])/g;
/** Cards that are cut into such slices: beside one, their name says whose slice it is. */
export const SLICED = /^(?:A30|A100|A800|H20|H100|H200|H800|B200|GH200|GB200)(?![a-z\d])/i;

export function migSlices(reading: Reading): readonly CardSlice[] {
  return take(reading, MIG_PROFILE).map(({ start, end, groups: [parts, memory] }) => {
    return { start, end, gpu: { name: `MIG ${parts}g.${memory}gb`, memoryGiB: Number(memory) } };
  });
}

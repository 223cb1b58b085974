import { type Candidate, choose, isDenied, ownOnly } from '../candidates.ts';
import type { GpuSpan } from '../gpu-mention.ts';
import { words } from '../lexicon/lexicon.ts';
import { before, clauseOf, type Reading, take } from '../reading.ts';
import type { GpuMention, Slots } from '../understanding.ts';
import type { Vocabulary } from '../vocabulary.ts';

const COUNT_RULES: readonly { readonly pattern: RegExp; readonly count?: number; readonly rank: number }[] = [
  // the launcher's last argument
  { pattern: /dist_(?:train|test)\.sh [^\s]{1,200} (\d{1,3})(?![\d.])/g, rank: 8 },
  // "8 gpus originally, I've 2": of what was counted before
  {
    pattern:
      /(?<=(?:gpus?|cards?|卡)[^;\n]{0,40}(?:i|we)(?:'ve| have)(?: only| just| got)? )(\d{1,2})(?=\s*(?:$|[,.;?!]))/g,
    rank: 5,
  },
  {
    pattern:
      /(?:总共|一共|合计|总计|共|total(?: of)?) ?(?:是|有|用)? ?(\d{1,4}) ?(?:张|块|个)? ?(?:显卡|卡|gpus?|cards?)(?![a-z])/g,
    rank: 7,
  },
  {
    pattern:
      /(?:卡数|(?:显卡|gpu) ?(?:的)?(?:数量?|个数)|number of (?:gpus|cards)|gpu count)(?: |[:=是为到改换成加减降]|to|is){0,6}(\d{1,4})/g,
    rank: 7,
  },
  {
    pattern:
      /(?<![每单张块一1]|per )(?:显?卡|gpus?|cards?) ?(?:数|总共|一共|现在|目前|就|只|也)?(?:有|是|为|剩|要|得|用|减到|降到|减成|加到|增加到|加成|改成|改为|换成|:|=) ?(\d{1,3}) ?(?:张|块|个)(?! ?图)/g,
    rank: 6,
  },
  {
    pattern:
      /--?(?:nproc[-_]per[-_]node|num[-_]processes|num[-_]gpus|n[-_]?gpus?|gpus|devices|world[-_]size)[= ] ?(\d{1,4})/g,
    rank: 8,
  },
  {
    pattern: /\b(?:num_gpus|n_gpus?|ngpus?|gpus|devices|world_size|gpu_num|num_devices)["']? ?[=:]? ?(\d{1,4})(?!\d)/g,
    rank: 7,
  },
  {
    pattern: /(?<![\d.x/])(\d{1,3}) ?(?:张|块|个|x)? ?(?:显|gpu)?卡(?! ?(?:图|能?放|能?塞|能?跑几|x ?\d))/g,
    rank: 5,
  },
  {
    pattern: /(?<![\d.x/])(\d{1,3})[ -]?(?:x ?)?(?:nvidia\s)?(?:gpus?|cards?|graphics cards?|boards?)(?![a-z_]| ?=)/g,
    rank: 5,
  },
  { pattern: /(?<![\d.x/])(\d{1,3}) ?(?:张|块|个) ?gpus?/g, rank: 5 },
  {
    pattern:
      /单机单卡|单张?(?:显)?卡|单(?:块|个|张)(?:显卡|gpu)?|单gpu|\bsingle[- ](?:gpu|card)\b|\b(?:just|only) (?:1|one) (?:gpu|card)\b/g,
    count: 1,
    rank: 4,
  },
  {
    pattern: /双(?:显)?卡|双路|双gpu|俩卡|\bdual[- ](?:gpu|card)s?\b|\b(?:both|a pair of) (?:gpus|cards)\b/g,
    count: 2,
    rank: 4,
  },
];

const NODES =
  /(?<![\d.x])(\d{1,3}) ?(?:台?机器?|台|nodes?|machines?) ?(?:,|x|with|each|每台|共)? ?(?:每台|每机|x)? ?(\d{1,2}) ?(?:卡|张卡|gpus?|cards?)/g;
/** "2 nodes with 8 V100s each": the cards of one node stand elsewhere. */
const NODES_ALONE =
  /(?<![\d.])(\d{1,3}) (?:nodes?|machines?|servers?) (?:with|of|x|each)|(?<![\d.])(\d{1,3}) ?台(?:机器|服务器)?,? ?每台/;
/** CUDA_VISIBLE_DEVICES=0,1, GPUS: (0,1,2,3) */
const VISIBLE =
  /(?:cuda_visible_devices ?= ?["']?|\b(?:gpus|gpu_ids?|devices?) ?[=:] ?["'([]{0,2}(?=\d+ ?, ?\d))(\d+(?: ?, ?\d+)*)/g;
/** "再加一张卡", "每张卡", "第 2 张卡": no count of what is used. */
const NOT_COUNTED = /(?:再加|多加|加|增加|每|第|another|extra|多买|再买|more|任意|哪) ?$/;

/** "on -1 GPUs", "0 张卡": kept, so that the answer can say what is possible. A dash that begins a line is no sign. */
const IMPOSSIBLE =
  /(?<=[a-z] |[\u4e00-\u9fff,] ?)(-\d{1,3}|0) ?(?:张|块|个)? ?(?:显?卡|gpus|cards)(?![a-z_]| ?=)|^(-\d{1,3}|0) ?(?:(?:张|块|个) ?(?:显?卡|gpus?)|gpus|cards)$/g;

function readCounts(reading: Reading): readonly Candidate<number>[] {
  const impossible = take(reading, IMPOSSIBLE).map(({ start, end, groups }) => {
    return { value: Number(groups.find((group) => group !== '')), start, end, rank: 4 };
  });
  const visible = take(reading, VISIBLE).map(({ start, end, groups }) => ({
    value: (groups[0] ?? '').split(',').length,
    start,
    end,
    rank: 7,
  }));
  const nodes = take(reading, NODES).map(({ start, end, groups }) => ({
    value: Number(groups[0]) * Number(groups[1]),
    start,
    end,
    rank: 7,
  }));
  const plain = COUNT_RULES.flatMap(({ pattern, count, rank }) =>
    take(reading, pattern, ({ start }) => !NOT_COUNTED.test(before(reading.text, start, 8))).map(
      ({ start, end, groups }) => ({
        value: count ?? Number(groups[0]),
        start,
        end,
        rank,
      }),
    ),
  );
  const counts = [...visible, ...nodes, ...plain].filter(({ value }) => value >= 1 && value <= 4096);
  return [...impossible, ...counts];
}

function nodesOf(text: string): number {
  const found = NODES_ALONE.exec(text);
  return Number(found?.[1] ?? found?.[2] ?? 1);
}

const LIST_LINK =
  /^[\s,/&、+]*(?:和|或者?|还是|跟|与|以及|or|and|vs\.?|versus|对比|,)?[\s,/&、+]*(?:an? |the |用|换)?\s*$/;
const PLAIN_AND = /^\s*$/;
const COMPARES = new RegExp(words('compare'));

function sameCard(left: GpuMention, right: GpuMention): boolean {
  if (left.name !== undefined && right.name !== undefined) {
    return (
      left.name === right.name &&
      (left.memoryGiB === undefined || right.memoryGiB === undefined || left.memoryGiB === right.memoryGiB)
    );
  }
  return left.family !== undefined && left.family === right.family;
}

/** "V100 … 32G 的卡": a bare memory size completes the card that was named before it. */
function mergeMentions(mentions: readonly GpuSpan[]): readonly GpuSpan[] {
  const merged: GpuSpan[] = [];
  for (const mention of mentions) {
    const twin = merged.findIndex((one) => sameCard(one.gpu, mention.gpu));
    const known = merged[twin];
    if (known === undefined) merged.push(mention);
    else merged[twin] = { ...known, gpu: { ...known.gpu, ...mention.gpu }, count: known.count ?? mention.count };
  }
  return merged;
}

/** Cards that are named side by side ("T4 和 V100", "A10 vs L20") are meant together. */
function listed(reading: Reading, mentions: readonly GpuSpan[]): readonly GpuSpan[] | null {
  const linked = mentions.every((mention, index) => {
    const next = mentions[index + 1];
    if (next === undefined) return true;
    // one name with two memory sizes
    if (next.start === mention.start) return true;
    const between = reading.text.slice(mention.end, next.start);
    return LIST_LINK.test(between) && !PLAIN_AND.test(between);
  });
  const compared =
    COMPARES.test(reading.text) &&
    mentions.every(({ gpu }) => gpu.name !== undefined || gpu.instance !== undefined || gpu.family !== undefined);
  return mentions.length > 1 && (linked || compared) ? mentions : null;
}

/** "除了 T4 和 V100", "no T4s or V100s": what is linked to a denied card is denied with it. */
function withoutDenied(reading: Reading, mentions: readonly GpuSpan[]) {
  const kept: GpuSpan[] = [];
  const avoided: string[] = [];
  let denied: GpuSpan | null = null;
  let refused = false;
  for (const mention of mentions) {
    const linked = denied !== null && LIST_LINK.test(reading.text.slice(denied.end, mention.start));
    if (!linked && !isDenied(reading, mention)) {
      kept.push(mention);
      continue;
    }
    if (!linked) refused = REFUSED.test(before(reading.text, mention.start));
    denied = mention;
    if (refused && mention.gpu.name !== undefined) avoided.push(mention.gpu.name);
  }
  return { kept, avoided };
}

/** Put right ("不是 A10，是 L20") is not the same as refused. */
const REFUSED =
  /(?:不(?:要|想要|想用|考虑|用)|别\S{0,4}|除(?:了|开|去)|避开|排除|without|avoid(?:ing)?|except(?: for)?|but|other than|no|don'?t (?:want|use|like)(?: an?| the)?)\s*$/;

const OWN = new RegExp(words('have'));
const OTHERS = new RegExp(words('others'));
const PER_CARD = /每(?:张|块)?(?:显)?卡|per[- ]?(?:gpu|card)|\/ ?(?:gpu|card|卡)/;

/** "官方每卡 1 张跑 8 张 V100，我用 2 张 A100": the 8, beside the batch that their cards take. */
export function countOfOthers(reading: Reading, mentions: readonly GpuSpan[]): number | undefined {
  const theirs = mentions.find((mention) => {
    const clause = clauseOf(reading.text, mention);
    return mention.count !== null && OTHERS.test(clause) && !OWN.test(clause) && PER_CARD.test(clause);
  });
  return theirs?.count ?? undefined;
}

const COUNT_SAID = /(\d{1,3}) ?(?:张|块|个)? ?(?:显?卡|gpus?|cards?)/;
const CLAUSES = /[,;!?()\n]|\.(?=\s|$)/;

/** "官方 8 卡 bs 2": the number of cards in the clause that tells what others do, where no card is named. */
export function plainCountOfOthers({ text }: Reading, batch: number | undefined): number | undefined {
  if (batch === undefined) return undefined;
  const theirs = text
    .split(CLAUSES)
    .find((clause) => OTHERS.test(clause) && !OWN.test(clause) && COUNT_SAID.test(clause));
  if (theirs === undefined) return undefined;
  const count = Number(COUNT_SAID.exec(theirs)?.[1]);
  return count > 1 && new RegExp(`(?<!\\d)${batch}(?!\\d)`).test(theirs) ? count : undefined;
}

/** More cards than any message is about: a pasted list repeats itself, and the question stands behind it. */
const MOST_MENTIONS = 64;

/** Cards and their number. One card, or the list where several are compared. */
export function readGpus(reading: Reading, found: readonly GpuSpan[]): Pick<Slots, 'gpu' | 'gpus' | 'owned' | 'avoid'> {
  const { kept: mentions, avoided } = withoutDenied(reading, found.slice(-MOST_MENTIONS));
  const counts = [
    ...mentions.flatMap(({ count, start, end }) => (count === null ? [] : [{ value: count, start, end, rank: 5 }])),
    ...readCounts(reading),
  ];
  const perNode = choose(reading, ownOnly(reading, counts))?.value;
  const gpus =
    perNode === undefined ? undefined : perNode * (counts.some(({ rank }) => rank === 7) ? 1 : nodesOf(reading.text));
  const cards = mergeMentions(mentions);
  const together = listed(reading, cards);
  const chosen =
    together === null
      ? choose(
          reading,
          cards.map((card) => ({ value: card.gpu, start: card.start, end: card.end, rank: rankOf(card.gpu) })),
        )
      : null;
  const counted = together === null ? null : countedCards(together);
  const gpu = counted ?? together?.map((card) => card.gpu) ?? chosen?.value;
  const clause = chosen === null ? '' : clauseOf(reading.text, chosen);
  const owned = chosen !== null && OWN.test(clause) && !OTHERS.test(clause);
  return {
    ...(gpu === undefined ? {} : { gpu }),
    ...(gpus === undefined || counted !== null ? {} : { gpus }),
    ...(owned ? { owned } : {}),
    ...(avoided.length === 0 ? {} : { avoid: [...new Set(avoided)] }),
  };
}

/** "2×A10 or 1×A100": each card with its own number; null where no two numbers differ. */
function countedCards(cards: readonly GpuSpan[]): readonly GpuMention[] | null {
  if (new Set(cards.map(({ count }) => count)).size < 2 || cards.some(({ count }) => count === null)) return null;
  return cards.map(({ gpu, count }) => (count === null ? gpu : { ...gpu, count }));
}

function rankOf(gpu: GpuMention): number {
  return gpu.name !== undefined || gpu.instance !== undefined || gpu.family !== undefined ? 5 : 3.5;
}

interface CardContext {
  readonly held: Slots;
  readonly vocabulary: Vocabulary;
}

interface PastedCard {
  readonly cardGiB: number | null;
  readonly cardName: string | null;
}

const isList = (gpu: GpuMention | readonly GpuMention[]): gpu is readonly GpuMention[] => Array.isArray(gpu);

/** The card that a message prints completes the one that was named, or stands for it. */
export function attachCard(slots: Slots, { cardGiB, cardName }: PastedCard, { held, vocabulary }: CardContext): Slots {
  if (slots.gpu !== undefined && isList(slots.gpu)) return slots;
  if (cardGiB === null) return completeHeld(slots, held);
  const memoryGiB = Math.round(cardGiB * 100) / 100;
  const printed = cardName === null ? undefined : vocabulary.gpus.find(cardName.toLowerCase())[0]?.value.name;
  const heldGpu = held.gpu === undefined || isList(held.gpu) ? undefined : held.gpu;
  const known =
    slots.gpu ?? (heldGpu?.memoryGiB === undefined || Math.abs(heldGpu.memoryGiB - cardGiB) < 2 ? heldGpu : undefined);
  const name = known?.name ?? printed;
  return { ...slots, gpu: { ...known, ...(name === undefined ? {} : { name }), memoryGiB } };
}

/** Cards that exist with several memory sizes: "是 32G 的" completes a held V100. */
const SIZES_OF: Readonly<Record<string, readonly number[]>> = {
  V100: [16, 32],
  A100: [40, 80],
  H20: [96, 141],
  A800: [40, 80],
};

function completeHeld(slots: Slots, held: Slots): Slots {
  const said = slots.gpu;
  const before = held.gpu;
  if (said === undefined || isList(said) || before === undefined || isList(before)) return slots;
  const bareMemory =
    said.name === undefined && said.instance === undefined && said.family === undefined ? said.memoryGiB : undefined;
  const fits = bareMemory !== undefined && SIZES_OF[before.name ?? '']?.includes(bareMemory) === true;
  return fits ? { ...slots, gpu: { ...before, memoryGiB: bareMemory } } : slots;
}

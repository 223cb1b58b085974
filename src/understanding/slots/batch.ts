import { type Candidate, choose } from '../candidates.ts';
import { after, before, type Found, type Reading, take } from '../reading.ts';
import type { Slots } from '../understanding.ts';

type Scope = 'per_gpu' | 'total' | undefined;

interface Batch {
  readonly size: number;
  readonly scope: Scope;
  readonly gpus?: number;
}

const MAX_BATCH = 65_536;
const NUMBER = '(\\d{1,5})(?![\\d.]*\\d|k\\b|\\s?x\\s?\\d{3}|\\s?%|\\s?(?:g|gb|gib|mb)\\b)';
/** batch, batch size, batchsize, bs, 批大小 and the usual slips of the fingers. */
export const BATCH_WORD =
  '(?:(?:mini|micro)?[- _]?(?:batch|bacth|batchs|bathc|btach|bach|batc|btch|bacht|baych|batcg|batxh|bstch|barch)(?:es)?[- _]?(?:sizes?|sz|siz|szie)?|(?<![a-z])b_?sz?|(?<![a-z])b(?=\\s?=)|(?<![a-z-])-b|批(?:次)?(?:处理)?(?:的)?(?:大小|量|数|尺寸)?)';
const LINKS =
  '(?:\\s|[=:是为到开设给改调降加用成就也都可能要的,"\']|of|to|from|at|is|was|was|down|up|as|换|变|只|再|试|放|从|大概|about|around|应该){0,10}';
const PER_GPU =
  '(?:\\s?(?:张图?|images?|imgs?|samples?|pics?|crops?|个样本|个|幅|份|片)?\\s?(?:\\/|per|a|each|on each|每|一)\\s?(?:一?张?|块)?\\s?(?:gpu|card|卡|device|显卡|process|worker)s?)';

const TOTAL_BEFORE = /(?:总(?:的|共|体)?|全局|合计|一共|共|global|total|overall|effective|等效|有效)\s?(?:的|是)?\s?$/;
const PER_BEFORE =
  /(?:每(?:一|1)?(?:张|块|个)?(?:显|gpu)?卡(?:上)?(?:的)?|每(?:个)?gpu(?:上)?|单卡(?:上)?(?:的)?|per[- ]?(?:gpu|card|device)|local|一张卡|1张卡)\s?$/;
const TOTAL_AFTER =
  /^\s?(?:张|images?|imgs?)?\s?[(,]?\s?(?:in )?(?:total|总共|总|overall|global|globally|across|over (?:all|\d+)|合计|共)(?![a-z])/;
const PER_AFTER = new RegExp(`^(?:${PER_GPU}|\\s?(?:on )?each(?![a-z]))`);

function scopeOf(reading: Reading, found: Found): Scope {
  const tail = after(reading.text, found.end, 24);
  const lead = before(reading.text, found.start, 14);
  if (PER_AFTER.test(tail) || PER_BEFORE.test(lead)) return 'per_gpu';
  if (TOTAL_AFTER.test(tail) || TOTAL_BEFORE.test(lead)) return 'total';
  return undefined;
}

interface Rule {
  readonly pattern: RegExp;
  readonly scope?: Scope;
  readonly rank: number;
}

/** From the surest wording to the weakest; each takes what it reads. */
const RULES: readonly Rule[] = [
  {
    pattern: /\b(?:samples|imgs|images|img|batch(?:_?size)?)_per_(?:gpu|device|card|replica)["']?\s?[=:]\s?(\d{1,5})/g,
    scope: 'per_gpu',
    rank: 8,
  },
  { pattern: /\bper_(?:device|gpu)_(?:train_)?batch_?size["']?\s?[=: ]\s?(\d{1,5})/g, scope: 'per_gpu', rank: 8 },
  { pattern: /\bims_per_batch["']?\s?[=: ]\s?(\d{1,5})/g, scope: 'total', rank: 8 },
  { pattern: /\b(?:total|global|effective)_(?:train_)?batch_?size["']?\s?[=: ]\s?(\d{1,5})/g, scope: 'total', rank: 8 },
  { pattern: /\btrain_micro_batch_size_per_gpu["']?\s?[=: ]\s?(\d{1,5})/g, scope: 'per_gpu', rank: 8 },
  // 每卡2张, 每张卡放 2 张图, per card 4; 单卡 needs its noun, or it counts GPUs.
  {
    pattern: new RegExp(
      `(?:每(?:一|1)?(?:张|块|个)?(?:显|gpu)?卡|每(?:个)?gpu|1张卡|per[- ](?:gpu|card))(?:上)?\\s?(?:的)?(?:${BATCH_WORD})?${LINKS}(?:塞|跑|吃|分|装)?${NUMBER}(?!\\s?(?:g|gb|块钱|元|类)(?![a-z]))(?:\\s?(?:张图?|images?|imgs?|个样本|幅))?`,
      'g',
    ),
    scope: 'per_gpu',
    rank: 7,
  },
  {
    pattern:
      /单卡\s?(?:上)?(?:只|能|就|可以)?\s?(?:放|塞|跑|装|开)\s?(?:得下)?(?:了)?\s?(\d{1,4})\s?(?:张|个)?(?![\d.]|\s?(?:卡|轮|步))/g,
    scope: 'per_gpu',
    rank: 7,
  },
  {
    pattern: new RegExp(
      `(?:总(?:的|共)?|全局|global|total|overall|effective|等效|有效)\\s?(?:的)?\\s?${BATCH_WORD}${LINKS}${NUMBER}`,
      'g',
    ),
    scope: 'total',
    rank: 7,
  },
  {
    pattern: new RegExp(`${BATCH_WORD}\\s?\\(?(?:total|global|overall|总(?:共|的)?|合计)\\)?${LINKS}${NUMBER}`, 'g'),
    scope: 'total',
    rank: 7,
  },
  { pattern: new RegExp(`${BATCH_WORD}${LINKS}${NUMBER}${PER_GPU}`, 'g'), scope: 'per_gpu', rank: 7 },
  { pattern: new RegExp(`${BATCH_WORD}${LINKS}${NUMBER}(?!\\s?(?:gpus?|cards?|张卡|块卡|卡)(?![a-z]))`, 'g'), rank: 6 },
  {
    pattern: new RegExp(`(?<![\\d.x])(\\d{1,4})\\s?(?:张图?|images?|imgs?|个)?${PER_GPU}`, 'g'),
    scope: 'per_gpu',
    rank: 7,
  },
  {
    pattern:
      /(?<![\d.x])(\d{1,4})\s?(?:imgs?|images?|samples?|pics?|crops?)\s(?:on|each|per batch|a batch|per step|at (?:a time|once)|in a batch)(?![a-z])/g,
    rank: 5,
  },
  { pattern: /(?:1个?|每个?|一个?)\s?batch\s?(\d{1,4})\s?张?/g, rank: 6 },
  { pattern: /(?<![\d.x])(\d{1,4})\s?(?:张图?|个)?\s?(?:每|一个?|1个?|per )\s?batch(?![a-z])/g, rank: 5 },
  {
    pattern:
      /\b(?:total|总共|一共|总)\s?(?:of |是|就)?(\d{1,5})(?=\s?(?:张图?|images?|imgs?)?\s?(?:on|over|across|分|摊)\s?(?:those|these|all|the|到|在|\d)?)/g,
    scope: 'total',
    rank: 6,
  },
  {
    pattern: /(?<![\d.x])(\d{1,5})\s(?:images? |imgs? )?(?:in )?total(?![a-z])(?!\s?(?:budget|cost|epochs?|iter))/g,
    scope: 'total',
    rank: 5,
  },
];

/** "8 gpus x 2", "8卡x2", "4 GPU × 每卡2": the second number is per GPU. */
const CARDS_TIMES =
  /(?<![\d.x])(\d{1,3})\s?(?:张|块)?\s?(?:gpus?|cards?|卡)\s?x\s?(?:每卡|batch|bs)?\s?(\d{1,4})(?!\d|\s?x)/g;

function readRule(reading: Reading, { pattern, scope, rank }: Rule): readonly Candidate<Batch>[] {
  return take(reading, pattern, ({ groups }) => {
    const size = Number(groups.find((group) => group !== ''));
    return size >= 0 && size <= MAX_BATCH;
  }).map((found) => {
    const size = Number(found.groups.find((group) => group !== ''));
    const numberAt = found.start + found.all.lastIndexOf(String(size));
    const ownScope = scope ?? scopeOf(reading, found);
    return { value: { size, scope: ownScope }, rank, start: numberAt, end: found.end };
  });
}

/** Batch size and its scope; of several the wanted one. */
export function readBatch(reading: Reading): Pick<Slots, 'batchSize' | 'batchScope' | 'gpus'> {
  const times = take(reading, CARDS_TIMES).map((found): Candidate<Batch> => {
    const [gpus = 0, size = 0] = found.groups.map(Number);
    return { value: { size, scope: 'per_gpu', gpus }, rank: 6, start: found.start, end: found.end };
  });
  const candidates = [...times, ...RULES.flatMap((rule) => readRule(reading, rule))];
  const best = choose(reading, candidates);
  if (best === null) return {};
  const { size, scope, gpus } = best.value;
  return {
    batchSize: size,
    ...(scope === undefined ? {} : { batchScope: scope }),
    ...(gpus === undefined ? {} : { gpus }),
  };
}

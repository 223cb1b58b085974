import { type Candidate, choose } from '../candidates.ts';
import { after, before, type Found, type Reading, take } from '../reading.ts';
import type { Slots } from '../understanding.ts';
import { scopeSaid } from './batch-scope.ts';
import { BATCH_WORD, LINKS, PER_GPU } from './batch-words.ts';
import { type Batch, movedFrom, readSetups, type Scope, type Setup, setupLeft } from './setups.ts';

const NUMBER = '(\\d{1,5})(?![\\d.]*\\d|k\\b| ?x ?\\d{3}| ?%| ?(?:g|gb|gib|mb)\\b)';
/** "从 8 降到 4": what is left behind. */
const LEFT_BEHIND = '(?: ?(?:从|由|from) ?\\d{1,5} ?张? ?(?=[^\\d,;]{0,4}(?:到|成|为|至|to|改|降|减|加|升) ?\\d))?';
/** In 512 每卡2 the first number is something else. */
const NOT_PREFIX =
  '(?!(?<=每[张块一1个 ]{0,3}(?:卡|gpu)(?:上)?) ?(?:(?:只|能|放|跑|塞|装|开)? ?\\d|要|需|大概|得|显存|多少|占|吃|最多|能))';

const TOTAL_BEFORE = /(?:总(?:的|共|体)?|全局|合计|一共|共|global|total|overall|effective|等效|有效) ?(?:的|是)? ?$/;
const PER_BEFORE =
  /(?:每(?:一|1)?(?:张|块|个)?(?:显|gpu)?卡(?:上)?(?:的)?|每(?:个)?gpu(?:上)?|单卡(?:上)?(?:的)?|per[- ]?(?:gpu|card|device)|local|一张卡|1张卡) ?$/;
const TOTAL_AFTER =
  /^ total(?= \d{1,3} ?x? ?(?:gpus?|cards?|[a-z]{1,4}\d))|^ ?(?:张|images?|imgs?)? ?[(,]? ?(?:(?:in|is|as|是|为|算) ?)?(?:the )?(?:total|总共|总的?|overall|global|globally|across|over (?:all|\d+)|合计|共)(?![a-z]|共? ?\d)/;
const PER_AFTER = new RegExp(
  `^(?:${PER_GPU}| ?(?:on )?each(?![a-z])| ?[([] ?(?:按)?(?:每|per |\\/ ?|each |单)(?:一|1)?(?:张|块|个)?(?:显)?(?:卡|gpu|card))`,
);

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
  readonly gpus?: number;
  /** The scope of another batch of the message holds for it too. */
  readonly inherits?: true;
  /** Cheap look, one for many rules, that spares their long expressions where a word of theirs is missing. */
  readonly needs?: RegExp;
}

/** "between 8 and 12": both numbers, the second is meant. */
export const BATCH_BETWEEN = `${BATCH_WORD}[^\\d,;\\n]{0,8}?(?:between|介于|在|from) ?(\\d{1,3}) ?(?:and|和|与|到|-|to) ?(\\d{1,3})(?![\\d.x])`;

const NEEDS_BATCH = /batch|(?<![a-z])b_?sz?|b ?=|-b|批/;
const NEEDS_CARD = /卡|gpu|card|device|process|worker/;
const NEEDS_KEY = /_/;
const NEEDS_STEP = /批|次|步|step|iter|at a time/;
const NEEDS_IMAGE = /张|im(?:age|g|s)|sample|pic|crop/;
const NEEDS_TOTAL = /total|总|共|合计/;
const NEEDS_EACH = /each|单卡/;
const NEEDS_WISH = /want|need|like|prefer|can|could|may/;
const NEEDS = [NEEDS_BATCH, NEEDS_CARD, NEEDS_KEY, NEEDS_STEP, NEEDS_IMAGE, NEEDS_TOTAL, NEEDS_EACH, NEEDS_WISH];

/** From the surest wording to the weakest; each takes what it reads. */
const RULES: readonly Rule[] = [
  {
    pattern:
      /\b(?:samples|imgs|images|img|batch(?:_?size)?)_per_(?:gpu|device|card|replica)["']?(?: ?[=:] ?|\s)(\d{1,5})/g,
    scope: 'per_gpu',
    rank: 8,
    needs: NEEDS_KEY,
  },
  {
    pattern: /\bper_(?:device|gpu)_(?:train_)?batch_?size["']? ?[=: ] ?(\d{1,5})/g,
    scope: 'per_gpu',
    rank: 8,
    needs: NEEDS_KEY,
  },
  { pattern: /\bims_per_batch["']? ?[=: ] ?(\d{1,5})/g, scope: 'total', rank: 8, needs: NEEDS_KEY },
  {
    pattern: /\b(?:total|global|effective)_(?:train_)?batch_?size["']? ?[=: ] ?(\d{1,5})/g,
    scope: 'total',
    rank: 8,
    needs: NEEDS_KEY,
  },
  { pattern: /\btrain_micro_batch_size_per_gpu["']? ?[=: ] ?(\d{1,5})/g, scope: 'per_gpu', rank: 8, needs: NEEDS_KEY },
  {
    pattern: new RegExp(`(?<![\\d.x])(\\d{1,4}) ?(?:张图?|图|images?|imgs?|个)?${PER_GPU}${NOT_PREFIX}`, 'g'),
    scope: 'per_gpu',
    rank: 7,
    needs: NEEDS_CARD,
  },
  // 每卡2张, 每张卡放 2 张图, per card 4; 单卡 needs its noun, or it counts GPUs.
  {
    pattern: new RegExp(
      `(?:每(?:一|1)?(?:张|块|个)?(?:显|gpu)?卡|每(?:个|块|张|片)? ?gpu|[1一]张卡|[1一]块?卡(?=上? ?[^\\d,;]{0,3}\\d{1,3} ?(?:张|幅|个图))|per[- ](?:gpu|card)|(?:each|every) (?:gpu|card|device)(?: (?:process|handl|get|tak|see|hold|ha|run|train)(?:e?s|s|e)?(?: on)?| with| of)?)(?:上)? ?(?:的)?(?:${BATCH_WORD})?${LINKS}(?:塞|跑|吃|分|装|喂)? ?${NUMBER}(?! ?(?:g|gb|块钱|元|类|张?卡)(?![a-z]))(?: ?(?:张图?|images?|imgs?|个样本|幅))?`,
      'g',
    ),
    scope: 'per_gpu',
    rank: 7,
    needs: NEEDS_CARD,
  },
  {
    pattern:
      /单卡 ?(?:上)?(?:只|能|就|可以)? ?(?:放|塞|跑|装|开) ?(?:得下)?(?:了)? ?(\d{1,4}) ?(?:张|个)?(?![\d.]| ?(?:卡|轮|步))/g,
    scope: 'per_gpu',
    rank: 7,
    needs: NEEDS_EACH,
  },
  {
    pattern: new RegExp(
      `(?:总(?:的|共)?|全局|global|total|overall|effective|等效|有效) ?(?:的)? ?${BATCH_WORD}${LINKS}${NUMBER}`,
      'g',
    ),
    scope: 'total',
    rank: 7,
    needs: NEEDS_BATCH,
  },
  {
    pattern: new RegExp(`${BATCH_WORD} ?\\(?(?:total|global|overall|总(?:共|的)?|合计)\\)?${LINKS}${NUMBER}`, 'g'),
    scope: 'total',
    rank: 7,
    needs: NEEDS_BATCH,
  },
  {
    pattern: new RegExp(`${BATCH_WORD}${LINKS}${NUMBER}${PER_GPU}`, 'g'),
    scope: 'per_gpu',
    rank: 7,
    needs: NEEDS_BATCH,
  },
  { pattern: new RegExp(BATCH_BETWEEN.replace('(\\d{1,3})', '\\d{1,3}'), 'g'), rank: 7, needs: NEEDS_BATCH },
  // "batch 12 -> 6": what stands before the arrow is left behind
  {
    pattern: new RegExp(`${BATCH_WORD}${LINKS}\\d{1,5} ?张? ?(?:-{1,2}>|→|=>) ?${NUMBER}`, 'g'),
    rank: 7,
    needs: NEEDS_BATCH,
  },
  // "batch 只能开 1，想开到 4"
  {
    pattern: new RegExp(
      `${BATCH_WORD}[^,;\\n]{0,16}, ?[^,;\\n\\d]{0,4}(?:想|要|能|得)[^,;\\n\\d]{0,4}[开提加升调降减改放]到 ?${NUMBER}`,
      'g',
    ),
    rank: 7,
    needs: NEEDS_BATCH,
  },
  {
    pattern: new RegExp(
      `${BATCH_WORD}${LEFT_BEHIND}${LINKS}${NUMBER}(?! ?(?:gpus?|cards?|张卡|块卡|卡)(?![a-z]| ?=))`,
      'g',
    ),
    rank: 6,
    needs: NEEDS_BATCH,
  },
  {
    pattern:
      /(?<![\d.x])(\d{1,4}) ?(?:imgs?|images?|samples?|pics?|crops?)\s(?:on|each|per batch|a batch|per step|at (?:a time|once)|in a batch)(?![a-z])/g,
    rank: 5,
    needs: NEEDS_IMAGE,
  },
  // a clause of its own: "800x1333, 16 ims, bf16"
  {
    pattern:
      /(?<![\d.x]|(?:have|has|got|only|dataset|data|of|total)\s{1,2})(\d{1,2}) ?(?:ims|imgs|images|samples|crops)(?=\s*(?:$|[,;.!?\n]))/g,
    rank: 3,
    needs: NEEDS_IMAGE,
  },
  // 一次塞 12 张, 24 一批, 32 per step
  {
    pattern:
      /(?:[一1每]次(?:性)?|[一1每]批|[一1每]步) ?(?:能|要|就|只|可以)? ?(?:塞|喂|放|跑|送|进|吃|处理|训|来|用)? ?(\d{1,4}) ?(?:张|个|幅)?(?! ?(?:卡|g|元|块|步|万|小时|天|[万千百]))/g,
    rank: 5,
    needs: NEEDS_STEP,
  },
  {
    pattern:
      /(?<![\d.x])(\d{1,4}) ?(?:张图?|图|个|images?|imgs?|samples?|crops?|tiles?|patches)? ?(?:[一1每]批|[一1每]次喂|[一1每]步|(?:per|a|each|every) (?:step|iteration|iter)(?![a-z])|at a time)/g,
    rank: 5,
    needs: NEEDS_STEP,
  },
  // "4 per gpu. can I go 8?"
  {
    pattern:
      /(?:can|could|may) (?:i|we) (?:go|push|raise|do|try)(?: it)?(?: (?:up )?to| with| for)? (\d{1,2}|1[0-2]\d)(?=\s*(?:[?.!,]|$|per |images?|imgs?|on ))/g,
    rank: 8,
    needs: NEEDS_WISH,
    inherits: true,
  },
  {
    pattern: /(?<![\d.x])(\d{1,3}) (?:images? |imgs? )?each(?=\s*(?:$|[,;.!?]))/g,
    scope: 'per_gpu',
    rank: 5,
    needs: NEEDS_EACH,
  },
  { pattern: /(?:1个?|每个?|一个?) ?batch ?(\d{1,4}) ?张?/g, rank: 6, needs: NEEDS_BATCH },
  {
    pattern: /(?<![\d.x])(\d{1,4}) ?(?:张图?|个)? ?(?:每|一个?|1个?|per ) ?batch(?![a-z])/g,
    rank: 5,
    needs: NEEDS_BATCH,
  },
  {
    pattern:
      /\b(?:total|总共|一共|总) ?(?:of |是|就)?(\d{1,5})(?= ?(?:张图?|images?|imgs?)? ?(?:on|over|across|分|摊) ?(?:those|these|all|the|到|在|\d)?)/g,
    scope: 'total',
    rank: 6,
    needs: NEEDS_TOTAL,
  },
  {
    pattern:
      /(?<![\d.x$¥])(?<!(?:budget|spend|pay|cost|afford)[a-z ]{0,6}[:=]? ?|(?:gpus?|cards?|devices?)[:=])(\d{1,3}|1024|2048|4096)\s(?:images? |imgs? )?(?:in )?total(?![a-z])(?! ?(?:budget|cost|epochs?|iter))/g,
    scope: 'total',
    rank: 5,
    needs: NEEDS_TOTAL,
  },
  {
    pattern:
      /(?:set|setting|use|using|put|run|running|fit|holds?|holding|takes?|设了?|放了?|开了?|用了?) (?:bs |batch )?(\d{1,4})(?= (?:on (?:it|that|this|one|each|a|the|my)|there|images|imgs|at (?:a time|once))(?![a-z]))/g,
    rank: 4,
  },
  { pattern: /单卡 ?(\d{1,3})(?=\s*(?:$|[,.;!?\n]|张))/g, scope: 'per_gpu', rank: 4, needs: NEEDS_EACH, gpus: 1 },
  // "总共 16 batch", "8 的 bs": the number before its word
  {
    pattern: /(?:总共|一共|总|total)\s?(\d{1,4}) ?的? ?(?:batch(?:[ _-]?size)?|bs)(?![a-z])(?!\s?(?:[:=]\s?)?\d)/g,
    scope: 'total',
    rank: 5,
    needs: NEEDS_BATCH,
  },
  {
    pattern:
      /(?<![\d.x])(\d{1,2}|1[0-2]\d) ?的? ?(?:batch(?:[ _-]?size)?|bs)(?![a-z])(?!\s?(?:[:=是]\s?)?(?:\d|多|几|最|how|max))/g,
    rank: 3,
    needs: NEEDS_BATCH,
  },
  // an impossible number is kept, so that the answer can say what is possible
  {
    pattern: new RegExp(`${BATCH_WORD} ?(?:[=:是为] ?| )(-\\d{1,4}|\\d{6,18})(?![\\d.])`, 'g'),
    rank: 6,
    needs: NEEDS_BATCH,
  },
  {
    pattern: /(?:总共|一共|1共|合计|共) ?(\d{1,3}) ?张(?! ?(?:显?卡|gpu|照片|图片|数据|训练|样本))/g,
    scope: 'total',
    rank: 4,
    needs: NEEDS_TOTAL,
  },
  {
    pattern: /(?:每|一)张(?:卡)?(?:上)? ?(?:放|跑|就)? ?(\d{1,3}) ?(?:个?样本|张图|images?|imgs?)/g,
    scope: 'per_gpu',
    rank: 5,
    needs: NEEDS_IMAGE,
  },
  // a clause of its own: "2048x1024, 8张图"
  {
    pattern: /(?<![\d.x]|(?:共|有|是|集|约|只|据|数|多|要)\s{0,2})(\d{1,2}) ?张图(?:片|像)?(?=\s*(?:$|[,;.!?\n]))/g,
    rank: 3,
    needs: NEEDS_IMAGE,
  },
  {
    pattern:
      /(?<![a-z])(?:i|we) (?:want|need|would like|'?d like|prefer) (?:to (?:run|use|do|have|train (?:with|at)) )?(\d{1,3})(?= (?:with|on|instead|per|images?|at|of them)(?![a-z]))/g,
    rank: 5,
    needs: NEEDS_WISH,
  },
];

function readRule(reading: Reading, { pattern, scope, rank, gpus, inherits }: Rule): readonly Candidate<Batch>[] {
  return take(reading, pattern).map((found) => {
    const size = Number(found.groups.find((group) => group !== ''));
    const numberAt = found.start + found.all.lastIndexOf(String(size));
    const ownScope = scope ?? scopeOf(reading, found);
    const evaluates = /(?:val|test|eval)(?:idation)?_?(?:data)?loader/.test(before(reading.text, found.start, 60));
    return {
      value: { size, scope: ownScope, inherits, ...(gpus === undefined ? {} : { gpus }) },
      rank: evaluates ? rank - 6 : rank,
      start: numberAt,
      end: found.end,
    };
  });
}

export interface BatchReading extends Pick<Slots, 'batchSize' | 'batchScope' | 'gpus'> {
  readonly from?: Setup | undefined;
}

/** Batch size and its scope; of several the wanted one. */
export function readBatch(reading: Reading): BatchReading {
  const setups = readSetups(reading);
  const { rest } = reading;
  const missing = NEEDS.filter((needs) => !needs.test(rest));
  const rules = RULES.filter(({ needs }) => needs === undefined || !missing.includes(needs));
  const candidates = [...setups, ...rules.flatMap((rule) => readRule(reading, rule))];
  const best = choose(reading, candidates) ?? setupLeft(reading, setups);
  const corrected = scopeSaid(reading.text);
  if (best === null) return corrected === undefined ? {} : { batchScope: corrected };
  const { size, gpus, inherits } = best.value;
  const other = inherits === true ? candidates.find(({ value }) => value.scope !== undefined)?.value.scope : undefined;
  const scope = corrected ?? best.value.scope ?? other;
  return {
    batchSize: size,
    ...(scope === undefined ? {} : { batchScope: scope }),
    ...(gpus === undefined ? {} : { gpus }),
    from: movedFrom(setups, best.value),
  };
}

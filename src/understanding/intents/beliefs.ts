import type { GpuSpan } from '../gpu-mention.ts';
import type { Span } from '../reading.ts';
import type { BeliefId, Slots } from '../understanding.ts';
import type { Vocabulary } from '../vocabulary.ts';

interface Rule {
  readonly id: BeliefId;
  readonly pattern: RegExp;
}

/** "AMP 是啥意思", "what is gradient checkpointing", "difference between spot and on demand". */
function asksFor(term: string, names: string): readonly Rule[] {
  return [
    {
      id: `what-${term}`,
      pattern: new RegExp(
        `(?:${names}) ?(?:到底|究竟)?(?:是(?:什么|啥|个啥)|(?:什么|啥)意思|指(?:的是)?(?:什么|啥)|和[^,.;?\\n]{0,8}(?:区别|有什么不同))|what(?:'?s| is| are| does| do) (?:an? |the difference between )?(?:${names})(?: mean| and [a-z -]{1,20})?\\s*(?:\\?|$)|explain (?:${names})`,
      ),
    },
  ];
}

/**
 * Wrong facts in words (advice.md, catalog.md §5). The reply corrects them under these ids in `reply/messages`;
 * `family:<family>` stands for a wrong card of an instance family, `right:<family>` for a right one that is asked about,
 * `instance:<type>` for a type that does not exist.
 */
const RULES: readonly Rule[] = [
  {
    id: 'amp-halves-memory',
    pattern:
      /(?:amp|混合精度|半精度|fp16|bf16|mixed precision|half precision)[^,.;?\n]{0,24}(?:显存|内存|占用|memory|vram)?[^,.;?\n]{0,8}(?:减半|省一半|砍半|少一半|降一半|降低一半|halv(?:es?|ed|ing)|cuts? .{0,12}in half|half the memory|50 ?%)|(?:显存|memory|vram)[^,.;?\n]{0,10}(?:减半|降一半|省一半|in half|halved)[^,.;?\n]{0,12}(?:amp|混合精度|fp16|半精度|mixed)/,
  },
  {
    id: 'gpus-pool-memory',
    pattern:
      /(?:多卡|两张卡|[2-8] ?张?卡|几张卡|多张卡|[2-8] ?(?:gpus?|cards?)|multi-?gpu|multiple (?:gpus|cards))[^.;?\n]{0,24}(?:显存)?[^.;?\n]{0,6}(?:相加|加起来|叠加|合起来|合并|拼起来|拼成|共享显存|合成|pool|add(?:s)? up|combined?|sums? up|stack(?:s)? up|together (?:as|have|give|make))|再加[^,.;?\n]{0,12}卡[^.;?\n]{0,16}(?:显存)?[^.;?\n]{0,6}(?:降|减|省|少)一?半|(?:gpu memory|vram)[^.;?\n]{0,24}(?:adds? up|combines?|pools?)|pool[^.;?\n]{0,14}(?:memory|vram)|(?:[2-8]|two|three|four|eight) [^,.;?\n]{0,14}(?:gpus|cards)[^.;?\n]{0,24}(?:add(?:s)? up|combined?|pool)|(?:second|another|more) (?:gpu|card)[^.;?\n]{0,30}(?:halve|half|split|pool|double the memory)/,
  },
  {
    id: 'h20-domestic',
    pattern:
      /h20[^,.;?\n]{0,16}(?:国产|信创|自主可控|domestic|chinese|made in china)|(?:国产|信创|domestic)[^,.;?\n]{0,12}h20/,
  },
  {
    id: 'domestic-wanted',
    pattern: /国产(?:化|卡|显卡|gpu|加速|芯片|替代)|信创|domestic (?:gpu|accelerator|chip|card)/,
  },
  {
    id: 't4-cheapest',
    pattern:
      /t4[^,.;?\n]{0,14}(?:最便宜|最省钱|性价比最高|最划算|(?:is |are )?(?:the )?cheapest)|(?:最便宜|最省钱|cheapest)[^,.;?\n]{0,12}(?:是|就是|is|:)[^,.;?\n]{0,6}t4/,
  },
  {
    id: 'ram-adds-to-vram',
    pattern:
      /(?:plus|加上?)\s?\d{1,4} ?(?:g|gb|gib)\s?(?:of )?(?:system |host )?(?:ram|内存|主存)|(?:和|\+|and)\s?\d{1,4} ?(?:g|gb|gib)\s?(?:of )?(?:system |host )?(?:ram|内存|主存)[^.;?\n]{0,24}(?:够|能|加起来|一共|总共|合计|相当|enough|plenty|total|together|should)|(?:内存|ram)[^,.;?\n]{0,10}(?:当|顶|补|算作|作为|as) ?(?:显存|vram)/,
  },
  {
    id: 'subscription-always-cheaper',
    pattern:
      /(?:包月|包年(?:包月)?|subscription|monthly)[^.;?\n]{0,16}(?:省|便宜|节省|打折|saves?|cheaper)[^.;?\n]{0,10}(?:30|三成|百分之三十|肯定|一定|总是|always|definitely)|(?:包月|subscription)[^,.;?\n]{0,8}(?:肯定|一定|总是|always)[^,.;?\n]{0,8}(?:便宜|划算|省|cheaper)/,
  },
  { id: 'system-disk-category', pattern: /(?<!\.)systemdiskcategory/ },
  { id: 'image-date', pattern: /ubuntu_20_04_x64_20g_alibase_20230726/ },
  {
    id: 'pl3-needed',
    pattern: /(?:必须|一定要|得|需要|要|must|need)[^,.;?\n]{0,8}pl3|pl3[^,.;?\n]{0,8}(?:必须|必要|required|is needed)/,
  },
  {
    id: 'no-bf16',
    pattern:
      /(?:v100|t4|p100|p40|p4|2080 ?ti|gn6[a-z]|1080 ?ti|titan v)[^.;?\n]{0,30}(?:bf16|bfloat16)|(?:bf16|bfloat16)[^.;?\n]{0,24}(?:v100|t4|p100|p40|2080 ?ti|gn6[a-z]|1080 ?ti)/,
  },
  {
    id: 'no-tf32',
    pattern:
      /(?:v100|t4|p100|gn6[a-z]|2080 ?ti)[^.;?\n]{0,24}tf32|tf32[^.;?\n]{0,20}(?:v100|t4|p100|2080 ?ti|gn6[a-z])/,
  },
  { id: 'eas-for-training', pattern: /pai-?eas[^,.;?\n]{0,16}(?:训练?|train)|(?:训练?|train)[^,.;?\n]{0,16}pai-?eas/ },
];

/** "gn7s is the domestic H20": characters between a family and the card that it is said to be. */
const CLAIM_REACH = 20;
const FAMILY_CLAIM_MEMORY = /^[^,.;?\n]{0,12}?(\d{2,3}) ?g(?:b|ib)?(?![a-z])/;

/** Words that people ask the meaning of. */
const TERMS: readonly Rule[] = [
  ...asksFor('amp', '(?:amp|混合精度|半精度|mixed[- ]precision)'),
  ...asksFor('checkpointing', '(?:梯度检查点|(?:gradient |activation )?checkpointing)'),
  ...asksFor('accumulation', '(?:梯度累[积加计]|gradient accumulation)'),
  ...asksFor('spot', '(?:抢占式?|竞价)(?:实例)?|spot(?: instances?| pricing)?'),
];
const ASKS_MEANING = /什么|啥|what|explain|区别|不同/;

/** What makes a claim a question, close behind it. */
const ASKS =
  /^[^,.;?\n]{0,12}(?:吧|吗|对不对|是不是|没错|\?|(?<![a-z])(?:right|correct|yes|no)(?![a-z]))|^[^.;?\n]{0,14}, ?(?:对|是)(?:吧|吗|么|不)|^[^.;?\n]{0,14}, ?(?:right|correct|isn'?t it|aren'?t they|yes|no)(?![a-z])/;

/** "gn7i 是什么卡", "what card does gn7i have" */
const ASKED_BEHIND =
  /^ ?(?:系列|实例|机器)?(?:里面?|上)? ?(?:是|用的?是?|带的?|配的?(?:是)?|装的?(?:是)?) ?(?:什么|啥|哪(?:种|款|个)?)(?! ?(?:价|意思))/;
const ASKED_AHEAD =
  /(?:what(?:'?s| is| are)?|which) (?:(?:gpus?|cards?)[a-z ]{0,12})?(?:is |are |an? |the |does |in |on |of )*(?:ecs\.)?$/;

interface Claims {
  readonly text: string;
  readonly mentions: readonly GpuSpan[];
  readonly claimed: readonly (Span & { readonly name: string })[];
  readonly vocabulary: Vocabulary;
  readonly cardMemoryGB: (family: string) => number | null;
  readonly instanceExists: (type: string) => boolean;
}

/** "gn7e 是 A10", "gn6v 32G", and families that do not exist. */
function familyBeliefs({ text, mentions, claimed, vocabulary, cardMemoryGB }: Claims): readonly BeliefId[] {
  return mentions.flatMap(({ gpu, start, end }): readonly BeliefId[] => {
    const family = gpu.family;
    if (family === undefined) return [];
    const real = vocabulary.families.get(family);
    if (real === undefined) return [`family:${family}`];
    if (ASKED_BEHIND.test(text.slice(end, end + 24)) || ASKED_AHEAD.test(text.slice(Math.max(0, start - 32), start)))
      return [`asked:${family}`];
    const claim = claimed.find(({ start }) => start >= end && start - end <= CLAIM_REACH);
    if (claim !== undefined && claim.name !== real) return [`family:${family}`];
    const memory = Number(FAMILY_CLAIM_MEMORY.exec(text.slice(end, end + 24))?.[1]);
    const known = memory > 0 && cardMemoryGB(family) !== null;
    if (known && cardMemoryGB(family) !== memory) return [`family:${family}`];
    const between = claim === undefined ? '' : text.slice(end, claim.start);
    const asks = ASKS.test(text.slice(claim?.end ?? end)) || /是不是|是否/.test(between);
    return asks && (claim !== undefined || known) ? [`right:${family}`] : [];
  });
}

/** Ids of the wrong facts that the message states. */
export function findBeliefs(claims: Claims, slots: Slots): readonly BeliefId[] {
  const rules = ASKS_MEANING.test(claims.text) ? [...RULES, ...TERMS] : RULES;
  const told = rules.filter(({ pattern }) => pattern.test(claims.text)).map(({ id }) => id);
  const types = claims.mentions.flatMap(({ gpu }) =>
    gpu.instance === undefined || claims.instanceExists(gpu.instance) ? [] : [`instance:${gpu.instance}`],
  );
  const halved = slots.precision !== undefined || !told.includes('amp-halves-memory');
  return [
    ...new Set([...told.filter((id) => id !== 'amp-halves-memory' || halved), ...familyBeliefs(claims), ...types]),
  ];
}

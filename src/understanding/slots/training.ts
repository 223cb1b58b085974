import { type Candidate, choose } from '../candidates.ts';
import { after, before, find, type Reading, take } from '../reading.ts';
import type { Slots } from '../understanding.ts';

type Training = Pick<
  Slots,
  | 'precision'
  | 'optimizer'
  | 'loss'
  | 'numClasses'
  | 'inputChannels'
  | 'baseChannels'
  | 'outputStride'
  | 'gradientCheckpointing'
  | 'gradientAccumulation'
  | 'frozenBackbone'
  | 'norm'
  | 'auxiliaryHead'
  | 'attention'
>;

const OFF_BEFORE =
  /(?:不(?:要|用|开|想开|打算开|需要|加|带|使用)?|没(?:有)?(?:开|用)?|别(?:开|用)?|关(?:掉|闭|了)?|去掉|取消|禁用|without|no|not|disable(?:d)?|turn(?:ed|ing)? off|w\/o|off|drop|remove) ?(?:the |using |use )?$/;
const OFF_AFTER =
  /^ ?(?:训练)? ?(?:的话)? ?(?:关(?:掉|闭|了|着)?|不(?:开|用|要)|没开|禁用|disabled|(?:is |turned |switched )?off|= ?(?:false|0|none)|: ?false)(?![a-z])/;

function isOff(reading: Reading, { start, end }: { start: number; end: number }): boolean {
  return OFF_BEFORE.test(before(reading.text, start, 14)) || OFF_AFTER.test(after(reading.text, end, 14));
}

type Precision = NonNullable<Slots['precision']>;

const PRECISIONS: readonly { readonly pattern: RegExp; readonly precision: Precision }[] = [
  { pattern: /\bprecision["']? ?[=:] ?["']?16(?![\d-])/g, precision: 'fp16' },
  { pattern: /\bprecision["']? ?[=:] ?["']?32(?![\d-])/g, precision: 'fp32' },
  { pattern: /\b(?:bf16-mixed|torch\.bfloat16|bfloat ?-?16|bf-?16)\b(?: ?= ?true)?/g, precision: 'bf16' },
  {
    pattern:
      /\b(?:16-mixed|torch\.(?:float16|half)|fp16optimizerhook|float ?-?16|fp-?16|half[- ]precision)\b(?: ?= ?true)?|半精度|(?<![a-z])fp16(?![a-z\d])/g,
    precision: 'fp16',
  },
  {
    pattern:
      /\b(?:ampoptimwrapper|torch\.cuda\.amp|torch\.amp|gradscaler|autocast|mixed[- ]?precision|amp)\b|混合精度|混精/g,
    precision: 'amp',
  },
  {
    pattern:
      /\b(?:32-true|torch\.float32|float ?-?32|fp-?32|full[- ]precision|single[- ]precision|tf32)\b|单精度|全精度/g,
    precision: 'fp32',
  },
];

/** "从 fp32 换成 amp": what is left behind. */
const LEFT = /(?:从|由|from|instead of|rather than|而不是|不是)\s*$/;

function readPrecision(reading: Reading): Precision | null {
  const found = PRECISIONS.flatMap(({ pattern, precision }) =>
    take(reading, pattern).map((match): Candidate<Precision> => {
      const off = isOff(reading, match) && precision !== 'fp32';
      return {
        value: off ? 'fp32' : precision,
        start: match.start,
        end: match.end,
        rank: precision === 'fp32' ? 2.5 : 3,
      };
    }),
  );
  const meant = found.filter(({ start }) => !LEFT.test(before(reading.text, start, 12)));
  const half = meant.filter(({ value }) => value === 'fp16' || value === 'bf16');
  return lastOf(half.length > 0 && meant.some(({ value }) => value === 'amp') ? half : meant);
}

function lastOf<T>(candidates: readonly Candidate<T>[]): T | null {
  return [...candidates].sort((a, b) => a.start - b.start).at(-1)?.value ?? null;
}

const OPTIMIZERS = /(?<![a-z])(adam ?-?w|adam|sgd)(?![a-z])/g;

function readOptimizer(reading: Reading): Slots['optimizer'] | null {
  const found = take(reading, OPTIMIZERS, (match) => !isOff(reading, match)).at(-1)?.groups[0];
  if (found === undefined) return null;
  return found === 'sgd' ? 'sgd' : found === 'adam' ? 'adam' : 'adamw';
}

const DICE = /(?<![a-z])dice(?:[ _-]?(?:loss|coefficient))?(?![a-z])/;
const ENTROPY = /(?<![a-z])(?:cross[ _-]?entropy(?:[ _-]?loss)?|ce[ _-]?loss|ce)(?![a-z])|交叉熵/;
const BINARY =
  /(?<![a-z])(?:bce(?:[ _-]?(?:loss|with[ _-]?logits(?:[ _-]?loss)?))?|binary cross[ _-]?entropy)(?![a-z])|二元交叉熵/;
const LOSS_CUE = /loss|损失|dice|交叉熵|entropy|criterion|bce/;

function readLoss(text: string): Slots['loss'] | null {
  if (!LOSS_CUE.test(text)) return null;
  const dice = DICE.test(text);
  if (BINARY.test(text)) return dice ? 'dice+bce' : 'bce';
  if (ENTROPY.test(text)) return dice ? 'cross-entropy+dice' : 'cross-entropy';
  return dice ? 'dice' : null;
}

const CLASS_RULES: readonly { readonly pattern: RegExp; readonly classes?: number; readonly rank: number }[] = [
  // an impossible number is kept, so that the answer can say what is possible
  { pattern: /(?:(?:num_?)?classes|类别?数?) ?[=:是为]? ?(-\d{1,9})(?![\d.])/g, rank: 9 },
  {
    pattern: /\b(?:num_?classes|n_?classes|num_?labels|classes|nc|n_?cls|out_?channels)["']? ?[=:] ?(\d{1,9})/g,
    rank: 8,
  },
  { pattern: /--?(?:num[-_]classes|classes|num[-_]labels)[= ](\d{1,9})/g, rank: 8 },
  {
    pattern:
      /(?<![\d.x])(\d{1,9})[ -]?(?:semantic |output |seg(?:mentation)? )?(?:classes|class(?![a-z])|categories|labels)/g,
    rank: 6,
  },
  {
    pattern: /\b(?:classes|number of classes|num classes|categories) ?(?:is|are|=|:|to)? ?(\d{1,9})(?![\d.])/g,
    rank: 5,
  },
  { pattern: /(?<![\d.x])(\d{1,9}) ?(?:个)? ?(?:语义)?(?:类别|分类|类|种类|种类别|个标签)(?!似|型)/g, rank: 6 },
  {
    pattern: /(?:类别|分类|类)(?:数目?|数量|总数|个数)? ?(?:是|为|=|:|改成|有|共|换成|改为|变成)? ?(\d{1,9})(?![\d.])/g,
    rank: 5,
  },
  {
    pattern: /二分类|二值分割|二类|\bbinary (?:segmentation|mask|class)|foreground\/background|前景背景/g,
    classes: 2,
    rank: 3,
  },
];

/** A word of every rule for classes. */
const NEEDS_CLASSES = /class|类|label|标签|categor|\bnc|cls|out_?ch|二值|binary|foreground|前景/;

function readClasses(reading: Reading): number | null {
  if (!NEEDS_CLASSES.test(reading.rest)) return null;
  const found = CLASS_RULES.flatMap(({ pattern, classes, rank }) =>
    take(reading, pattern).map(({ start, end, groups, all }): Candidate<number> => {
      const value = classes ?? Number(groups[0]);
      const at = classes === undefined ? start + all.indexOf(groups[0] ?? '') : start;
      return { value, start: at, end, rank };
    }),
  );
  return choose(reading, found)?.value ?? null;
}

/** A word of every rule for channels, of the picture or of the network's first level. */
const NEEDS_CHANNELS = /chan|in_?ch|通道|band|波段|filter|滤波|feature|宽度|base|init|start|first|gr[ae]y|灰度|rgb/;

const FIRST = '(?:起始|初始|基础|首层|第一层|基准)';
/** The width of a U-Net's first level: base_c=32, starting at 32 channels, 从 32 通道开始, 通道 32-64-128-256. */
const WIDTH_RULES: readonly RegExp[] = [
  /\b(?:base|init(?:ial)?|start(?:ing)?|first)[_ -]?(?:c|ch|channels?|filters?|features?|dim)["']? ?(?:=|:|of|is|at)? ?(\d{1,4})(?!\d)/g,
  /\b(?:base(?: of| width)?|initial|start(?:s|ing)?(?: (?:at|with|from))?) (\d{1,4}) ?(?:channels?|filters?|features?)(?![a-z])/g,
  new RegExp(`(?:从|${FIRST}) ?的? ?[是为用=:]? ?(\\d{1,4}) ?个? ?(?:通道|滤波器|filters?|channels?)`, 'g'),
  new RegExp(
    `${FIRST} ?的? ?(?:通道|滤波器|宽度|channels?|filters?)数? ?(?:是|为|用|=|:|改成|换成|改为)? ?(\\d{1,4})(?!\\d)`,
    'g',
  ),
  /(?:channels?|features?|filters?|通道数?|宽度)["']? ?[=:是为]? ?[([]? ?(\d{1,4})(?:[-,/ ]{1,2}\d{1,4}){2,}[)\]]?/g,
];

function readBaseChannels(reading: Reading): number | null {
  if (!NEEDS_CHANNELS.test(reading.rest)) return null;
  const found = WIDTH_RULES.flatMap((pattern) => take(reading, pattern));
  const width = Number(found.at(-1)?.groups[0]);
  return width >= 1 ? width : null;
}

const CHANNEL_RULES: readonly { readonly pattern: RegExp; readonly channels?: number }[] = [
  { pattern: /\b(?:in_?channels|input_?channels|in_?chans|n_?channels|in_?ch)["']? ?[=:]? ?(\d{1,3})(?!\d)/g },
  { pattern: /(?<![\d.])(\d{1,3})[ -]?(?:input )?(?:channels?|bands?)(?![a-z])/g },
  { pattern: /(?<![\d.])(\d{1,3}) ?(?:个)? ?(?:通道|波段)/g },
  { pattern: /(?:通道|波段)(?:数)? ?(?:是|为|=|:|[改换变]成?[到为]?)? ?(\d{1,3})(?!\d)/g },
  { pattern: /灰度图?|单通道|gr[ae]yscale|single[- ]channel/g, channels: 1 },
  { pattern: /\brgb ?[-+]? ?(?:d|n|nir|ir|depth)\b/g, channels: 4 },
];

function readChannels(reading: Reading): number | null {
  if (!NEEDS_CHANNELS.test(reading.rest)) return null;
  const found = CHANNEL_RULES.flatMap(({ pattern, channels }) =>
    take(reading, pattern).map(
      ({ start, end, groups }): Candidate<number> => ({ value: channels ?? Number(groups[0]), start, end, rank: 5 }),
    ),
  );
  return choose(reading, found)?.value ?? null;
}

const STRIDE =
  /(?<![a-z])(?:output[ _-]?stride|os|d)[ =:_-]? ?(8|16|32)(?!\d)(?=\s|$|[^a-z\d]|one)|(?:输出)?步(?:长|幅) ?(?:是|为|=)? ?(8|16|32)(?!\d)|\bstride[ =:]? ?(8|16|32)\b/g;

function readStride(reading: Reading): Slots['outputStride'] | null {
  const groups = take(reading, STRIDE).at(-1)?.groups ?? [];
  const stride = Number(groups.find((group) => group !== ''));
  return stride === 8 || stride === 16 || stride === 32 ? stride : null;
}

const CHECKPOINTING =
  /\b(?:gradient|activation|grad)[ _-]?(?:check[- ]?point(?:ing|s)?)(?:_enable\(\))?|\bwith_cp\b|\bcheckpointing\b|\buse_checkpoint\b|(?<=(?:开|启用|关|闭|掉|加上?|用|\+|turn(?:ing)? (?:on|off)|enabl(?:e|ing)|disabl(?:e|ing)|with|without|using|add) ?(?:the )?)(?:check[- ]?points?|ckpt)(?![a-z]| ?(?:from|file|path|at|to|\d|文件|路径|恢复|继续|里|续))|\b(?:check[- ]?points?|ckpt) (?:on|enabled)(?![a-z])|梯度检查点|激活检查点|激活值?重(?:计)?算|重计算|重算激活/g;
const ACCUMULATION =
  /(?:gradient[ _-]?accumulation(?:[ _-]?steps)?|accumulate_grad_batches|grad(?:ient)?[ _-]?accum(?:ulation)?(?:[ _-]?steps)?|accum(?:ulat(?:e|ion|ing)|_iter|ulative_counts|_steps)?(?:[ _]?(?:steps|counts?))?|梯度累[积加计]|累[积加计](?:梯度|步数)?)["']? ?(?:=|:|of|over|for|to|到|成|用|是|为|开|设)? ?(\d{1,4})(?!\d)|(?<![\d.])(\d{1,4}) ?(?:步|次|x)? ?(?:的)? ?(?:梯度累[积加计]|(?:steps? of )?(?:gradient |grad )accum[a-z]*)/g;
const FROZEN =
  /冻结?(?:住|了|掉)? ?(?:整个)? ?(?:backbone|encoder|主干|骨干|编码器)|(?:backbone|encoder|主干(?:网络)?|骨干(?:网络)?|编码器) ?(?:都|全|给|部分|先)? ?(?:冻结?|frozen|不训|不更新|固定)|(?<![a-z])fr(?:ee|o)z(?:e|en|ing)[ _](?:the |image )?(?:backbone|encoder)|(?:backbone|encoder) (?:is |stays )?(?:frozen|freez[a-z]*)|only (?:train|(?:fine-?)?tune)(?:ing)? the (?:mask )?(?:decoder|head|decode head)|(?:train|(?:fine-?)?tune)(?:ing)? (?:the )?(?:mask )?(?:decoder|head|decode head) only|只(?:训|调|微调|更新)(?:练)? ?(?:mask ?)?(?:解码[器头]|decoder|头|head|分类头|分割头)|freeze_backbone|linear prob(?:e|ing)/g;
/** Everything is trained. */
const UNFROZEN =
  /全(?:部|量|都)?(?:的)?(?:参数?|层|权重|网络)?都?(?:一起)?(?:训练?|微调|更新|放开)|全参(?:数)?(?:微调|训练)|(?:不|别|取消|不要) ?冻结?|解冻|unfr(?:ee|o)z(?:e|en|ing)|(?:full|complete) fine-?tun(?:e|ing)|fine-?tune (?:everything|all|the whole)|train (?:everything|all (?:the )?(?:weights|layers|parameters)|the whole (?:model|network|thing))|end[- ]to[- ]end/g;
const FROZEN_NORM =
  /frozen[ _-]?(?:bn|batch[ _-]?norms?)(?:2d)?|fr(?:ee|o)z(?:e|en|ing)[ _]?(?:the |all )?(?:(?:backbone|encoder)(?:'s)? )?(?:bn|batch[ _-]?norms?)(?: layers?)?|冻结?(?:住|了|掉)? ?(?:所有|全部)?(?:backbone|encoder|主干(?:网络)?|骨干(?:网络)?|编码器)?(?:里|中)?的? ?(?:bn|batch ?norm)(?: ?层)?|(?:bn|batch ?norms?)(?: ?层| layers?)? ?(?:都|全|也|先|给|are |is |stays? )?(?:不|没|not )?(?:冻结?|固定|更新|frozen)|(?:解冻|unfreez(?:e|ing)) ?(?:the )?(?:bn|batch[ _-]?norms?)|\bnorm_eval\b(?: ?= ?true)?/g;
const TRAINED_NORM = /[不没]冻|[不没]固定|(?<!不)更新|解冻|not frozen|unfreez/;
const AUXILIARY = /--?aux[-_]loss|\baux(?:iliary)?[ _-]?(?:loss|heads?)\b|辅助(?:头|损失|分支)/g;
const SDPA =
  /\b(?:sdpa|flash[ -]?att(?:n|ention)(?:[ -]?2)?|fused attention|xformers|memory[- ]efficient attention|scaled_dot_product_attention)\b|融合注意力/g;
const EAGER = /\b(?:eager(?: attention| attn)?|attn_implementation ?= ?["']?eager)\b/g;

function readFlag(reading: Reading, pattern: RegExp): boolean | null {
  const found = take(reading, pattern).at(-1);
  return found === undefined
    ? null
    : !isOff(reading, found) && !/^["']? ?[=:] ?(?:false|none|0)\b/.test(after(reading.text, found.end, 12));
}

/** Before the backbone: "冻结主干的 BN" trains its convolutions. */
function readNorm(reading: Reading): Slots['norm'] | null {
  const said = find(reading, FROZEN_NORM).at(-1)?.all ?? '';
  const frozen = readFlag(reading, FROZEN_NORM);
  if (frozen === null) return null;
  return frozen && !TRAINED_NORM.test(said) ? 'frozen' : 'batch';
}

function readFrozen(reading: Reading): boolean | null {
  return readFlag(reading, FROZEN) ?? (take(reading, UNFROZEN).length > 0 ? false : null);
}

function readAccumulation(reading: Reading): number | null {
  const groups = take(reading, ACCUMULATION).at(-1)?.groups ?? [];
  const steps = Number(groups.find((group) => group !== ''));
  return steps >= 1 ? steps : null;
}

function readAttention(reading: Reading): Slots['attention'] | null {
  const sdpa = readFlag(reading, SDPA);
  if (sdpa !== null) return sdpa ? 'sdpa' : 'eager';
  return readFlag(reading, EAGER) === true ? 'eager' : null;
}

/** How the network is trained: everything of a workload that is neither its name nor a size. */
export function readTraining(reading: Reading): Training {
  return dropEmpty({
    gradientAccumulation: readAccumulation(reading),
    gradientCheckpointing: readFlag(reading, CHECKPOINTING),
    auxiliaryHead: readFlag(reading, AUXILIARY),
    norm: readNorm(reading),
    frozenBackbone: readFrozen(reading),
    attention: readAttention(reading),
    outputStride: readStride(reading),
    precision: readPrecision(reading),
    optimizer: readOptimizer(reading),
    loss: readLoss(reading.rest),
    numClasses: readClasses(reading),
    baseChannels: readBaseChannels(reading),
    inputChannels: readChannels(reading),
  });
}

type Present<T> = { readonly [K in keyof T]?: Exclude<T[K], null | undefined> };

/** Without what was not said. */
export function dropEmpty<T extends Readonly<Record<string, unknown>>>(values: T): Present<T> {
  const present: Partial<Record<string, unknown>> = {};
  for (const [name, value] of Object.entries(values)) if (value !== null && value !== undefined) present[name] = value;
  return isPresent<T>(present) ? present : {};
}

function isPresent<T>(_values: Partial<Record<string, unknown>>): _values is Present<T> {
  return true;
}

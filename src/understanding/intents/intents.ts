import { type Cue, says } from '../lexicon/lexicon.ts';
import type { Artifact, Intent, SlotChange, Slots, UnderstandingContext } from '../understanding.ts';

/** What the intents are decided from. */
export interface Evidence {
  /** The message without what was pasted. */
  readonly text: string;
  readonly context: UnderstandingContext;
  /** Said in words, pasted figures not included. */
  readonly said: Slots;
  readonly changes: readonly SlotChange[];
  readonly artifact: Artifact | null;
  readonly measured: boolean;
  readonly acceptsDefault: boolean;
  readonly startsAfresh: boolean;
  /** Something beside slots was said: a topic out of scope, a wrong belief, a name of no table. */
  readonly otherContent: boolean;
  /** A fact is claimed or asked for. */
  readonly claims: boolean;
  readonly command: string | null;
  /** Networks named side by side. */
  readonly models: number;
  /** A setup on other GPUs than the person's own was told: "8 × 2, I have one". */
  readonly recipe: boolean;
  /** The price of a day, a month, a year is asked for. */
  readonly asksSum: boolean;
}

const ORDER: readonly Intent[] = [
  'oom_report',
  'what_if',
  'size',
  'fits',
  'max_batch',
  'max_size',
  'compare',
  'price',
  'translate',
  'measurement',
  'undo',
  'help',
  'reset',
  'greeting',
  'unknown',
];

const FAILURES: ReadonlySet<string> = new Set(['cuda_oom', 'paddle_oom', 'tensorflow_oom', 'cudnn_error', 'host_oom']);
/** Asking whether it would fail is asking whether it fits. */
const ASKS_WHETHER =
  /会不会\s?(?:爆显存|爆|炸|oom|崩|挂)(?:了|显存|掉)?|会(?:爆|炸|oom)(?:显存)?(?:吗|么|不)|(?:怕|避免|防止|不想|不会|才?不|怎么不|别|没有?)(?:再)?(?:爆|炸|oom)(?:显存|了|掉)?|(?:without|avoid(?:ing)?|prevent(?:ing)?|won'?t|will it|would it|does it|not|no|never|can it) (?:go(?:ing)? |get(?:ting)? |run(?:ning)? )?(?:an? )?(?:oom|out of memory|crash|blow up|overflow|die)/g;

/** "显存不够的话能不能…", "if it runs out, can I …": what would be done then. */
const IF_IT_FAILED =
  /(?:如果|要是|万一|假如|若|以防)[^,.;?\n]{0,14}(?:爆|炸|oom|不够|不足|放不下|跑不(?:了|动)|崩)|(?:显存|内存|卡)?(?:不够|不足|爆了?|炸了?|放不下|oom)(?:的话|的时候|怎么办)|(?:不是|并非)[^,.;\n]{0,8}(?:不够|爆|oom|放不下)|(?:显存|内存)?(?:不够|不足|放不下|爆了?)(?:的话)?[就再](?=[^,.;\n]{0,6}(?:把|减|降|开|换|用|改))|(?<![a-z])(?:if|in case|should) (?:it|that|this|we|i)(?:'?s)? [^,.;?\n]{0,20}(?:ooms?|out of memory|runs? out|crash(?:es)?|dies|fails?|not fit|enough)/g;

function reportsFailure({ artifact, text }: Evidence): boolean {
  if (artifact !== null && FAILURES.has(artifact.kind)) return true;
  return says('oom', text) && says('oom', text.replace(ASKS_WHETHER, ' ').replace(IF_IT_FAILED, ' '));
}

const same = (left: unknown, right: unknown): boolean => JSON.stringify(left) === JSON.stringify(right);

/** Slots that replace a different value that was held. */
function overrides({ said, context }: Evidence): readonly string[] {
  const held: Readonly<Record<string, unknown>> = { ...context.held };
  return Object.entries(said)
    .filter(([name, value]) => held[name] !== undefined && !same(held[name], value))
    .map(([name]) => name);
}

const SIZE_PAIR: ReadonlySet<string> = new Set(['imageHeight', 'imageWidth']);

/** Only what the bot asked for, whatever slots come with it, as long as nothing held is changed. */
function isAnswer(evidence: Evidence): boolean {
  const { asked } = evidence.context;
  if (asked === null) return false;
  const names = Object.keys(evidence.said);
  const given = names.includes(asked) || (SIZE_PAIR.has(asked) && names.some((name) => SIZE_PAIR.has(name)));
  const completes = asked === 'budget' || asked === 'model' ? [asked, 'backbone'] : [asked];
  return (given || evidence.acceptsDefault) && overrides(evidence).every((name) => completes.includes(name));
}

function changesEstimate(evidence: Evidence): boolean {
  const { context, said, changes, text, startsAfresh, command } = evidence;
  if (startsAfresh || Object.keys(context.held).length === 0) return false;
  if (command === 'cheaper') return true;
  if (Object.keys(said).length === 0 && changes.length === 0) return false;
  if (isAnswer(evidence)) return false;
  return context.answered || overrides(evidence).length > 0 || changes.length > 0 || says('whatIf', text);
}

const RECIPE_OF_OTHERS = /官方|论文|原(?:文|版|作|配置)|recipe|paper|official|original(?:ly)?|upstream|配方|原来/;
const OWN_LIMIT =
  /只有|就(?:一|1|两|2)|我(?:这|们)?(?:里|边|手上)?(?:有|是|用)|only have|i have|we have|i've got|my (?:single|one)|on (?:a single|one|my)/;
const TRANSLATE_WORDS =
  /(?:学习率|(?<![a-z])lr(?![a-z])|learning rate)[^,.;\n]{0,12}(?:怎么|多少|要不要|调|改|缩放|换算|对应|呢|scal|should|\?)|(?:scale|adjust|change|what|which|how|怎么|调|改)[^,.;\n]{0,24}(?:学习率|(?<![a-z])lr(?![a-z])|learning rate)|(?:accumulat[a-z]*|累积)[^,.;\n]{0,14}(?:how many|多少|几步|怎么)|(?:how many|多少|几)[^,.;\n]{0,12}(?:accumulat[a-z]*|累积)|等效(?! ?(?:的)? ?(?:batch|bs|批)? ?(?:是|为|=|:)? ?\d)|换算|等价|复现|reproduce|equivalent|same (?:total|effective|global) batch|(?:total|effective|global) batch(?: size)? (?:(?:should|must|has to|needs to) )?(?:stays?|remains?|(?:is|be) (?:kept|the same|unchanged))|总 ?batch ?(?:不变|保持)|keep (?:the )?(?:total|effective|global)/;

const ASKS_HOW =
  /怎么(?:设|配|调|改|办|弄|训|跑|换)|如何(?:设|配|调|改)|该(?:设|配|调|改)|how (?:do|should|can|would|to)|what (?:should|do) i/;

/** "8x2 → 1x2" */
const MOVES = /→|->|=>/;

function translates({ text, recipe }: Evidence): boolean {
  return (
    TRANSLATE_WORDS.test(text) ||
    (recipe && (ASKS_HOW.test(text) || MOVES.test(text))) ||
    (RECIPE_OF_OTHERS.test(text) && OWN_LIMIT.test(text) && /\d\s?(?:x|卡|张|gpus?|cards?)|batch|bs/.test(text))
  );
}

function compares({ text, said, models }: Evidence): boolean {
  const cards = Array.isArray(said.gpu) && said.gpu.length > 1;
  return says('compare', text) && (cards || models > 1);
}

const EXPLICIT: readonly (readonly [Intent, Cue])[] = [
  ['size', 'size'],
  ['fits', 'fits'],
  ['max_batch', 'maxBatch'],
  ['max_size', 'maxSize'],
  ['price', 'price'],
];

const ASKS_PRICE =
  /多少|价|钱|费|贵|花|划算|成本|折合|便宜|cost|price|pricing|how much|expensive|cheap|bill|rate|damage|\?$|呢/;

/** "包月的话 unet 512 选哪个": a way of paying beside a workload asks for no price. */
function choosesByCharge(intent: Intent, { said, text }: Evidence): boolean {
  return intent === 'price' && said.chargeType !== undefined && said.model !== undefined && !ASKS_PRICE.test(text);
}

/** "算下能开多大 batch" asks for the batch, not for memory. */
const NEEDS_MEMORY =
  /显存|内存|memory|vram|\d ?gi?b?(?![a-z])|多少 ?g|多大的?(?:显|卡|机)|什么卡|哪[种款个]|which|what (?:gpu|card)|need|推荐|租/;

function explicit(evidence: Evidence): readonly Intent[] {
  const { text, artifact, measured } = evidence;
  // how far a sum goes is no question whether something runs
  const lasts = says('lasts', text);
  const asked = EXPLICIT.filter(
    ([intent, cue]) => says(cue, text) || (intent === 'price' && (lasts || evidence.asksSum)),
  )
    .map(([intent]) => intent)
    .filter((intent) => !choosesByCharge(intent, evidence));
  const compare = compares(evidence);
  const maximum = asked.includes('max_batch') || asked.includes('max_size');
  const softly = maximum && !NEEDS_MEMORY.test(text);
  const kept = asked.filter(
    (intent) =>
      !(intent === 'size' && softly) &&
      !(intent === 'size' && compare) &&
      !(intent === 'fits' && compare && evidence.models > 1) &&
      !((maximum || lasts) && intent === 'fits'),
  );
  return [
    ...kept,
    ...(compare ? (['compare'] as const) : []),
    ...(translates(evidence) ? (['translate'] as const) : []),
    ...(measured || artifact?.kind === 'nvidia_smi' || artifact?.kind === 'training_log'
      ? (['measurement'] as const)
      : []),
  ];
}

const WORKLOAD: ReadonlySet<string> = new Set([
  'model',
  'backbone',
  'imageHeight',
  'imageWidth',
  'batchSize',
  'numClasses',
  'gpu',
  'gpus',
  'budget',
  'precision',
  'dataset',
  'optimizer',
  'region',
  'chargeType',
]);

function speaksOfWorkload({ said, artifact }: Evidence): boolean {
  return (
    Object.keys(said).some((name) => WORKLOAD.has(name)) || artifact?.kind === 'config' || artifact?.kind === 'code'
  );
}

/** Words that steer the conversation; beside a workload they are only politeness or grammar. */
function steering(evidence: Evidence): readonly Intent[] {
  const { text, changes, command } = evidence;
  if (speaksOfWorkload(evidence) || changes.length > 0 || command !== null) return [];
  const undo = says('undo', text) ? (['undo'] as const) : [];
  const help = says('help', text) ? (['help'] as const) : [];
  const reset = says('reset', text) || says('afresh', text) ? (['reset'] as const) : [];
  const greeting = says('greeting', text) ? (['greeting'] as const) : [];
  return [...undo, ...help, ...reset, ...greeting];
}

const ASIDES: ReadonlySet<Intent> = new Set(['undo', 'help', 'reset', 'greeting', 'unknown', 'measurement', 'what_if']);

/** A workload without a question: does it run on the card that was named, else what does it need. */
function implied(evidence: Evidence): Intent {
  const { said, context } = evidence;
  const served = context.lastIntent !== null && !ASIDES.has(context.lastIntent) ? context.lastIntent : null;
  // a whole run after a question about prices is a question of its own
  const priced = served === 'price' && said.model !== undefined;
  if (served !== null && !evidence.startsAfresh && !priced) return served;
  const card = said.gpu !== undefined && !Array.isArray(said.gpu);
  return card && said.model !== undefined ? 'fits' : 'size';
}

/** All intents of a message, in the documented order; the first is the one served. */
export function decideIntents(evidence: Evidence): readonly Intent[] {
  const whatIf = changesEstimate(evidence) ? (['what_if'] as const) : [];
  const failure = reportsFailure(evidence) ? (['oom_report'] as const) : [];
  const steered = steering(evidence);
  const questions = steered.some((intent) => intent === 'help' || intent === 'undo' || intent === 'reset')
    ? []
    : explicit(evidence);
  const found = new Set<Intent>([...failure, ...whatIf, ...questions, ...steered]);
  if (found.size === 0) found.add(hasContent(evidence) || opens(evidence) ? implied(evidence) : 'unknown');
  return ORDER.filter((intent) => found.has(intent));
}

/** "我想训个分割模型": no question and no figure yet, but the beginning of one. */
function opens({ text, otherContent }: Evidence): boolean {
  return !otherContent && says('wantsToTrain', text);
}

function hasContent(evidence: Evidence): boolean {
  return (
    speaksOfWorkload(evidence) ||
    Object.keys(evidence.said).length > 0 ||
    evidence.changes.length > 0 ||
    evidence.acceptsDefault ||
    evidence.claims ||
    (evidence.command !== null && evidence.context.lastIntent !== null)
  );
}

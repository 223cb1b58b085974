import { matchesOf } from './matches.ts';
import type { Normalized } from './normalize.ts';
import type { Slots, Understanding } from './understanding.ts';

/** A message that may describe two runs, cut between them. */
interface TwoTexts {
  readonly first: string;
  readonly second: string;
  /** The words say that another run begins: one value that differs is enough. */
  readonly announced: boolean;
}

/** What a second run begins with: a size, a batch. */
const BEGINS = '(?=(?:图|尺寸|size |crop |batch|bs ?\\d)|\\d{2,4}(?: ?px| ?x ?\\d{2,4}|(?![\\dx])))';
const NAMED = '(?=[a-z][a-z\\d+ -]{2,24}? \\d{3,4})';
const BREAK = '(?:[\\s,;.]|(?<=[\\u4e00-\\u9fff\\d]))';

/** "then the same at 512", "and also 1024 batch 2", "另外再看一下 768 的" */
const ANNOUNCED = new RegExp(
  `${BREAK}(?:(?:and |or )?(?:then|also|next|afterwards?|later|plus|as well as|again)[ ,]|(?:and |or )(?=(?:the )?same )|(?:然后|另外|还有|还想|以及|同时|顺便|接着|再(?=[看算来估试跑测用])))(?:[ ,]|the |do |try |run |show |me |it |same |again |another |as well |thing |one |model |net(?:work)? |setup |but |at |with |for |on |in |using |再|也|想|请|帮我|给我|看|算|来|估|试|跑|测|用|[一1]?下|[一1]个|同样的?|一样的?|其他不变)*${BEGINS}`,
  'g',
);
const JOINED = new RegExp(
  `${BREAK}(?:和|与|跟|以及|或者?|还是|(?:and|or|vs\\.?) |(?<=[,;] ?)) ?(?:with |at )?(?:${BEGINS}|${NAMED})`,
  'g',
);
/** Each of several is asked for. */
const EACH = /各(?=要|需|是|占|吃|用|自|多)|分别|respectively|(?:for|of) (?:both|each)|(?<![a-z])both(?![a-z])/;

/** Longer messages are pasted. */
const SENTENCE = 240;
/** A run has two figures, its size and its batch; one that begins the message may have them behind. */
const FIGURES = /\d\D+\d/;
/** A side in digits, or a name that stands for one ("1k", "hd"). */
const SIDE = /\d{2}x|x ?\d{2}|\d{3}|\dk|hd|[一二三四五六七八九十百千]/i;

/** Places where a second run may begin; whether both parts describe one is seen when they are read. */
export function cutsBetweenRuns({ text, cased }: Normalized): readonly TwoTexts[] {
  if (text.length > SENTENCE || text.includes('\n') || !FIGURES.test(text)) return [];
  const each = EACH.test(text);
  const announced = matchesOf(ANNOUNCED, text).map((link) => cutAt(cased, link, true));
  const joined = matchesOf(JOINED, text).map((link) => cutAt(cased, link, each));
  return [...announced, ...joined].filter(
    ({ first, second, announced: one }) => one || (mayBeRun(first) && mayBeRun(second)),
  );
}

const mayBeRun = (text: string): boolean => FIGURES.test(text) && SIDE.test(text);

function cutAt(text: string, { index, 0: link }: RegExpExecArray, announced: boolean): TwoTexts {
  return { first: text.slice(0, index), second: text.slice(index + link.length), announced };
}

/** Size and batch are said: where no words announce a second run, both parts must have them. */
export const isWholeRun = ({ imageHeight, batchSize }: Slots): boolean =>
  imageHeight !== undefined && batchSize !== undefined;

const OF_NETWORKS = ['model', 'backbone', 'implementation', 'modelText', 'outputStride', 'baseChannels'] as const;
const NETWORK = ['model', 'backbone', 'modelText'] as const;
const SIDES = ['imageHeight', 'imageWidth'] as const;

/**
 * The second of two runs with what it shares with the first, which is offered as the other one. Null where the parts
 * do not describe two runs.
 */
export function lastOfTwo(
  first: Understanding,
  second: Understanding,
  announced: boolean,
): Pick<Understanding, 'slots' | 'alternatives'> | null {
  const [one, two] = [first.slots, second.slots];
  const network = one.model !== undefined && two.model !== undefined && NETWORK.some((name) => one[name] !== two[name]);
  const size = SIDES.some((side) => differs(one[side], two[side]));
  const batch = differs(one.batchSize, two.batchSize);
  const complete = isWholeRun(one) && isWholeRun(two);
  if (!(size || batch) || !(announced || complete) || (network && !complete)) return null;
  const shared = network ? Object.fromEntries(Object.entries(one).filter(([name]) => !isOfNetwork(name))) : one;
  const named = (slots: Slots): string => runText(slots, { network, size: size || network, batch: batch || network });
  const slots = { ...shared, ...two };
  return { slots, alternatives: [{ taken: named(slots), other: named(one) }] };
}

function isOfNetwork(name: string): boolean {
  return OF_NETWORKS.some((one) => one === name);
}

function differs(one: number | undefined, other: number | undefined): boolean {
  return one !== undefined && other !== undefined && one !== other;
}

/** What makes a run another than the other, as it could be typed. */
function runText(
  slots: Slots,
  said: { readonly network: boolean; readonly size: boolean; readonly batch: boolean },
): string {
  const { model, backbone, modelText, imageHeight, imageWidth = imageHeight, batchSize } = slots;
  return [
    ...(said.network ? [modelText ?? [model, backbone].filter((part) => part !== undefined).join(' ')] : []),
    ...(said.size ? [`${imageHeight}x${imageWidth}`] : []),
    ...(said.batch ? [`batch ${batchSize}`] : []),
  ].join(' ');
}

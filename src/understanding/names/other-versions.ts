import { matchesOf } from '../matches.ts';
import type { NameHit } from './name-trie.ts';
import { type NormalText, originOf } from './normal-text.ts';
import type { Span } from './spans.ts';

const WORD = /[a-z0-9][a-z0-9+]*(?:[-_][a-z0-9+]+)*/g;
const SIZE = /^(?:[tsblhgmnx]|x{1,2}l|tiny|small|base|large|huge|giant|xlarge)$/;
const VERSION = /^(?:v\d|hq)$/;
const VERSION_BEHIND = /^ v\d(?![\da-z])/;
const LETTERS = /^[a-z]{3,}$/;
/** Words on a name that change nothing of the network: where it comes from, what it runs on, which file it is. */
const UNCHANGED = new Set(
  (
    'based like style pretrained pretrain finetune finetuned finetuning fine tune tuned train training trained trainer scratch ' +
    'model models backbone backbones encoder encoders decoder head heads seg semseg segmentation semantic instance official ' +
    'torch pytorch torchvision mmseg mmsegmentation mmdet smp hugging face transformers timm nvidia openmmlab milesial imagenet ' +
    'pre medical crop size batch input image images img gpu gpus card cuda amp half float ddp aux auxiliary best final last ' +
    'latest test testing demo run exp job new old our own multi single binary class classes rgb gray syncbn sync dice adam ' +
    'adamw sgd epoch epochs iter iters version net network config configs cfg build weights name names get make create load ' +
    'register meta arch layers stage stages depth type module baseline main experiment original vanilla plain standard ' +
    'default the for with and from only per each'
  ).split(' '),
);
const CHANGED_BEFORE =
  /(?:魔改|改进|改版|改过|自己改|自改|自研|\b(?:modified|customi[sz]ed|custom|tweaked|homemade))(?:[的版过了]|后的)*\s{0,2}$/;
const CHANGED_BEHIND = /^\s?的?(?:魔改版?|改进版|改版|变体|变种)|^['’s]{0,2} (?:variant|derivative)\b/;
/** Blocks that people put into a network. */
const BLOCK_ADDED =
  /(?:\+|加(?:了|上|入)?|带|插(?:了|入)?|\b(?:with|plus|and)\b) ?(?:an? |extra )?((?:cbam|eca|coord(?:inate)?[ -]?att(?:ention)?|dcn(?:v\d)?|deformable conv(?:olution)?s?|kan|mamba|se(?=[ -]?(?:block|module|attention|注意力|模块))|(?:swin|vit|transformer)(?=[ -]?(?:bottleneck|瓶颈)))(?:[ -]?(?:blocks?|modules?|layers?|attention|bottleneck|注意力|模块|层|瓶颈))?)(?![a-z\d])/;
const REACH = 16;
/** Names in one word; keeps the search linear. */
const MOST_PARTS = 8;

export interface NamesFound {
  readonly normal: NormalText;
  /** Known names in the order of the text. */
  readonly hits: readonly NameHit[];
  /** Words of data sets' names. */
  readonly datasetWords: ReadonlySet<string>;
}

/**
 * The first name of a text that is a known one changed ("flatten-swin-t", "segformer-lite", "unet with cbam"), as typed:
 * its figures are not those of the published network. Null where every name stands as published.
 */
export function otherVersion(text: string, found: NamesFound): string | null {
  const { normal, hits } = found;
  if (hits.length === 0) return null;
  const typed = ({ start, end }: Span): string => text.slice(originOf(normal, start), originOf(normal, end));
  const said = hits.map((hit) => saidChanged(normal.text, hit));
  const span = longerName(found) ?? said.find((one) => one !== undefined);
  return span === undefined ? (BLOCK_ADDED.exec(normal.text)?.[1] ?? null) : typed(span);
}

/** A word that a known name is only a part of. */
function longerName({ normal: { text }, hits, datasetWords }: NamesFound): Span | undefined {
  let next = 0;
  for (const match of matchesOf(WORD, text)) {
    const start = match.index;
    const end = start + match[0].length;
    while ((hits[next]?.end ?? Number.POSITIVE_INFINITY) <= start) next += 1;
    const first = hits[next];
    if (first === undefined) return undefined;
    if (first.start >= end) continue;
    const within = hits.slice(next, next + MOST_PARTS).filter((hit) => hit.start < end);
    const changes = leftOver(text, { start, end }, within).some((word) => isChange(word) && !datasetWords.has(word));
    if (changes) return { start: Math.min(start, first.start), end };
    const last = within.at(-1)?.end ?? first.end;
    const behind = VERSION_BEHIND.exec(text.slice(last, last + 5));
    if (behind !== null) return { start: first.start, end: last + behind[0].length };
  }
  return undefined;
}

/** What of a word belongs to none of the names in it. */
function leftOver(text: string, word: Span, hits: readonly NameHit[]): readonly string[] {
  const pieces: string[] = [];
  let from = word.start;
  for (const { start, end } of hits) {
    if (start > from) pieces.push(text.slice(from, start));
    from = Math.max(from, end);
  }
  if (from < word.end) pieces.push(text.slice(from, word.end));
  return pieces.flatMap((piece) => piece.split(/[-_+]/));
}

function isChange(word: string): boolean {
  return SIZE.test(word) || VERSION.test(word) || (LETTERS.test(word) && !UNCHANGED.has(word));
}

/** "魔改的 unet", "unet variant": the name with the word that says so. */
function saidChanged(text: string, { start, end }: Span): Span | undefined {
  const lead = CHANGED_BEFORE.exec(text.slice(Math.max(0, start - REACH), start))?.[0];
  if (lead !== undefined) return { start: start - lead.length, end };
  const behind = CHANGED_BEHIND.exec(text.slice(end, end + REACH))?.[0];
  return behind === undefined ? undefined : { start, end: end + behind.length };
}

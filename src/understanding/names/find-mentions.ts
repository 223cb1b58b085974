import type { Implementation } from '../../../catalog/models.ts';
import { canonicalName } from './canonical-name.ts';
import { type CombinedName, combineHits } from './combine.ts';
import { findConfigCode } from './config-code.ts';
import { findConstructors } from './constructors.ts';
import { forgiveTyping, type UnsureWord } from './forgive.ts';
import type { ModelMention } from './mention.ts';
import { scanNames } from './name-trie.ts';
import { type NormalText, normalText, originOf } from './normal-text.ts';
import { defaultVocabulary, type NameVocabulary } from './vocabulary.ts';
import { findWrittenNames } from './written-names.ts';

interface Span {
  readonly start: number;
  readonly end: number;
}

/** Words that decide the library of a plain name. */
const LIBRARIES: readonly (readonly [RegExp, Implementation])[] = [
  [/\bmmseg(?:mentation)?\b|\bopenmmlab\b/, 'mmseg'],
  [/\bsmp\b|segmentation[_ -]models[_ .-](?:pytorch|torch)|\bqubvel\b/, 'smp'],
  [/\btorch ?vision\b/, 'torchvision'],
  [
    /\bhf\b|hugging ?face|\btransformers (?:lib|library|库|版|的|implementation|version)|(?:^|[^a-z])transformers 库/,
    'transformers',
  ],
  [/\bdetectron ?2?\b/, 'detectron2'],
  [/\bmm ?det(?:ection)?\b/, 'mmdetection'],
  [/\bmilesial\b/, 'milesial'],
];

/** More networks than any message is about: a pasted log repeats itself. */
const MOST_MENTIONS = 64;
const MOST_HITS = 4 * MOST_MENTIONS;

/** The networks named in a text (the first 64 of each form), in the order of the text. Linear in its length. */
export function findModelMentions(text: string, vocabulary: NameVocabulary = defaultVocabulary()): ModelMention[] {
  const calls = text.includes('(') ? findConstructors(text, { vocabulary, most: MOST_MENTIONS }) : [];
  const written = findWrittenNames(text, { vocabulary, most: MOST_MENTIONS }).filter((mention) => !overlaps(mention, calls));
  const pasted = calls.length === 0 && text.includes('decode_head') ? findConfigCode(text, vocabulary) : null;
  const taken =
    pasted === null ? [...calls, ...written] : [...calls, ...written.filter((m) => !overlaps(m, [pasted])), pasted];
  const plain = findPlainNames(text, taken, vocabulary).filter((mention) => !repeats(mention, taken));
  return [...taken, ...plain].toSorted((one, other) => one.start - other.start);
}

/** One name by itself ("segformer b2", a config name, a constructor); undefined where none is known. */
export function parseModelName(
  text: string,
  vocabulary: NameVocabulary = defaultVocabulary(),
): ModelMention | undefined {
  const mentions = findModelMentions(text, vocabulary);
  return mentions.toSorted((one, other) => weight(other) - weight(one) || one.start - other.start)[0];
}

/** A constructor or recipe says more than a plain name; a head more than a backbone alone. */
function weight({ architecture, form, confidence }: ModelMention): number {
  return (architecture === null ? 0 : 4) + (form === 'plain' ? 0 : 2) + confidence;
}

/** Library that the words of a message decide; undefined where they name none or several. */
export function findImplementation(text: string): Implementation | undefined {
  const lower = text.toLowerCase();
  const named = LIBRARIES.filter(([pattern]) => pattern.test(lower));
  return named.length === 1 ? named[0]?.[1] : undefined;
}

/** "from unet import UNet": the bare name beside the full one says nothing more. */
function repeats({ architecture, backbone, variant }: ModelMention, written: readonly ModelMention[]): boolean {
  return (
    variant === undefined &&
    written.some(
      (full) =>
        (architecture === null || architecture === full.architecture) &&
        (backbone === null || backbone === full.backbone),
    )
  );
}

function overlaps({ start, end }: Span, spans: readonly Span[]): boolean {
  return spans.some((span) => start < span.end && span.start < end);
}

function findPlainNames(text: string, taken: readonly Span[], vocabulary: NameVocabulary): ModelMention[] {
  const normal = normalText(blankOut(text, taken));
  const exact = scanNames(vocabulary.trie, normal.text, MOST_HITS);
  const { forgiven, unsure } = forgiveTyping(normal, exact, vocabulary);
  const read = forgiven?.text ?? normal;
  const hits = forgiven === null ? exact : scanNames(vocabulary.trie, read.text, MOST_HITS);
  const implementation = findImplementation(text);
  const mentions = combineHits(read.text, hits, vocabulary).map((name) => {
    const start = originOf(read, name.start);
    const end = originOf(read, name.end);
    const typed = forgiven?.corrections.some((span) => span.start < name.end && name.start < span.end) === true;
    return plainMention(name, { text: text.slice(start, end), start, end, typed, implementation });
  });
  if (mentions.some(({ architecture }) => architecture !== null)) return mentions;
  return [
    ...mentions,
    ...unsureMentions(text, { normal, unsure, vocabulary }),
    ...unknownMentions(text, normal, exact),
  ];
}

/** The text with spans made unreadable, every index staying where it was. */
function blankOut(text: string, spans: readonly Span[]): string {
  const pieces: string[] = [];
  let from = 0;
  for (const { start, end } of spans.toSorted((one, other) => one.start - other.start)) {
    if (start < from) continue;
    pieces.push(text.slice(from, start), '\u0000'.repeat(end - start));
    from = end;
  }
  return [...pieces, text.slice(from)].join('');
}

interface UnsureContext {
  readonly normal: NormalText;
  readonly unsure: readonly UnsureWord[];
  readonly vocabulary: NameVocabulary;
}

/** "xcnet": which of the networks one letter away? Only asked where no network was understood. */
function unsureMentions(text: string, { normal, unsure, vocabulary }: UnsureContext): ModelMention[] {
  return unsure.flatMap((word) => {
    const start = originOf(normal, word.start);
    const end = originOf(normal, word.end);
    const candidates = word.candidates.flatMap((name) => canonicalName(name, vocabulary)?.architecture ?? []);
    if (candidates.length !== word.candidates.length) return [];
    const alternatives = [...new Set(candidates)];
    return [{ ...NOTHING, alternatives, confidence: SEVERAL, text: text.slice(start, end), start, end }];
  });
}

/** Words made like a network's name; held as typed where no table has them. */
const LIKE_A_NETWORK = /(?<![a-z0-9_/.@-])[a-z][a-z0-9]{1,20}(?:net|former|seg)(?:v\d|\+\+)?(?![a-z0-9_/.@-])/g;
const NOT_A_NETWORK = new Set(
  (
    'imagenet internet ethernet subnet dotnet telnet cabinet planet magnet hornet bonnet cornet wordnet kubernet usenet cosnet ' +
    'infiniband subnet transformer performer reformer platformer informer former conformer mmseg paddleseg easyseg semseg instseg'
  ).split(' '),
);

function unknownMentions(text: string, normal: NormalText, hits: readonly Span[]): ModelMention[] {
  const mentions: ModelMention[] = [];
  for (const match of normal.text.matchAll(LIKE_A_NETWORK)) {
    const span = { start: match.index, end: match.index + match[0].length };
    if (overlaps(span, hits) || NOT_A_NETWORK.has(match[0])) continue;
    const start = originOf(normal, span.start);
    const end = originOf(normal, span.end);
    const typed = text.slice(start, end);
    mentions.push({ ...NOTHING, architecture: match[0], confidence: UNKNOWN, text: typed, start, end });
  }
  return mentions;
}

interface PlainContext {
  readonly text: string;
  readonly start: number;
  readonly end: number;
  readonly typed: boolean;
  readonly implementation: Implementation | undefined;
}

const EXACT = 1;
const FORGIVEN = 0.8;
const SEVERAL = 0.5;
const UNKNOWN = 0.3;
const NOTHING = {
  architecture: null,
  backbone: null,
  options: {},
  words: [],
  form: 'plain',
  alternatives: [],
} as const;

function plainMention(name: CombinedName, context: PlainContext): ModelMention {
  const { outputStride, ...options } = name.options;
  const implementation = name.implementation ?? context.implementation;
  const unsure = name.alternatives.length > 0 || (name.architecture === null && name.variant !== undefined);
  return {
    architecture: name.architecture,
    backbone: name.backbone,
    ...(implementation === undefined ? {} : { implementation }),
    ...(name.variant === undefined || name.backbone !== null ? {} : { variant: name.variant }),
    options,
    words: [],
    ...(outputStride === 8 || outputStride === 16 || outputStride === 32 ? { outputStride } : {}),
    text: context.text,
    start: context.start,
    end: context.end,
    form: 'plain',
    confidence: unsure ? SEVERAL : context.typed ? FORGIVEN : EXACT,
    alternatives: name.alternatives,
  };
}

import type { Implementation } from '../../../catalog/models.ts';
import { type CombinedName, combineHits } from './combine.ts';
import { findConstructors } from './constructors.ts';
import { forgiveTyping } from './forgive.ts';
import type { ModelMention } from './mention.ts';
import { scanNames } from './name-trie.ts';
import { normalText, originOf } from './normal-text.ts';
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

/** Every network named in a text, in the order of the text. Linear in its length. */
export function findModelMentions(text: string, vocabulary: NameVocabulary = defaultVocabulary()): ModelMention[] {
  const calls = text.includes('(') ? findConstructors(text, vocabulary) : [];
  const written = findWrittenNames(text, vocabulary).filter((mention) => !overlaps(mention, calls));
  const taken = [...calls, ...written];
  const plain = findPlainNames(text, taken, vocabulary);
  return [...taken, ...plain].toSorted((one, other) => one.start - other.start);
}

/** One name by itself ("segformer b2", a config name, a constructor); undefined where none is known. */
export function parseModelName(
  text: string,
  vocabulary: NameVocabulary = defaultVocabulary(),
): ModelMention | undefined {
  const mentions = findModelMentions(text, vocabulary);
  const whole = mentions.find(({ architecture }) => architecture !== null);
  return whole ?? mentions[0];
}

/** Library that the words of a message decide; undefined where they name none or several. */
export function findImplementation(text: string): Implementation | undefined {
  const lower = text.toLowerCase();
  const named = LIBRARIES.filter(([pattern]) => pattern.test(lower));
  return named.length === 1 ? named[0]?.[1] : undefined;
}

function overlaps({ start, end }: Span, spans: readonly Span[]): boolean {
  return spans.some((span) => start < span.end && span.start < end);
}

function findPlainNames(text: string, taken: readonly Span[], vocabulary: NameVocabulary): ModelMention[] {
  const normal = normalText(blankOut(text, taken));
  const exact = scanNames(vocabulary.trie, normal.text);
  const forgiven = forgiveTyping(normal, exact, vocabulary);
  const hits = forgiven === null ? exact : scanNames(vocabulary.trie, forgiven.text.text);
  const read = forgiven?.text ?? normal;
  const implementation = findImplementation(text);
  return combineHits(read.text, hits, vocabulary).map((name) => {
    const start = originOf(read, name.start);
    const end = originOf(read, name.end);
    const typed = forgiven?.corrections.some((span) => span.start < name.end && name.start < span.end) === true;
    return plainMention(name, { text: text.slice(start, end), start, end, typed, implementation });
  });
}

/** Keeps every index where it was. */
function blankOut(text: string, spans: readonly Span[]): string {
  let blanked = text;
  for (const { start, end } of spans)
    blanked = blanked.slice(0, start) + '\u0000'.repeat(end - start) + blanked.slice(end);
  return blanked;
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

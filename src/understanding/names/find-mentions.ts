import type { Implementation } from '../../../catalog/models.ts';
import { findConfigCode } from './config-code.ts';
import { findConstructors } from './constructors.ts';
import type { ModelMention } from './mention.ts';
import { findPlainNames } from './plain-names.ts';
import { overlaps } from './spans.ts';
import { defaultVocabulary, type NameVocabulary } from './vocabulary.ts';
import { findWrittenNames } from './written-names.ts';

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

/** The networks named in a text (the first 64 of each form), in the order of the text. Linear in its length. */
export function findModelMentions(text: string, vocabulary: NameVocabulary = defaultVocabulary()): ModelMention[] {
  const calls = text.includes('(') ? findConstructors(text, { vocabulary, most: MOST_MENTIONS }) : [];
  const written = findWrittenNames(text, { vocabulary, most: MOST_MENTIONS }).filter(
    (mention) => !overlaps(mention, calls),
  );
  const pasted = calls.length === 0 && text.includes('decode_head') ? findConfigCode(text, vocabulary) : null;
  const taken =
    pasted === null ? [...calls, ...written] : [...calls, ...written.filter((m) => !overlaps(m, [pasted])), pasted];
  const plain = findPlainNames(text, { taken, vocabulary, implementation: findImplementation(text) }).filter(
    (mention) => !repeats(mention, taken),
  );
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

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
  [/\bultralytics\b/, 'ultralytics'],
  [/\bmonai\b/, 'monai'],
];

/** More networks than any message is about: a pasted log repeats itself. */
const MOST_MENTIONS = 64;

/** The networks named in a text (the first 64 of each form), in the order of the text. Linear in its length. */
export function findModelMentions(text: string, vocabulary: NameVocabulary = defaultVocabulary()): ModelMention[] {
  const plain = halfWidth(text);
  const calls = plain.includes('(') ? findConstructors(plain, { vocabulary, most: MOST_MENTIONS }) : [];
  const written = findWrittenNames(plain, { vocabulary, most: MOST_MENTIONS });
  const pasted = calls.length === 0 && plain.includes('decode_head') ? findConfigCode(plain, vocabulary) : null;
  const longer = pasted === null ? calls : [...calls, pasted];
  const taken = [...longer, ...written.filter((mention) => !overlaps(mention, longer))];
  const implementation = findImplementation(plain);
  const named = findPlainNames(plain, { taken, vocabulary, implementation });
  const mentions = [...taken, ...named.filter((mention) => !repeats(mention, taken))];
  return mentions
    .toSorted((one, other) => one.start - other.start)
    .map((mention) => ({ ...mention, text: text.slice(mention.start, mention.end) }));
}

/** Full-width letters, digits and signs as plain ones; every index stays where it was. */
function halfWidth(text: string): string {
  return text.replaceAll(/[\uff01-\uff5e]/g, (sign) => String.fromCharCode(sign.charCodeAt(0) - 0xfee0));
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

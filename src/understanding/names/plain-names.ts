import type { Implementation } from '../../../catalog/models.ts';
import { type CombinedName, combineHits } from './combine.ts';
import { forgiveTyping } from './forgive.ts';
import type { ModelMention } from './mention.ts';
import { type NameHit, scanNames } from './name-trie.ts';
import { normalText, originOf } from './normal-text.ts';
import { otherVersion } from './other-versions.ts';
import { blankOut, type Span } from './spans.ts';
import { unknownMentions, unsureMentions, withUnknownBackbone } from './unknown-names.ts';
import type { NameVocabulary } from './vocabulary.ts';

export interface PlainSearch {
  /** What other forms of names already cover. */
  readonly taken: readonly Span[];
  readonly vocabulary: NameVocabulary;
  /** Library that the words of the message decide. */
  readonly implementation: Implementation | undefined;
}

const MOST_HITS = 256;
const LONGEST_FAMILY = 24;

/** Networks in running text, English or Chinese, spelled in any way of aliases.json or nearly so. */
export function findPlainNames(text: string, { taken, vocabulary, implementation }: PlainSearch): ModelMention[] {
  const normal = normalText(blankOut(text, taken));
  const exact = scanNames(vocabulary.trie, normal.text, MOST_HITS);
  const { forgiven, unsure } = forgiveTyping(normal, exact, vocabulary);
  const read = forgiven?.text ?? normal;
  const scanned = forgiven === null ? exact : scanNames(vocabulary.trie, read.text, MOST_HITS);
  const hits = scanned.filter((hit, index) => !isOthersSize(read.text, hit, scanned[index - 1]));
  const mentions = combineHits(read.text, hits, vocabulary).map((name) => {
    const start = originOf(read, name.start);
    const end = originOf(read, name.end);
    const typed = forgiven?.corrections.some((span) => span.start < name.end && name.start < span.end) === true;
    return plainMention(name, { text: text.slice(start, end), start, end, typed, implementation });
  });
  const networks = withChange(
    mentions.filter((mention) => !isPerson(mention)),
    otherVersion(text, { normal: read, hits, datasetWords: vocabulary.datasetWords }),
  );
  const questions = unsureMentions(text, { normal, unsure, vocabulary });
  const unknown = unknownMentions(text, normal, [...mentions, ...questions]);
  if (networks.some(({ architecture }) => architecture !== null))
    return withUnknownBackbone({ text, mentions: networks, unknown, estimable: vocabulary.estimable });
  return [...networks, ...questions, ...unknown];
}

/** The network that a message is about carries the changed name. */
function withChange(networks: readonly ModelMention[], changed: string | null): readonly ModelMention[] {
  if (changed === null) return networks;
  const about = networks.findIndex(({ text }) => text.includes(changed) || changed.includes(text));
  const chosen = Math.max(about, 0);
  return networks.map((mention, index) => (index === chosen ? { ...mention, changed } : mention));
}

const UNKNOWN_FAMILY = /[a-z]{3,}[a-z\d]*-$/;

/** The "b2" of "efficientvit-b2": a size of a family that no table has. */
function isOthersSize(text: string, { start, meaning }: NameHit, before: NameHit | undefined): boolean {
  if (meaning.variant === undefined || meaning.architecture !== undefined || before?.end === start - 1) return false;
  return UNKNOWN_FAMILY.test(text.slice(Math.max(0, start - LONGEST_FAMILY), start));
}

/** "Thanks, Sam": networks are written SAM or sam. */
function isPerson({ text, backbone }: ModelMention): boolean {
  return backbone === null && /^(?:Sam|Ann)$/.test(text);
}

interface PlainContext extends Span {
  readonly text: string;
  readonly typed: boolean;
  readonly implementation: Implementation | undefined;
}

/** See `ModelMention.confidence`. */
const CONFIDENCE = { exact: 1, forgiven: 0.8, usualSize: 0.6, several: 0.5 } as const;

function plainMention(name: CombinedName, context: PlainContext): ModelMention {
  const { outputStride, ...options } = name.options;
  const implementation = name.implementation ?? context.implementation;
  const sizes = name.otherSizes.map((size) => [name.architecture, size].filter((part) => part !== null).join(' '));
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
    confidence: confidenceOf(name, context),
    alternatives: [...name.alternatives, ...sizes],
  };
}

function confidenceOf(name: CombinedName, { typed }: PlainContext): number {
  if (name.alternatives.length > 0) return CONFIDENCE.several;
  if (name.architecture === null && name.variant !== undefined) return CONFIDENCE.several;
  if (name.otherSizes.length > 0) return CONFIDENCE.usualSize;
  return typed ? CONFIDENCE.forgiven : CONFIDENCE.exact;
}

import type { Implementation } from '../../../catalog/models.ts';
import { type CombinedName, combineHits } from './combine.ts';
import { forgiveTyping } from './forgive.ts';
import type { ModelMention } from './mention.ts';
import { scanNames } from './name-trie.ts';
import { normalText, originOf } from './normal-text.ts';
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

/** Networks in running text, English or Chinese, spelled in any way of aliases.json or nearly so. */
export function findPlainNames(text: string, { taken, vocabulary, implementation }: PlainSearch): ModelMention[] {
  const normal = normalText(blankOut(text, taken));
  const exact = scanNames(vocabulary.trie, normal.text, MOST_HITS);
  const { forgiven, unsure } = forgiveTyping(normal, exact, vocabulary);
  const read = forgiven?.text ?? normal;
  const hits = forgiven === null ? exact : scanNames(vocabulary.trie, read.text, MOST_HITS);
  const mentions = combineHits(read.text, hits, vocabulary).map((name) => {
    const start = originOf(read, name.start);
    const end = originOf(read, name.end);
    const typed = forgiven?.corrections.some((span) => span.start < name.end && name.start < span.end) === true;
    return plainMention(name, { text: text.slice(start, end), start, end, typed, implementation });
  });
  const networks = mentions.filter((mention) => !isPerson(mention));
  const questions = unsureMentions(text, { normal, unsure, vocabulary });
  const unknown = unknownMentions(text, normal, [...mentions, ...questions]);
  if (networks.some(({ architecture }) => architecture !== null)) return withUnknownBackbone(text, networks, unknown);
  return [...networks, ...questions, ...unknown];
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

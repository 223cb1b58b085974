import { matchesOf } from '../matches.ts';
import { canonicalName } from './canonical-name.ts';
import type { UnsureWord } from './forgive.ts';
import type { ModelMention } from './mention.ts';
import { type NormalText, originOf } from './normal-text.ts';
import { gapBetween, overlaps, type Span } from './spans.ts';
import type { NameVocabulary } from './vocabulary.ts';

export interface UnsureContext {
  readonly normal: NormalText;
  readonly unsure: readonly UnsureWord[];
  readonly vocabulary: NameVocabulary;
}

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

/** "xcnet": which of the networks one letter away? */
export function unsureMentions(text: string, { normal, unsure, vocabulary }: UnsureContext): ModelMention[] {
  return unsure.flatMap((word) => {
    const start = originOf(normal, word.start);
    const end = originOf(normal, word.end);
    const candidates = word.candidates.flatMap((name) => canonicalName(name, vocabulary)?.architecture ?? []);
    if (candidates.length !== word.candidates.length) return [];
    const alternatives = [...new Set(candidates)];
    return [{ ...NOTHING, alternatives, confidence: SEVERAL, text: text.slice(start, end), start, end }];
  });
}

const LIKE_A_NETWORK = /(?<![a-z0-9_/.@-])[a-z][a-z0-9]{1,20}(?:net|former|seg)(?:v\d|\+\+)?(?![a-z0-9_/.@-])/g;
const NOT_A_NETWORK = new Set(
  (
    'imagenet internet ethernet subnet dotnet telnet cabinet planet magnet hornet bonnet cornet wordnet usenet intranet clarinet cabernet tenet sonnet transformer ' +
    'performer reformer platformer informer former conformer mmseg paddleseg easyseg semseg instseg vnet'
  ).split(' '),
);

/** Words made like a network's name that no table has: held as typed. `known` are the mentions already understood. */
export function unknownMentions(text: string, normal: NormalText, known: readonly Span[]): ModelMention[] {
  const mentions: ModelMention[] = [];
  for (const match of matchesOf(LIKE_A_NETWORK, normal.text)) {
    const start = originOf(normal, match.index);
    const end = originOf(normal, match.index + match[0].length);
    if (NOT_A_NETWORK.has(match[0]) || overlaps({ start, end }, known)) continue;
    const typed = text.slice(start, end);
    mentions.push({ ...NOTHING, architecture: match[0], confidence: UNKNOWN, text: typed, start, end });
    if (mentions.length >= MOST_UNKNOWN) break;
  }
  return mentions;
}

const MOST_UNKNOWN = 16;
const BESIDE = /^[\s_+\-/(（的,，]{0,4}(?:with|on|and|用|配|加)?\s{0,2}$/;

/** "upernet + foonet": a backbone that no table has is held as typed, so that it is refused rather than replaced. */
export function withUnknownBackbone(
  text: string,
  mentions: readonly ModelMention[],
  unknown: readonly ModelMention[],
): ModelMention[] {
  return mentions.map((mention) => {
    if (mention.architecture === null || mention.backbone !== null) return mention;
    const partner = unknown.find((word) => BESIDE.test(gapBetween(text, mention, word)));
    if (partner === undefined) return mention;
    const start = Math.min(mention.start, partner.start);
    const end = Math.max(mention.end, partner.end);
    return {
      ...mention,
      backbone: partner.architecture,
      confidence: UNKNOWN,
      text: text.slice(start, end),
      start,
      end,
    };
  });
}

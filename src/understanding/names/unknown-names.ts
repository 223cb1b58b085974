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
/** No comma, no "and": those stand between two networks as well. */
const JOINED = '[\\s_+\\-/(（的]{0,4}(?:with|on|用|配)?\\s{0,2}(?:an? |the )?';
/** A word made like a backbone's name: a family with its size, or an ending that only networks have. */
const BACKBONE =
  '((?:[a-z][a-z0-9]{2,20}[-_](?:tiny|small|base|large|huge|giant|x{1,2}l|[tsblhg]|[abms]\\d{1,2}|\\d{1,2}[bm]|w\\d{2})|[a-z][a-z0-9]{1,16}(?:net|former|vit|mamba|mlp|vgg|swin|hiera)(?:v?\\d{1,3})?(?:-[a-z0-9]{1,6})?))';
const BEHIND_HEAD = new RegExp(`^${JOINED}${BACKBONE}(?![a-z0-9_/.@-])`);
const BEFORE_HEAD = new RegExp(`(?<![a-z0-9_/.@-])${BACKBONE}${JOINED}$`);
const REACH = 48;

interface Partner extends Span {
  readonly name: string;
}

interface Neighbours {
  readonly text: string;
  readonly mentions: readonly ModelMention[];
  readonly unknown: readonly ModelMention[];
  readonly estimable: ReadonlySet<string>;
}

/** "upernet + foonet": a backbone that no table has is held as typed, so that it is refused rather than replaced. */
export function withUnknownBackbone(found: Neighbours): ModelMention[] {
  const { text, mentions } = found;
  const partners: Partner[] = [];
  const completed = mentions.map((mention) => {
    const partner = isHead(mention) ? partnerOf(mention, found) : undefined;
    if (partner === undefined) return mention;
    partners.push(partner);
    const start = Math.min(mention.start, partner.start);
    const end = Math.max(mention.end, partner.end);
    return { ...mention, backbone: partner.name, confidence: UNKNOWN, text: text.slice(start, end), start, end };
  });
  return completed.filter(({ start, backbone }) => backbone !== null || partners.every((one) => one.start !== start));
}

function isHead({ architecture, backbone }: ModelMention): boolean {
  return architecture !== null && backbone === null;
}

function partnerOf(head: ModelMention, { text, mentions, unknown, estimable }: Neighbours): Partner | undefined {
  const word = unknown.find((one) => BESIDE.test(gapBetween(text, head, one)));
  if (word?.architecture != null) return { name: word.architecture, start: word.start, end: word.end };
  if (!estimable.has(head.architecture ?? '')) return undefined;
  const spelled = spelledBeside(text.toLowerCase(), head);
  const known = mentions.find((one) => one !== head && spelled !== undefined && overlaps(one, [spelled]));
  return known === undefined || !estimable.has(known.architecture ?? 'backbone') ? spelled : undefined;
}

function spelledBeside(text: string, { start, end }: Span): Partner | undefined {
  const behind = BEHIND_HEAD.exec(text.slice(end, end + REACH));
  const before = behind === null ? BEFORE_HEAD.exec(text.slice(Math.max(0, start - REACH), start)) : null;
  const name = (behind ?? before)?.[1];
  if (name === undefined || NOT_A_NETWORK.has(name)) return undefined;
  const from = behind === null ? text.lastIndexOf(name, start) : text.indexOf(name, end);
  return { name, start: from, end: from + name.length };
}

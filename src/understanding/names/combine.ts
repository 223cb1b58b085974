import type { NameMeaning, OptionValue } from '../../../catalog/models.ts';
import type { NameHit } from './name-trie.ts';
import { completeVariant } from './refine-variant.ts';
import type { NameVocabulary } from './vocabulary.ts';

/** What a group of names standing together means. */
export interface CombinedName {
  readonly start: number;
  readonly end: number;
  readonly architecture: string | null;
  readonly backbone: string | null;
  readonly implementation?: NameMeaning['implementation'];
  readonly variant?: string;
  readonly options: Readonly<Record<string, OptionValue>>;
  /** What else the architecture may be. */
  readonly alternatives: readonly string[];
  /** Only the backbone's family was said: its usual size was taken, these are the others. */
  readonly otherSizes: readonly string[];
}

/** Words that put two names beside each other as alternatives, not as head and backbone. */
const BREAK =
  /还是|或|换成|改成|对比|而不是|不是|[;；。]|\n\s*\n|(?:^|[^a-z])(?:vs|or|versus|than|instead|then)(?:[^a-z]|$)|(?:不管|别管|不看|不跑|算|不要|不用)了/;
const TOUCHING = /^[\s_\-+/]{0,2}$/;
const BESIDE = /^[\s_\-+/(（的,，]{0,3}$/;
/** More names than any network has; keeps grouping linear. */
const LONGEST_GROUP = 12;
const FAR = 24;
const NEAR = 40;
/** With one head and one backbone in the whole message they belong together however far apart. */
const WHOLE_MESSAGE = 240;

/** Groups names of running text into networks: head and backbone in either order, near each other. */
export function combineHits(text: string, hits: readonly NameHit[], vocabulary: NameVocabulary): CombinedName[] {
  const groups: NameHit[][] = [];
  for (const hit of hits) {
    const group = groups.at(-1);
    if (group !== undefined && group.length < LONGEST_GROUP && joins(text, group, hit, vocabulary)) group.push(hit);
    else groups.push([hit]);
  }
  const combined = groups.map((group) => combineGroup(group, vocabulary)).filter((name) => name !== null);
  return joinedAcross(text, combined);
}

/** All names of one token (a config name, a hub id) mean one network. */
export function combineGroup(hits: readonly NameHit[], vocabulary: NameVocabulary): CombinedName | null {
  const [first] = hits;
  const last = hits.at(-1);
  if (first === undefined || last === undefined) return null;
  const standing = hits.filter(({ meaning }, index) => meaning.partner !== 'beside' || hasNeighbour(hits, index));
  if (standing.every(({ meaning }) => meaning.partner !== undefined)) return null;
  const meanings = standing.map(({ meaning }) => meaning);
  const heads = architectureOf(meanings, vocabulary);
  const exact = meanings.filter((meaning) => !isFamily(meaning));
  const family = meanings.find(isFamily);
  const backbone = backboneOf(exact);
  const implementation = meanings.find((meaning) => meaning.implementation !== undefined)?.implementation;
  const variant = meanings.find((meaning) => meaning.variant !== undefined)?.variant;
  const options = Object.assign({}, ...meanings.map((meaning) => meaning.options ?? {}), heads.options);
  const name = { start: first.start, end: last.end, architecture: heads.architecture, backbone, options };
  return withFamily(family, {
    ...name,
    alternatives: exact.flatMap((meaning) => meaning.ask ?? []),
    otherSizes: [],
    ...(implementation === undefined ? {} : { implementation }),
    ...(variant === undefined ? {} : { variant }),
  });
}

/** "swin" without a size. */
function isFamily({ backbone, ask }: NameMeaning): boolean {
  return backbone !== undefined && ask !== undefined;
}

function withFamily(family: NameMeaning | undefined, name: CombinedName): CombinedName {
  const sized = withVariantOf(name);
  if (family?.backbone === undefined || sized.backbone !== null) return sized;
  return { ...sized, backbone: family.backbone, otherSizes: family.ask ?? [] };
}

function hasNeighbour(hits: readonly NameHit[], index: number): boolean {
  const hit = hits[index];
  const before = hits[index - 1];
  const after = hits[index + 1];
  if (hit === undefined) return false;
  return (before !== undefined && hit.start - before.end <= 3) || (after !== undefined && after.start - hit.end <= 3);
}

function joins(text: string, group: readonly NameHit[], hit: NameHit, vocabulary: NameVocabulary): boolean {
  const last = group.at(-1);
  if (last === undefined) return false;
  const gap = text.slice(last.end, hit.start);
  const { meaning } = hit;
  if (meaning.partner === 'beside' || last.meaning.partner === 'beside') return BESIDE.test(gap);
  if (BREAK.test(gap)) return false;
  if (gap.length > (meaning.partner === 'near' || last.meaning.partner === 'near' ? NEAR : FAR)) return false;
  return compatible(
    group.map((member) => member.meaning),
    meaning,
    TOUCHING.test(gap) ? vocabulary : null,
  );
}

function compatible(group: readonly NameMeaning[], next: NameMeaning, touching: NameVocabulary | null): boolean {
  const heads = group.filter(({ architecture }) => architecture !== undefined);
  const exact = group.filter((meaning) => !isFamily(meaning));
  const backbones = exact.map(({ backbone }) => backbone).filter((backbone) => backbone !== undefined);
  if (isFamily(next)) return true;
  if (next.backbone !== undefined && backbones.some((backbone) => !sameFamily(backbone, next.backbone ?? ''))) {
    return false;
  }
  if (next.variant !== undefined) return backbones.length === 0 && heads.length > 0;
  if (next.architecture === undefined) return true;
  return heads.every((head) => agree(head, next, touching));
}

function sameFamily(one: string, other: string): boolean {
  return (
    one === other || one.startsWith(`${other}/`) || other.startsWith(`${one}/`) || one === 'swin' || other === 'swin'
  );
}

function agree(one: NameMeaning, other: NameMeaning, touching: NameVocabulary | null): boolean {
  const a = one.architecture ?? '';
  const b = other.architecture ?? '';
  if (a === b || one.weak === true || other.weak === true) return true;
  if (touching === null) return false;
  return [touching.heads, touching.absorbs].some((map) => map.get(a)?.has(b) === true || map.get(b)?.has(a) === true);
}

function architectureOf(
  meanings: readonly NameMeaning[],
  vocabulary: NameVocabulary,
): { architecture: string | null; options: Readonly<Record<string, OptionValue>> } {
  const named = meanings.filter(({ architecture }) => architecture !== undefined);
  const strong = named.filter(({ weak }) => weak !== true);
  const names = [...new Set((strong.length > 0 ? strong : named).map(({ architecture }) => architecture ?? ''))];
  const wrapper = names.find((name) => names.some((other) => vocabulary.heads.get(name)?.has(other) === true));
  if (wrapper !== undefined) {
    const head = names.find((name) => vocabulary.heads.get(wrapper)?.has(name) === true);
    return { architecture: wrapper, options: head === undefined ? {} : { head } };
  }
  const whole = names.find((name) => names.some((other) => vocabulary.absorbs.get(name)?.has(other) === true));
  return { architecture: whole ?? names[0] ?? null, options: {} };
}

function backboneOf(meanings: readonly NameMeaning[]): string | null {
  const backbones = meanings.map(({ backbone }) => backbone).filter((backbone) => backbone !== undefined);
  // "ViT-B … ViT-B/16": the more exact one
  return backbones.toSorted((one, other) => other.length - one.length)[0] ?? null;
}

function withVariantOf(name: CombinedName): CombinedName {
  const { variant, architecture, backbone } = name;
  if (variant === undefined || architecture === null || backbone !== null) return name;
  const completed = completeVariant(variant, architecture);
  return completed === undefined ? name : { ...name, backbone: completed };
}

function joinedAcross(text: string, names: readonly CombinedName[]): CombinedName[] {
  const [one, two] = names;
  if (names.length !== 2 || one === undefined || two === undefined) return [...names];
  const gap = text.slice(one.end, two.start);
  const complement =
    (one.architecture === null && two.backbone === null) || (one.backbone === null && two.architecture === null);
  if (!complement || gap.length > WHOLE_MESSAGE || BREAK.test(gap)) return [...names];
  return [
    withVariantOf({
      ...one,
      ...two,
      start: one.start,
      end: two.end,
      architecture: one.architecture ?? two.architecture,
      backbone: one.backbone ?? two.backbone,
      options: { ...one.options, ...two.options },
      alternatives: [...one.alternatives, ...two.alternatives],
      otherSizes: [...one.otherSizes, ...two.otherSizes],
    }),
  ];
}

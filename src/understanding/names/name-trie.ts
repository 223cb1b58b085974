import type { NameMeaning } from '../../../catalog/models.ts';

interface TrieNode {
  readonly next: Map<string, TrieNode>;
  /** Characters that a separator may stand before. */
  readonly gap: Set<string>;
  meaning: NameMeaning | null;
}

/** A typed name found in a normalised text. */
export interface NameHit {
  readonly start: number;
  readonly end: number;
  readonly meaning: NameMeaning;
}

export interface NameTrie {
  readonly root: TrieNode;
}

const [CODE_0, CODE_9, CODE_A, CODE_Z] = [48, 57, 97, 122];
const SEPARATOR = /[ \t_\-·•]/;
/** A ResNet depth written onto the head: "PSPNet50". */
const DEPTH = /^(18|34|50|101|152)(?![0-9a-z])/;

/** Head, backbone and an option written as one word. */
const MOST_GLUED = 2;
const LONGEST_FOLLOWER = 12;
/** What may be written onto a name: a size, and words of the run that no name begins with. */
const SIZE_PAIR = /^\d{3,4}[x×*]\d{2,4}/;
const USUAL_SIDE = /^(?:224|256|320|384|448|480|512|513|576|640|713|768|769|800|832|896|1024|1280|1536|2048)(?![0-9])/;
const FOLLOWER = /^(?:bs\d|batch|ade20k|cityscapes|voc(?:12|aug)|coco|fp16|bf16|amp(?![a-z])|crop)/;
const AFTER_NUMBER = /^(?:in|on|for|with|fpn)(?=[a-z])/;

/** Chinese is written without spaces: a name may start anywhere in it. */
const FIRST_CJK = '\u2e80';

const newNode = (): TrieNode => ({ next: new Map(), gap: new Set(), meaning: null });

/** Spaces, and every change between letters, digits and signs, are places where a separator may be typed or left out. */
export function buildTrie(names: Iterable<readonly [string, NameMeaning]>): NameTrie {
  const root = newNode();
  for (const [name, meaning] of names) insert(root, name, meaning);
  return { root };
}

function insert(root: TrieNode, name: string, meaning: NameMeaning): void {
  let node = root;
  let previous = '';
  for (const character of name) {
    if (character !== ' ') {
      const apart = previous === ' ' || (previous !== '' && kind(previous) !== kind(character));
      if (apart) node.gap.add(character);
      node = childOf(node, character);
    }
    previous = character;
  }
  node.meaning ??= meaning;
}

function childOf(node: TrieNode, character: string): TrieNode {
  const known = node.next.get(character);
  if (known !== undefined) return known;
  const child = newNode();
  node.next.set(character, child);
  return child;
}

/** Looked at for every character of a message: by code, not by expression. */
function kind(character: string): 'letter' | 'digit' | 'sign' {
  const code = character.charCodeAt(0);
  if (code >= CODE_A && code <= CODE_Z) return 'letter';
  return code >= CODE_0 && code <= CODE_9 ? 'digit' : 'sign';
}

/** Longest names first, from left to right, never overlapping. Linear: a name has a bounded length. */
export function scanNames({ root }: NameTrie, text: string, most = Number.POSITIVE_INFINITY): NameHit[] {
  const hits: NameHit[] = [];
  const walk = { root, text, glued: MOST_GLUED };
  let at = 0;
  while (at < text.length && hits.length < most) {
    const after = hits.at(-1)?.end === at && at > 0;
    const hit = after || startsWord(text, at) ? longestAt(walk, at) : null;
    if (hit === null) {
      at += 1;
      continue;
    }
    hits.push(hit);
    at = hit.end;
    const depth = gluedDepth(text, hit);
    if (depth !== null) {
      hits.push(depth);
      at = depth.end;
    }
  }
  return hits;
}

interface Walk {
  readonly root: TrieNode;
  readonly text: string;
  /** How many further names may be written onto this one. */
  readonly glued: number;
}

function startsWord(text: string, at: number): boolean {
  const character = text[at] ?? '';
  if (kind(character) === 'sign') return character >= FIRST_CJK;
  return at === 0 || kind(text[at - 1] ?? '') === 'sign';
}

function longestAt(walk: Walk, start: number): NameHit | null {
  const { root, text } = walk;
  let node: TrieNode | undefined = root;
  let best: NameHit | null = null;
  let at = start;
  while (node !== undefined && at < text.length) {
    const step: { readonly child: TrieNode | undefined; readonly end: number } = stepFrom(node, text, at);
    node = step.child;
    at = step.end;
    if (node?.meaning != null && endsWord(walk, at, node.meaning)) best = { start, end: at, meaning: node.meaning };
  }
  return best;
}

function stepFrom(node: TrieNode, text: string, at: number): { child: TrieNode | undefined; end: number } {
  const direct = node.next.get(text[at] ?? '');
  if (direct !== undefined) return { child: direct, end: at + 1 };
  if (node.gap.size === 0) return { child: undefined, end: at };
  const after = afterSeparator(text, at);
  const next = text[after] ?? '';
  if (after === at || !node.gap.has(next)) return { child: undefined, end: at };
  return { child: node.next.get(next), end: after + 1 };
}

function afterSeparator(text: string, at: number): number {
  let end = at;
  while (end < at + 2 && SEPARATOR.test(text[end] ?? '')) end += 1;
  if (end > at) return end;
  // "ViT-B/16", "SAM 2.1": a slash or a point only before a digit
  return /[/.]/.test(text[at] ?? '') && kind(text[at + 1] ?? '') === 'digit' ? at + 1 : at;
}

/** A name ends where the kind of character ends it, or where something else plainly begins ("unetresnet34", "unet512"). */
function endsWord(walk: Walk, end: number, meaning: NameMeaning): boolean {
  const { text } = walk;
  const last = kind(text[end - 1] ?? '');
  const next = kind(text[end] ?? ' ');
  if (next === 'sign' || last === 'sign') return true;
  const rest = text.slice(end, end + LONGEST_FOLLOWER);
  if (next === 'digit') return SIZE_PAIR.test(rest) || USUAL_SIDE.test(rest) || (last === 'letter' && DEPTH.test(rest));
  if (FOLLOWER.test(rest) || (last === 'digit' && AFTER_NUMBER.test(rest))) return true;
  if (walk.glued === 0) return false;
  const follower = longestAt({ ...walk, glued: walk.glued - 1 }, end);
  return follower !== null && completes(meaning, follower.meaning);
}

/** Head and backbone are written together; two heads are not. */
function completes(one: NameMeaning, other: NameMeaning): boolean {
  if (other.partner !== undefined) return false;
  return one.architecture === undefined || other.architecture === undefined || other.weak === true;
}

function gluedDepth(text: string, hit: NameHit): NameHit | null {
  if (hit.meaning.architecture === undefined || kind(text[hit.end - 1] ?? '') !== 'letter') return null;
  const depth = DEPTH.exec(text.slice(hit.end, hit.end + LONGEST_FOLLOWER))?.[1];
  if (depth === undefined) return null;
  return { start: hit.end, end: hit.end + depth.length, meaning: { backbone: `resnet${depth}` } };
}

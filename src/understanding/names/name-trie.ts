import type { NameMeaning } from '../../../catalog/models.ts';

interface TrieNode {
  readonly next: Map<string, TrieNode>;
  /** A separator may stand here. */
  gap: boolean;
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

const LETTER = /[a-z]/;
const DIGIT = /[0-9]/;
const SEPARATOR = /[ \t_\-·•]/;
/** A ResNet depth written onto the head: "PSPNet50". */
const DEPTH = /^(18|34|50|101|152)(?![0-9a-z])/;

/** Chinese is written without spaces: a name may start anywhere in it. */
const FIRST_CJK = '\u2e80';

const newNode = (): TrieNode => ({ next: new Map(), gap: false, meaning: null });

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
    if (character === ' ') {
      node.gap = true;
      continue;
    }
    if (previous !== '' && kind(previous) !== kind(character)) node.gap = true;
    let child = node.next.get(character);
    if (child === undefined) {
      child = newNode();
      node.next.set(character, child);
    }
    node = child;
    previous = character;
  }
  node.meaning ??= meaning;
}

function kind(character: string): 'letter' | 'digit' | 'sign' {
  if (LETTER.test(character)) return 'letter';
  return DIGIT.test(character) ? 'digit' : 'sign';
}

/** Longest names first, from left to right, never overlapping. Linear: a name has a bounded length. */
export function scanNames({ root }: NameTrie, text: string, most = Number.POSITIVE_INFINITY): NameHit[] {
  const hits: NameHit[] = [];
  let at = 0;
  while (at < text.length && hits.length < most) {
    const hit = startsWord(text, at) ? longestAt(root, text, at) : null;
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

function startsWord(text: string, at: number): boolean {
  const character = text[at] ?? '';
  if (kind(character) === 'sign') return character >= FIRST_CJK;
  return at === 0 || kind(text[at - 1] ?? '') === 'sign';
}

function longestAt(root: TrieNode, text: string, start: number): NameHit | null {
  let node: TrieNode | undefined = root;
  let best: NameHit | null = null;
  let at = start;
  while (node !== undefined && at < text.length) {
    const step: { readonly child: TrieNode | undefined; readonly end: number } = stepFrom(node, text, at);
    node = step.child;
    at = step.end;
    if (node?.meaning != null && endsWord(text, at)) best = { start, end: at, meaning: node.meaning };
  }
  return best;
}

function stepFrom(node: TrieNode, text: string, at: number): { child: TrieNode | undefined; end: number } {
  const direct = node.next.get(text[at] ?? '');
  if (direct !== undefined) return { child: direct, end: at + 1 };
  if (!node.gap) return { child: undefined, end: at };
  const after = afterSeparator(text, at);
  return after === at ? { child: undefined, end: at } : { child: node.next.get(text[after] ?? ''), end: after + 1 };
}

function afterSeparator(text: string, at: number): number {
  let end = at;
  while (end < at + 2 && SEPARATOR.test(text[end] ?? '')) end += 1;
  if (end > at) return end;
  // "ViT-B/16", "SAM 2.1": a slash or a point only before a digit
  return /[/.]/.test(text[at] ?? '') && DIGIT.test(text[at + 1] ?? '') ? at + 1 : at;
}

function endsWord(text: string, end: number): boolean {
  const last = kind(text[end - 1] ?? '');
  const next = kind(text[end] ?? ' ');
  if (next === 'sign' || last === 'sign') return true;
  return last === 'letter' && next === 'digit' && DEPTH.test(text.slice(end, end + 4));
}

function gluedDepth(text: string, hit: NameHit): NameHit | null {
  if (hit.meaning.architecture === undefined || kind(text[hit.end - 1] ?? '') !== 'letter') return null;
  const depth = DEPTH.exec(text.slice(hit.end, hit.end + 4))?.[1];
  if (depth === undefined) return null;
  return { start: hit.end, end: hit.end + depth.length, meaning: { backbone: `resnet${depth}` } };
}

import { DamerauLevenshteinDistance } from 'natural/lib/natural/distance/index.js';

/** A word with its letters in order, as words are compared by. */
export interface Letters {
  readonly word: string;
  readonly bag: string;
  /** One bit for each letter that occurs. */
  readonly kinds: number;
}

export function lettersOf(word: string): Letters {
  let kinds = 0;
  for (let at = 0; at < word.length; at += 1) kinds |= 1 << (word.charCodeAt(at) & 31);
  return { word, bag: [...word].sort().join(''), kinds };
}

/** Whether more than `limit` bits are set. */
function hasMore(bits: number, limit: number): boolean {
  let left = bits;
  for (let cleared = 0; cleared < limit && left !== 0; cleared += 1) left &= left - 1;
  return left !== 0;
}

/** How many letters of the longer of two bags the other lacks. */
function lacking(one: string, other: string): number {
  let [left, right, common] = [0, 0, 0];
  while (left < one.length && right < other.length) {
    const [a, b] = [one.charCodeAt(left), other.charCodeAt(right)];
    if (a === b) common += 1;
    if (a <= b) left += 1;
    if (b <= a) right += 1;
  }
  return Math.max(one.length, other.length) - common;
}

/**
 * Edits between two words, a swap of neighbours counting one; null above `limit`. The distance is a table of objects per
 * call, so letters are counted first, their kinds before their number: each one that a word has and the other lacks costs an edit.
 */
export function editsWithin(limit: number, one: Letters, other: Letters): number | null {
  if (one.word === other.word) return 0;
  if (hasMore(one.kinds & ~other.kinds, limit) || hasMore(other.kinds & ~one.kinds, limit)) return null;
  if (lacking(one.bag, other.bag) > limit) return null;
  const edits = DamerauLevenshteinDistance(one.word, other.word, { restricted: true });
  return edits <= limit ? edits : null;
}

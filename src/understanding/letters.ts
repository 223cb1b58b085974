import { DamerauLevenshteinDistance } from 'natural/lib/natural/distance/index.js';

/** A word with its letters in order, as words are compared by. */
export interface Letters {
  readonly word: string;
  readonly bag: string;
}

export function lettersOf(word: string): Letters {
  return { word, bag: [...word].sort().join('') };
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
 * call, so letters are counted first: each one that a word has and the other lacks costs an edit.
 */
export function editsWithin(limit: number, one: Letters, other: Letters): number | null {
  if (one.word === other.word) return 0;
  if (lacking(one.bag, other.bag) > limit) return null;
  const edits = DamerauLevenshteinDistance(one.word, other.word, { restricted: true });
  return edits <= limit ? edits : null;
}

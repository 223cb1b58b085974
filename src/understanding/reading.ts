import { matchesOf } from './matches.ts';
import type { Normalized } from './normalize.ts';

/** Stands where something was already read; no rule matches it. `normalize` removes it from messages. */
export const FILLER = '\ue000';

export interface Span {
  readonly start: number;
  readonly end: number;
}

/** One message while it is read: rules take what they understand, so that no digit is read twice. */
export interface Reading {
  readonly text: string;
  readonly cased: string;
  /** What no rule has taken yet; positions are those of `text`. */
  rest: string;
}

export function startReading({ text, cased }: Normalized): Reading {
  return { text, cased, rest: text };
}

/** A match as rules see it: groups by number, absent ones as ''. */
export interface Found extends Span {
  readonly all: string;
  readonly groups: readonly string[];
}

const NOTHING: readonly Found[] = [];

/** Every match of a global pattern in what is left, untouched. */
export function find(reading: Reading, pattern: RegExp): readonly Found[] {
  const matches = matchesOf(pattern, reading.rest);
  return matches.length === 0 ? NOTHING : matches.map(toFound);
}

function toFound(match: RegExpExecArray): Found {
  const [all] = match;
  const groups = match.slice(1).map((group) => group ?? '');
  return { all, groups, start: match.index, end: match.index + all.length };
}

/** Like `find`, and takes the matches away. `accept` may refuse one. */
export function take(reading: Reading, pattern: RegExp, accept?: (found: Found) => boolean): readonly Found[] {
  const found = find(reading, pattern);
  if (found.length === 0) return found;
  const accepted = accept === undefined ? found : found.filter(accept);
  erase(reading, accepted);
  return accepted;
}

export function erase(reading: Reading, spans: readonly Span[]): void {
  if (spans.length === 0) return;
  const parts: string[] = [];
  let at = 0;
  for (const { start, end } of [...spans].sort((a, b) => a.start - b.start)) {
    if (end <= at) continue;
    const from = Math.max(at, start);
    parts.push(reading.rest.slice(at, from), FILLER.repeat(end - from));
    at = end;
  }
  parts.push(reading.rest.slice(at));
  reading.rest = parts.join('');
}

/** Text just before a position, within its clause. */
export function before(text: string, at: number, length = 16): string {
  return text.slice(Math.max(0, at - length), at);
}

export function after(text: string, at: number, length = 16): string {
  return text.slice(at, at + length);
}

const CLAUSE_LENGTH = 80;
const CLAUSE_END = /[,;!?()\n]|\.(?=\s|$)/;
const CLAUSE_MARKS = ',;!?()\n';

/** Where the last clause of the text begins. */
function clauseStart(text: string): number {
  for (let at = text.length - 1; at >= 0; at -= 1) {
    const char = text[at] ?? '';
    if (CLAUSE_MARKS.includes(char)) return at + 1;
    if (char === '.' && /\s/.test(text[at + 1] ?? '')) return at + 2;
  }
  return 0;
}

/** More of one kind are a log or a table: what the person says stands at the beginning or the end. */
const MOST_READ = 150;

/** The first and last ones of many. */
export function outermost<T>(items: readonly T[]): readonly T[] {
  return items.length <= 2 * MOST_READ ? items : [...items.slice(0, MOST_READ), ...items.slice(-MOST_READ)];
}

/** The clause around a span: from the last to the next punctuation mark. */
export function clauseOf(text: string, { start, end }: Span): string {
  const head = before(text, start, CLAUSE_LENGTH);
  const tail = after(text, end, CLAUSE_LENGTH);
  const stop = tail.search(CLAUSE_END);
  return `${head.slice(clauseStart(head))}${text.slice(start, end)}${stop < 0 ? tail : tail.slice(0, stop)}`;
}

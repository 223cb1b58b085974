import type { OptionValue } from '../../../catalog/models.ts';

/** A call as typed: `name(positional, keyword=value)`. What is no literal is kept by its kind only. */
export interface PythonCall {
  readonly callee: string;
  readonly positional: readonly PythonValue[];
  readonly keywords: ReadonlyMap<string, PythonValue>;
  readonly start: number;
  readonly end: number;
}

export type PythonValue =
  | { readonly kind: 'literal'; readonly value: OptionValue }
  | { readonly kind: 'name'; readonly name: string }
  | { readonly kind: 'call'; readonly call: PythonCall }
  | { readonly kind: 'other' };

const LONGEST_NAME = 120;
const LONGEST_CALL = 3000;
const OTHER: PythonValue = { kind: 'other' };

/** Every call of a text, outermost first. A missing closing parenthesis ends the call with the text. */
export function* findCalls(source: string): Iterable<PythonCall> {
  let at = source.indexOf('(');
  while (at >= 0) {
    const name = calleeBefore(source, at);
    if (name !== null) yield readCall(source, { callee: name.text, start: name.start, open: at });
    at = source.indexOf('(', at + 1);
  }
}

function calleeBefore(source: string, open: number): { text: string; start: number } | null {
  const before = source.slice(Math.max(0, open - LONGEST_NAME), open);
  const match = /[A-Za-z_][\w.]*[ \t]{0,2}$/.exec(before);
  if (match === null) return null;
  return { text: match[0].trimEnd(), start: open - match[0].length };
}

interface Opening {
  readonly callee: string;
  readonly start: number;
  readonly open: number;
}

function readCall(source: string, { callee, start, open }: Opening): PythonCall {
  const limit = Math.min(source.length, open + LONGEST_CALL);
  const positional: PythonValue[] = [];
  const keywords = new Map<string, PythonValue>();
  let at = open + 1;
  while (at < limit) {
    at = skipBlank(source, at, limit);
    if (source[at] === ')') return { callee, positional, keywords, start, end: at + 1 };
    const argumentEnd = endOfArgument(source, at, limit);
    readArgument(source.slice(at, argumentEnd), positional, keywords);
    at = source[argumentEnd] === ',' ? argumentEnd + 1 : argumentEnd;
    if (argumentEnd >= limit) break;
  }
  return { callee, positional, keywords, start, end: Math.min(at, limit) };
}

function skipBlank(source: string, from: number, limit: number): number {
  let at = from;
  while (at < limit && /[\s,]/.test(source[at] ?? '')) at += 1;
  return at;
}

/** The comma or closing bracket that ends an argument: brackets and quotes inside are passed over. */
function endOfArgument(source: string, from: number, limit: number): number {
  let depth = 0;
  let quote = '';
  for (let at = from; at < limit; at += 1) {
    const character = source[at] ?? '';
    if (quote !== '') {
      if (character === quote) quote = '';
    } else if (character === '"' || character === "'" || character === '“' || character === '‘') {
      quote = character === '“' ? '”' : character === '‘' ? '’' : character;
    } else if ('([{'.includes(character)) depth += 1;
    else if (depth === 0 && (character === ',' || character === ')')) return at;
    else if (')]}'.includes(character)) depth -= 1;
  }
  return limit;
}

function readArgument(text: string, positional: PythonValue[], keywords: Map<string, PythonValue>): void {
  const match = /^\s*(\w+)\s*=(?!=)\s*([\s\S]*)$/.exec(text);
  const name = match?.[1];
  if (name === undefined) positional.push(readValue(text.trim()));
  else keywords.set(name, readValue((match?.[2] ?? '').trim()));
}

export function readValue(text: string): PythonValue {
  const quoted = /^["'“‘]([^"'”’]*)["'”’]?$/.exec(text);
  if (quoted !== null) return { kind: 'literal', value: quoted[1] ?? '' };
  if (/^-?\d+(?:\.\d*)?(?:e-?\d+)?$/i.test(text)) return { kind: 'literal', value: Number(text) };
  const constant = { True: true, true: true, False: false, false: false, None: null, none: null }[text];
  if (constant !== undefined) return { kind: 'literal', value: constant };
  if (/^[[(]/.test(text)) return readList(text);
  const open = text.indexOf('(');
  const callee = open > 0 ? calleeBefore(text, open) : null;
  if (callee !== null && callee.start === 0) {
    return { kind: 'call', call: readCall(text, { callee: callee.text, start: 0, open }) };
  }
  return /^[A-Za-z_][\w.]*$/.test(text) ? { kind: 'name', name: text } : OTHER;
}

function readList(text: string): PythonValue {
  const items = text
    .slice(1, -1)
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
  const numbers = items.map(Number);
  return numbers.length > 0 && numbers.every(Number.isFinite) ? { kind: 'literal', value: numbers } : OTHER;
}

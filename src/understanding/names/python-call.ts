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
/** Calls inside calls that are read: `Model(Config(…))` needs one. */
const DEEPEST = 3;
const OTHER: PythonValue = { kind: 'other' };

/**
 * Offers the calls of a text, outermost first; the inside of a call that `take` accepts is passed over. `wanted` sees
 * the name before anything is read. A missing closing parenthesis ends the call with the text.
 */
export function visitCalls(
  source: string,
  wanted: (callee: string) => boolean,
  take: (call: PythonCall) => boolean,
): void {
  let open = source.indexOf('(');
  while (open >= 0) {
    const name = calleeBefore(source, open);
    let next = open + 1;
    if (name !== null && wanted(name.text)) {
      const call = readCall(source, { callee: name.text, start: name.start, open, depth: 0 });
      if (take(call)) next = call.end;
    }
    open = source.indexOf('(', next);
  }
}

function calleeBefore(source: string, open: number): { text: string; start: number } | null {
  let end = open;
  while (end > open - 2 && /[ \t]/.test(source[end - 1] ?? '')) end -= 1;
  let start = end;
  while (start > end - LONGEST_NAME && /[\w.]/.test(source[start - 1] ?? '')) start -= 1;
  const text = source.slice(start, end);
  return /^[A-Za-z_]/.test(text) ? { text, start } : null;
}

interface Opening {
  readonly callee: string;
  readonly start: number;
  readonly open: number;
  readonly depth: number;
}

function readCall(source: string, { callee, start, open, depth }: Opening): PythonCall {
  const limit = Math.min(source.length, open + LONGEST_CALL);
  const positional: PythonValue[] = [];
  const keywords = new Map<string, PythonValue>();
  let at = open + 1;
  while (at < limit) {
    at = skipBlank(source, at, limit);
    if (source[at] === ')') return { callee, positional, keywords, start, end: at + 1 };
    const argumentEnd = endOfArgument(source, at, limit);
    readArgument(source.slice(at, argumentEnd), { positional, keywords, depth });
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

interface Arguments {
  readonly positional: PythonValue[];
  readonly keywords: Map<string, PythonValue>;
  readonly depth: number;
}

function readArgument(text: string, { positional, keywords, depth }: Arguments): void {
  const match = /^\s*(\w+)\s*=(?!=)\s*([\s\S]*)$/.exec(text);
  const name = match?.[1];
  if (name === undefined) positional.push(readValue(text.trim(), depth));
  else keywords.set(name, readValue((match?.[2] ?? '').trim(), depth));
}

const CONSTANTS: ReadonlyMap<string, boolean | null> = new Map([
  ['True', true],
  ['true', true],
  ['False', false],
  ['false', false],
  ['None', null],
  ['none', null],
]);

function readValue(text: string, depth: number): PythonValue {
  const quoted = /^["'“‘]([^"'”’]*)["'”’]?$/.exec(text);
  if (quoted !== null) return { kind: 'literal', value: quoted[1] ?? '' };
  if (/^-?\d+(?:\.\d*)?(?:e-?\d+)?$/i.test(text)) return { kind: 'literal', value: Number(text) };
  const constant = CONSTANTS.get(text);
  if (constant !== undefined) return { kind: 'literal', value: constant };
  if (/^[[(]/.test(text)) return readList(text);
  const open = text.indexOf('(');
  const callee = open > 0 && depth < DEEPEST ? calleeBefore(text, open) : null;
  if (callee !== null && callee.start === 0) {
    return { kind: 'call', call: readCall(text, { callee: callee.text, start: 0, open, depth: depth + 1 }) };
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

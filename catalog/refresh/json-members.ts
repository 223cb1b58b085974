import { AppError } from '../../src/errors.ts';

/** One member of the root object, or of the large object below it. */
export interface Member {
  readonly inside: boolean;
  readonly key: string;
  readonly value: unknown;
}

/** A member longer than this is not a price: the file is something else. */
const LONGEST_MEMBER = 256 * 1024;

const malformed = (): AppError => new AppError('invalid-catalog', 'the price file is not the JSON that was expected');

/** Index behind the string that begins at `from`, or -1 when the text ends first. */
function endOfString(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    if (code === 0x5c) at += 1;
    else if (code === 0x22) return at + 1;
  }
  return -1;
}

function endOfScalar(text: string, from: number): number {
  for (let at = from; at < text.length; at += 1) if (/[,}\]\s]/.test(text.charAt(at))) return at;
  return -1;
}

/** Index behind the value that begins at `from`, or -1 when the text ends first. */
function endOfValue(text: string, from: number): number {
  const first = text.charAt(from);
  if (first === '"') return endOfString(text, from);
  if (first !== '{' && first !== '[') return endOfScalar(text, from);
  let depth = 0;
  for (let at = from; at < text.length; at += 1) {
    const char = text.charAt(at);
    if (char === '"') {
      at = endOfString(text, at) - 1;
      if (at < 0) return -1;
    } else if (char === '{' || char === '[') depth += 1;
    else if (char === '}' || char === ']') depth -= 1;
    if (depth === 0) return at + 1;
  }
  return -1;
}

function parseText(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw malformed();
  }
}

function skip(text: string, from: number, separators: RegExp): number {
  let at = from;
  while (at < text.length && separators.test(text.charAt(at))) at += 1;
  return at;
}

type State = 'start' | 'root' | 'inside' | 'end';

/** Cuts complete members off the front of what has arrived; the rest waits for more. */
class MemberScanner {
  private text = '';
  private state: State = 'start';
  private readonly container: string;

  constructor(container: string) {
    this.container = container;
  }

  get isComplete(): boolean {
    return this.state === 'end';
  }

  *push(chunk: string): Generator<Member> {
    this.text += chunk;
    let at = 0;
    for (;;) {
      const start = skip(this.text, at, /[\s,]/);
      const step = this.state === 'end' ? undefined : this.next(start);
      if (step === undefined) break;
      at = step.end;
      if (step.member !== undefined) yield step.member;
    }
    this.text = this.text.slice(at);
    if (this.text.length > LONGEST_MEMBER) throw malformed();
  }

  private next(start: number): { readonly end: number; readonly member?: Member } | undefined {
    const first = this.text.charAt(start);
    if (first === '') return undefined;
    if (this.state === 'start') {
      if (first !== '{') throw malformed();
      this.state = 'root';
      return { end: start + 1 };
    }
    if (first === '}') {
      this.state = this.state === 'inside' ? 'root' : 'end';
      return { end: start + 1 };
    }
    if (first !== '"') throw malformed();
    return this.member(start);
  }

  private member(start: number): { readonly end: number; readonly member?: Member } | undefined {
    const keyEnd = endOfString(this.text, start);
    if (keyEnd < 0) return undefined;
    const colon = skip(this.text, keyEnd, /\s/);
    if (colon >= this.text.length) return undefined;
    if (this.text.charAt(colon) !== ':') throw malformed();
    const from = skip(this.text, colon + 1, /\s/);
    if (from >= this.text.length) return undefined;
    const key = String(parseText(this.text.slice(start, keyEnd)));
    if (this.state === 'root' && key === this.container && this.text.charAt(from) === '{') {
      this.state = 'inside';
      return { end: from + 1 };
    }
    const end = endOfValue(this.text, from);
    if (end < 0) return undefined;
    const value = parseText(this.text.slice(from, end));
    return { end, member: { inside: this.state === 'inside', key, value } };
  }
}

/**
 * Members of the root object and of its large object `container`, one at a time, from text that arrives in pieces.
 *
 * @throws AppError `invalid-catalog` when the text is not such JSON or ends too early.
 */
export async function* jsonMembers(chunks: AsyncIterable<string>, container: string): AsyncGenerator<Member> {
  const scanner = new MemberScanner(container);
  for await (const chunk of chunks) yield* scanner.push(chunk);
  if (!scanner.isComplete) throw malformed();
}

import { once } from 'node:events';
import type { Readable, Writable } from 'node:stream';
import { StringDecoder } from 'node:string_decoder';

import { AppError, asAppError, type ErrorCode } from '../errors.ts';

/** Longest accepted line: a conversation with pasted logs fits many times over. */
const MAX_LINE_CHARACTERS = 4 * 1024 * 1024;
/** Answers are gathered into writes of about this size. */
const WRITE_CHARACTERS = 64 * 1024;
const PROGRESS_EVERY_LINES = 10_000;
const BYTE_ORDER_MARK = '\ufeff';

export interface JsonlStreams {
  readonly input: Readable;
  readonly output: Writable;
  /** Progress of long inputs; never mixed with the answers. */
  readonly progress: Writable;
}

export interface JsonlResult {
  readonly lines: number;
  readonly failed: number;
}

export interface LineError {
  readonly id: string | number | null;
  /** `field`: the input that is wrong, where one is. */
  readonly error: { readonly code: string; readonly message: string; readonly field?: string };
}

/**
 * Answers a stream of JSON lines in their order, one at a time and with back-pressure, so that memory does not grow with
 * the input. A line that cannot be answered gives an error object; empty lines are skipped.
 */
export async function processJsonl(
  streams: JsonlStreams,
  answer: (value: unknown) => unknown | Promise<unknown>,
): Promise<JsonlResult> {
  let lines = 0;
  let failed = 0;
  let pending = '';
  for await (const line of readLines(streams.input)) {
    if (line.trim() === '') continue;
    lines += 1;
    const result = await answerLine(line, answer);
    if (result.failed) failed += 1;
    pending += `${result.text}\n`;
    if (pending.length >= WRITE_CHARACTERS) {
      await write(streams.output, pending);
      pending = '';
    }
    if (lines % PROGRESS_EVERY_LINES === 0) streams.progress.write(`${lines} lines\n`);
  }
  if (pending !== '') await write(streams.output, pending);
  return { lines, failed };
}

/** Splits a byte stream into lines; a line over the limit comes out cut, which makes it invalid JSON. */
export async function* readLines(input: Readable): AsyncGenerator<string> {
  const decoder = new StringDecoder('utf8');
  let rest = '';
  let begun = false;
  for await (const chunk of input) {
    const parts = (rest + (typeof chunk === 'string' ? chunk : decoder.write(chunk))).split('\n');
    // editors of Windows begin a file with a byte order mark
    if (!begun && parts[0]?.startsWith(BYTE_ORDER_MARK) === true) parts[0] = parts[0].slice(1);
    begun ||= parts.length > 1 || parts[0] !== '';
    rest = (parts.pop() ?? '').slice(0, MAX_LINE_CHARACTERS + 1);
    yield* parts;
  }
  rest += decoder.end();
  if (rest !== '') yield rest;
}

async function answerLine(
  line: string,
  answer: (value: unknown) => unknown | Promise<unknown>,
): Promise<{ text: string; failed: boolean }> {
  let id: string | number | null = null;
  try {
    if (line.length > MAX_LINE_CHARACTERS) throw new AppError('too-large', 'the line is longer than 4 MiB');
    const value = parseJson(line);
    id = idOf(value);
    const result = answer(value);
    // Figures of an estimate are computed when read, so writing them can fail too.
    return { text: JSON.stringify(result instanceof Promise ? await result : result), failed: false };
  } catch (error) {
    return { text: JSON.stringify(toLineError(id, error)), failed: true };
  }
}

/** Fields that a code is about, where the error does not name one. */
const FIELD_OF: Readonly<Partial<Record<ErrorCode, string>>> = {
  'unknown-model': 'model',
  'unknown-backbone': 'backbone',
  'unsupported-combination': 'model',
  'unknown-gpu': 'gpu',
};

function toLineError(id: string | number | null, error: unknown): LineError {
  const { code, message, details } = asAppError(error);
  const { field = FIELD_OF[code] } = details;
  return { id, error: { code, message, ...(typeof field === 'string' && field !== '' ? { field } : {}) } };
}

function parseJson(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch (error) {
    throw new AppError('invalid-input', 'the line is not JSON', { cause: error });
  }
}

function idOf(value: unknown): string | number | null {
  if (typeof value !== 'object' || value === null || !('id' in value)) return null;
  return typeof value.id === 'string' || typeof value.id === 'number' ? value.id : null;
}

async function write(output: Writable, text: string): Promise<void> {
  if (!output.write(text)) await once(output, 'drain');
}

import { setTimeout as wait } from 'node:timers/promises';
import { request } from 'undici';
import { AppError } from '../src/errors.ts';

const timeoutMs = 10_000;
/** Answers repeat what was posted, with six characters for each one outside ASCII. */
const largestAnswer = 262_144;
/** Longest pause, in seconds, that a request sits out by itself after a 429; longer ones are the inbox's business. */
const patienceSeconds = 3;

export interface Answer {
  readonly status: number;
  /** Parsed JSON; undefined for HTML, bodies over 256 KiB and other unreadable ones. */
  readonly body: unknown;
}

export interface Post {
  /** Names the request in errors: "the access token". */
  readonly what: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Posts JSON, reads a bounded answer, follows no redirect, comes once more after a short 429. Every answer to a person
 * leaves by this way: `fetch` takes four times the processor time.
 *
 * @throws AppError `platform-unreachable`; never with the address, which may hold a credential.
 */
export async function postJson(url: string, post: Post, isPatient = true): Promise<Answer> {
  const { what, body, headers = {} } = post;
  const usual = { accept: 'application/json', 'content-type': 'application/json', 'user-agent': 'gpu-size' };
  const signal = AbortSignal.timeout(timeoutMs);
  const sent = request(url, { method: 'POST', headers: { ...usual, ...headers }, body: JSON.stringify(body), signal });
  const { statusCode: status, headers: got, body: stream } = await sent.catch((error) => unanswered(what, error));
  const answer = await readJson(stream);
  if (status >= 300 && status < 400) unanswered(what, new Error('redirect'));
  const seconds = Number.parseInt(String(got['retry-after']), 10);
  if (status !== 429 || !isPatient || !(seconds <= patienceSeconds)) return { status, body: answer };
  await wait(seconds * 1_000);
  return postJson(url, post, false);
}

/** The same for files (multipart). */
export async function postForm(url: string, what: string, body: FormData): Promise<Answer> {
  const headers = { accept: 'application/json' };
  const init = { method: 'POST', redirect: 'error', headers, body, signal: AbortSignal.timeout(timeoutMs) } as const;
  const response = await fetch(url, init).catch((error: unknown) => unanswered(what, error));
  return { status: response.status, body: await readJson(response.body ?? []) };
}

/** A platform's no: passing ones are worth another attempt. `details` hold nothing that a person wrote. */
export const refusal = (isPassing: boolean, message: string, details: AppError['details'] = {}) =>
  new AppError(isPassing ? 'platform-unreachable' : 'platform-refused', message, { details });

function unanswered(what: string, error: unknown): never {
  const reason = error instanceof Error ? error.name : 'failure';
  throw new AppError('platform-unreachable', `no answer to the request for ${what}`, { details: { reason } });
}

async function readJson(body: AsyncIterable<Uint8Array> | Iterable<Uint8Array>): Promise<unknown> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of body) {
      chunks.push(chunk);
      size += chunk.byteLength;
      if (size > largestAnswer) return undefined;
    }
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    return undefined;
  }
}

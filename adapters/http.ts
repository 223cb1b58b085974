import { AppError } from '../src/errors.ts';

const timeoutMs = 10_000;
const largestAnswer = 65_536;

export interface Answer {
  readonly status: number;
  /** Parsed JSON; undefined for HTML, bodies over 64 KiB and other unreadable ones. */
  readonly body: unknown;
}

export interface Post {
  /** Names the request in errors: "the access token". */
  readonly what: string;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * Posts JSON, reads a bounded answer, follows no redirect.
 *
 * @throws AppError `platform-unreachable`; never with the address, which may hold a credential.
 */
export function postJson(url: string, { what, body, headers = {} }: Post): Promise<Answer> {
  const head = { accept: 'application/json', 'content-type': 'application/json', ...headers };
  return send(url, what, { headers: head, body: JSON.stringify(body) });
}

/** The same for files (multipart). */
export function postForm(url: string, what: string, body: FormData): Promise<Answer> {
  return send(url, what, { headers: { accept: 'application/json' }, body });
}

async function send(url: string, what: string, init: RequestInit): Promise<Answer> {
  const request = { ...init, method: 'POST', redirect: 'error', signal: AbortSignal.timeout(timeoutMs) } as const;
  const response = await fetch(url, request).catch((error: unknown) => {
    const reason = error instanceof Error ? error.name : 'failure';
    throw new AppError('platform-unreachable', `no answer to the request for ${what}`, { details: { reason } });
  });
  return { status: response.status, body: await readJson(response) };
}

async function readJson(response: Response): Promise<unknown> {
  const decoder = new TextDecoder();
  let text = '';
  try {
    for await (const chunk of response.body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > largestAnswer) return undefined;
    }
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

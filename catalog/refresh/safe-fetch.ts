import { AppError } from '../../src/errors.ts';

export type Fetch = typeof fetch;

const LOOPBACK = /^(127(?:\.\d{1,3}){3}|localhost|\[::1\])$/;

/**
 * Only HTTPS leaves the machine; plain HTTP is for a loopback address that the operator configured (tests, a local mirror).
 * Credentials in a URL are refused because URLs end up in logs.
 *
 * @throws AppError `platform-refused`.
 */
export function checkedUrl(text: string): URL {
  if (!URL.canParse(text)) throw new AppError('platform-refused', 'the price address is not a URL');
  const url = new URL(text);
  if (url.username !== '' || url.password !== '') {
    throw new AppError('platform-refused', 'the price address must not carry credentials');
  }
  if (url.protocol === 'https:' && !LOOPBACK.test(url.hostname)) return url;
  if ((url.protocol === 'http:' || url.protocol === 'https:') && LOOPBACK.test(url.hostname)) return url;
  throw new AppError('platform-refused', 'the price address must be https');
}

export interface FetchOptions {
  readonly fetch: Fetch;
  readonly timeoutMs: number;
  readonly init?: RequestInit;
}

/**
 * One request without redirects. Errors name the host alone: paths and queries may hold what nobody should read.
 *
 * @throws AppError `platform-unreachable`.
 */
export async function safeFetch(url: URL, options: FetchOptions): Promise<Response> {
  try {
    return await options.fetch(url, {
      ...options.init,
      redirect: 'error',
      signal: AbortSignal.timeout(options.timeoutMs),
    });
  } catch (error) {
    const reason = error instanceof Error && error.name === 'TimeoutError' ? 'timed out' : 'failed';
    throw new AppError('platform-unreachable', `request to ${url.hostname} ${reason}`);
  }
}

/**
 * The body as text chunks, at most `maximumBytes` of it, so that memory stays flat whatever the other side sends.
 *
 * @throws AppError `platform-unreachable` when the body is too long or breaks off.
 */
export async function* textChunks(response: Response, maximumBytes: number): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let bytes = 0;
  if (response.body === null) return;
  try {
    for await (const chunk of response.body) {
      bytes += chunk.byteLength;
      if (bytes > maximumBytes) throw new AppError('platform-unreachable', 'the answer is longer than expected');
      yield decoder.decode(chunk, { stream: true });
    }
  } catch (error) {
    if (error instanceof AppError) throw error;
    throw new AppError('platform-unreachable', 'the answer broke off');
  }
  yield decoder.decode();
}

import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import { checkedUrl, type Fetch, safeFetch, textChunks } from './safe-fetch.ts';
import { type Credentials, canonicalQuery, signedHeaders } from './signature.ts';

const VERSION = '2014-05-26';
const TIMEOUT_MS = 10_000;
const LONGEST_ANSWER_BYTES = 20 * 2 ** 20;
const ATTEMPTS = 4;
const FIRST_WAIT_MS = 500;

export interface EcsClientOptions {
  readonly credentials: Credentials;
  /** Address or host of the API for every region; default: the vendor's per region. */
  readonly endpoint?: string | undefined;
  readonly fetch: Fetch;
  readonly now: () => number;
  readonly nonce: () => string;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/** Signed calls of the ECS API, retried while the vendor throttles. */
export interface EcsClient {
  /** @throws AppError `platform-unreachable` (worth a later try) or `platform-refused` (with the vendor's code). */
  call<Schema extends z.ZodType>(call: EcsCall, schema: Schema): Promise<z.infer<Schema>>;
}

export interface EcsCall {
  readonly action: string;
  readonly region: string;
  readonly parameters: Readonly<Record<string, string>>;
}

const failure = z.object({ Code: z.string() });
const REGION = /^[a-z]{2,3}-[a-z0-9-]{2,30}$/;

function endpointOf(options: EcsClientOptions, region: string): URL {
  // The region becomes part of a host name, so nothing but a region may pass.
  if (!REGION.test(region)) throw new AppError('platform-refused', 'not a region id');
  const given = options.endpoint ?? `ecs.${region}.aliyuncs.com`;
  return checkedUrl(/^https?:\/\//.test(given) ? given : `https://${given}`);
}

export function createEcsClient(options: EcsClientOptions): EcsClient {
  return {
    async call(call, schema) {
      for (let attempt = 1; ; attempt += 1) {
        const answer = await send(options, call);
        if (answer.ok) return parseAnswer(schema, answer.body, call.action);
        const isWorthARetry =
          /^(Throttling|ServiceUnavailable|InternalError)/.test(answer.code) || answer.status >= 500;
        if (!isWorthARetry || attempt === ATTEMPTS) throw refused(call.action, answer);
        await options.sleep(FIRST_WAIT_MS * 2 ** (attempt - 1));
      }
    },
  };
}

type Answer =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly status: number; readonly code: string };

async function send(options: EcsClientOptions, call: EcsCall): Promise<Answer> {
  const url = endpointOf(options, call.region);
  url.pathname = '/';
  url.search = canonicalQuery(call.parameters);
  const headers = signedHeaders({
    host: url.host,
    action: call.action,
    version: VERSION,
    query: call.parameters,
    now: options.now(),
    nonce: options.nonce(),
    credentials: options.credentials,
  });
  // `fetch` sets Host itself, to the same value.
  const { host: _, ...sent } = headers;
  const response = await safeFetch(url, {
    fetch: options.fetch,
    timeoutMs: TIMEOUT_MS,
    init: { method: 'POST', headers: { ...sent, accept: 'application/json' } },
  });
  const body = await readJson(response);
  if (response.ok) return { ok: true, body };
  return { ok: false, status: response.status, code: failure.safeParse(body).data?.Code ?? 'Unknown' };
}

async function readJson(response: Response): Promise<unknown> {
  let text = '';
  for await (const chunk of textChunks(response, LONGEST_ANSWER_BYTES)) text += chunk;
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function parseAnswer<Schema extends z.ZodType>(schema: Schema, body: unknown, action: string): z.infer<Schema> {
  const parsed = schema.safeParse(body);
  if (parsed.success) return parsed.data;
  const where = parsed.error.issues[0]?.path.map(String).join('.') ?? '';
  throw new AppError('platform-unreachable', `${action}: unexpected answer at ${where}`);
}

function refused(action: string, answer: Extract<Answer, { ok: false }>): AppError {
  // The vendor's code is one word without personal data; its message may quote the request.
  const code = /^[A-Za-z.]{1,80}$/.test(answer.code) ? answer.code : 'Unknown';
  const isPassing = answer.status >= 500 || code.startsWith('Throttling');
  return new AppError(isPassing ? 'platform-unreachable' : 'platform-refused', `${action}: ${code}`, {
    details: { code, status: answer.status },
  });
}

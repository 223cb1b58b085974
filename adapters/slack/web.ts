import { setTimeout as wait } from 'node:timers/promises';
import { LogLevel, webApi } from '@slack/bolt';
import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import type { Logger } from '../adapter.ts';
import { postJson } from '../http.ts';
import type { SlackAdapterConfig } from './config.ts';

const { WebAPIHTTPError, WebAPIPlatformError, WebAPIRateLimitedError, WebClient } = webApi;

/** Answers of the Web API that a later attempt may cure: https://docs.slack.dev/reference/methods/chat.postMessage#errors */
const passing = /^(?:rate_?limited|internal_error|fatal_error|service_unavailable|request_timeout|unreadable_answer)$/u;

/** Longest pause, in seconds, that one call sits out by itself after a 429; longer ones are the inbox's business. */
const patienceSeconds = 3;

/** Warnings and errors of the library in our log; its debug lines hold what people wrote. */
export function boltLogger(logger: Logger): webApi.Logger {
  const silent = (): void => undefined;
  const say = (level: 'warn' | 'error') => (first: unknown) =>
    logger[level]({ detail: String(first).slice(0, 300) }, 'library message');
  const levels = { setLevel: silent, setName: silent, getLevel: () => LogLevel.WARN };
  return { debug: silent, info: silent, warn: say('warn'), error: say('error'), ...levels };
}

/** A fresh object each time: the client writes into what it is given, tokens included. */
export const webClientOptions = ({ apiUrl }: SlackAdapterConfig, logger: webApi.Logger): webApi.WebClientOptions => ({
  slackApiUrl: apiUrl,
  timeout: 10_000,
  retryConfig: { retries: 2, minTimeout: 200, maxTimeout: 1_000 },
  rejectRateLimitedCalls: true,
  logger,
});

export const createWebClient = (token: string, config: SlackAdapterConfig, logger: webApi.Logger): webApi.WebClient =>
  new WebClient(token, webClientOptions(config, logger));

const unreachable = (message: string): AppError => new AppError('platform-unreachable', message);

function refused(doing: string, said = ''): AppError {
  const reason = /^[a-z_]{1,60}$/u.test(said) ? said : 'unreadable_answer';
  const code = passing.test(reason) ? 'platform-unreachable' : 'platform-refused';
  return new AppError(code, `Slack refused ${doing}: ${reason}`, { details: { reason } });
}

/** Refused (the platform said no) or unreachable (worth a retry); never carries a body, which may hold a person's text. */
export function platformError(error: unknown, doing: string): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof WebAPIPlatformError) return refused(doing, error.data.error);
  if (error instanceof WebAPIHTTPError) return unreachable(`Slack answered ${error.statusCode} to ${doing}`);
  if (error instanceof WebAPIRateLimitedError) return unreachable(`Slack asks to wait with ${doing}`);
  return unreachable(`Slack did not answer ${doing}`);
}

/** A Web API call by the library, with our errors. */
export const call = <T>(doing: string, answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => Promise.reject(platformError(error, doing)));

const outcome = z.object({
  ok: z.boolean(),
  error: z.string().optional(),
  response_metadata: z
    .object({ messages: z.array(z.string()) })
    .optional()
    .catch(undefined),
});

/**
 * Calls a method that writes a message: these take JSON. The library would walk through every block for a log line that
 * nobody reads and repeat a request of unknown outcome, which may post twice; whoever delivers looks first.
 */
export async function write(client: webApi.WebClient, method: string, message: object, patient = true): Promise<void> {
  const headers = { authorization: `Bearer ${client.token}`, 'content-type': 'application/json; charset=utf-8' };
  const post = { what: method, body: message, headers };
  const { status, body, retryAfter = Number.POSITIVE_INFINITY } = await postJson(client.slackApiUrl + method, post);
  if (status === 429 && patient && retryAfter <= patienceSeconds) {
    await wait(retryAfter * 1_000);
    return write(client, method, message, false);
  }
  if (status !== 200) throw unreachable(`Slack answered ${status} to ${method}`);
  const { ok, error, response_metadata: about } = outcome.safeParse(body).data ?? { ok: false };
  if (ok) return;
  // Which block it is about, without what stands in it.
  const places = about?.messages.flatMap((text) => /\[json-pointer:[/\w]+\]/u.exec(text) ?? []) ?? [];
  throw refused([method, ...places].join(' '), error);
}

/** Posts to a response URL: https://docs.slack.dev/interactivity/handling-user-interaction#message_responses */
export async function postResponse(url: string, body: Readonly<Record<string, unknown>>): Promise<void> {
  const { status, body: answer } = await postJson(url, { what: 'an answer by response URL', body });
  if (status < 300 && outcome.safeParse(answer).data?.ok !== false) return;
  const code = status === 429 || status >= 500 ? 'platform-unreachable' : 'platform-refused';
  throw new AppError(code, `the response URL answered ${status}`, { details: { status } });
}

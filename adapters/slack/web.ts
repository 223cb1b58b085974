import { LogLevel, webApi } from '@slack/bolt';
import { AppError } from '../../src/errors.ts';
import type { Logger } from '../adapter.ts';
import { postJson, refusal } from '../http.ts';
import { fieldAt, listAt, textAt } from '../wire.ts';
import type { SlackAdapterConfig } from './config.ts';

/** Answers of the Web API that a later attempt may cure: https://docs.slack.dev/reference/methods/chat.postMessage#errors */
const passing = /^(?:rate_?limited|internal_error|fatal_error|service_unavailable|request_timeout|unreadable_answer)$/u;

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

function refused(doing: string, said = ''): AppError {
  const reason = /^[a-z_]{1,60}$/u.test(said) ? said : 'unreadable_answer';
  return refusal(passing.test(reason), `Slack refused ${doing}: ${reason}`, { reason });
}

/** Refused (the platform said no) or unreachable (worth a retry); never carries a body, which may hold a person's text. */
export function platformError(error: unknown, doing: string): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof webApi.WebAPIPlatformError) return refused(doing, error.data.error);
  if (error instanceof webApi.WebAPIRateLimitedError) return refusal(true, `Slack asks to wait with ${doing}`);
  const status = error instanceof webApi.WebAPIHTTPError ? `: HTTP ${error.statusCode}` : '';
  return refusal(true, `Slack did not answer ${doing}${status}`);
}

/** A Web API call by the library, with our errors. */
export const call = <T>(doing: string, answer: Promise<T>): Promise<T> =>
  answer.catch((error: unknown) => Promise.reject(platformError(error, doing)));

/**
 * Calls a method that writes a message: these take JSON. The library would walk through every block for a log line that
 * nobody reads and repeat a request of unknown outcome, which may post twice; whoever delivers looks first.
 */
export async function write({ token, slackApiUrl }: webApi.WebClient, method: string, message: object): Promise<void> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json; charset=utf-8' };
  const { status, body } = await postJson(slackApiUrl + method, { what: method, body: message, headers });
  if (status !== 200) throw refusal(true, `Slack answered ${status} to ${method}`);
  if (fieldAt(body, 'ok') === true) return;
  // Which block it is about, without what stands in it.
  const messages = listAt(body, 'response_metadata.messages').map(String);
  const places = messages.flatMap((text) => /\[json-pointer:[/\w]+\]/u.exec(text) ?? []);
  throw refused([method, ...places].join(' '), textAt(body, 'error'));
}

/** Posts to a response URL: https://docs.slack.dev/interactivity/handling-user-interaction#message_responses */
export async function postResponse(url: string, body: Readonly<Record<string, unknown>>): Promise<void> {
  const { status, body: answer } = await postJson(url, { what: 'an answer by response URL', body });
  if (status < 300 && fieldAt(answer, 'ok') !== false) return;
  throw refusal(status === 429 || status >= 500, `the response URL answered ${status}`, { status });
}

import { webApi } from '@slack/bolt';
import { z } from 'zod';
import { AppError, asAppError } from '../../src/errors.ts';
import { postJson } from '../http.ts';
import type { SlackAdapterConfig } from './config.ts';

const { WebAPIHTTPError, WebAPIPlatformError, WebAPIRateLimitedError, WebAPIRequestError, WebClient } = webApi;

/** Answers of the Web API that a later attempt may cure: https://docs.slack.dev/reference/methods/chat.postMessage#errors */
const passing = new Set([
  'ratelimited',
  'rate_limited',
  'internal_error',
  'fatal_error',
  'service_unavailable',
  'request_timeout',
]);

/** Longest pause, in seconds, that one call sits out by itself after a 429; longer ones are the inbox's business. */
const patienceSeconds = 3;

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

/** Refused (the platform said no) or unreachable (worth a retry); never carries a body, which may hold a person's text. */
export function platformError(error: unknown, doing: string): AppError {
  if (error instanceof WebAPIPlatformError) {
    const reason = /^[a-z_]{1,60}$/u.test(error.data.error) ? error.data.error : 'unreadable_answer';
    const code = passing.has(reason) || reason === 'unreadable_answer' ? 'platform-unreachable' : 'platform-refused';
    return new AppError(code, `Slack refused ${doing}: ${reason}`, { details: { reason } });
  }
  if (error instanceof WebAPIRateLimitedError) {
    const details = { reason: 'ratelimited', retryAfterSeconds: error.retryAfter };
    return new AppError('platform-unreachable', `Slack asks to wait with ${doing}`, { details });
  }
  if (error instanceof WebAPIHTTPError) {
    return new AppError('platform-unreachable', `Slack answered ${error.statusCode} to ${doing}`);
  }
  if (error instanceof WebAPIRequestError) return new AppError('platform-unreachable', `Slack did not answer ${doing}`);
  if (error instanceof AppError) return asAppError(error);
  return new AppError('platform-unreachable', `${doing} failed`);
}

/** One Web API call with our errors, sitting out a short rate limit once. */
export async function call<T>(doing: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof WebAPIRateLimitedError) || error.retryAfter > patienceSeconds)
      throw platformError(error, doing);
    await new Promise((resolve) => setTimeout(resolve, error.retryAfter * 1_000));
  }
  return work().catch((error: unknown) => {
    throw platformError(error, doing);
  });
}

const refusal = z.object({ ok: z.literal(false) });

/** Posts to a response URL: https://docs.slack.dev/interactivity/handling-user-interaction#message_responses */
export async function postResponse(url: string, body: Readonly<Record<string, unknown>>): Promise<void> {
  const { status, body: answer } = await postJson(url, { what: 'an answer by response URL', body });
  if (status < 300 && !refusal.safeParse(answer).success) return;
  const code = status === 429 || status >= 500 ? 'platform-unreachable' : 'platform-refused';
  throw new AppError(code, `the response URL answered ${status}`, { details: { status } });
}

import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import type { AdapterContext } from '../adapter.ts';
import { postJson, refusal } from '../http.ts';
import type { Seal } from '../seal.ts';
import type { DingtalkAdapterConfig } from './config.ts';
import type { DingtalkAddress } from './receive.ts';
import type { DingtalkMessage } from './render.ts';
import { type AccessToken, callOpenApi, isTrustedWebhook, reasonOf } from './web.ts';

/** `errcode` of webhooks: https://open.dingtalk.com/document/orgapp/custom-robot-access, checked 2026-11-30. */
const gone = /^(?:300001|400101)$/u;
const busy = /^(?:-1|130101|410100|90018|1111)$/u;
const contentRefused = /^43010\d$/u;

export interface Courier {
  readonly config: DingtalkAdapterConfig;
  readonly context: AdapterContext;
  readonly seal: Seal;
  readonly token: AccessToken;
}

export interface Parcel {
  readonly address: DingtalkAddress;
  readonly message: DingtalkMessage;
  /** The same for every attempt at one message. */
  readonly key?: string | undefined;
}

/**
 * Exactly one message: through the session's webhook, or once through the OpenAPI where that is gone.
 *
 * @throws AppError `platform-unreachable` (worth a retry) or `platform-refused`.
 */
export async function deliverMessage(courier: Courier, parcel: Parcel): Promise<void> {
  const webhook = webhookOf(courier, parcel.address);
  if (webhook === undefined || !(await viaWebhook(webhook, parcel))) await viaOpenApi(courier, parcel);
}

/** Undefined when there is none, or it has expired or leads elsewhere. */
function webhookOf({ config, context, seal }: Courier, address: DingtalkAddress): string | undefined {
  const { webhook, webhookExpiresAt } = address;
  if (webhook === null || (webhookExpiresAt !== 0 && webhookExpiresAt <= context.now())) return undefined;
  const opened = seal.open(webhook);
  if (opened === undefined || isTrustedWebhook(opened, config)) return opened;
  context.logger.warn({}, 'a session webhook outside the platform is not used');
  return undefined;
}

/** Whether it was sent; false when the webhook is gone. */
async function viaWebhook(url: string, parcel: Parcel): Promise<boolean> {
  let reason = await post(url, addressed(parcel, richBody));
  if (contentRefused.test(reason)) reason = await post(url, addressed(parcel, plainBody));
  if (reason === '0' || gone.test(reason)) return reason === '0';
  throw refusal(busy.test(reason), `DingTalk refused the session webhook: ${reason}`, { reason });
}

async function post(url: string, body: unknown): Promise<string> {
  const answer = await postJson(url, { what: 'the session webhook', body });
  return answer.body === undefined || answer.status >= 500 ? '-1' : reasonOf(answer);
}

type Body = (message: DingtalkMessage, mention: string) => object;

/**
 * Whoever asked in a group is mentioned: the id has to stand in the text too, where the client shows the name. People from
 * outside the organisation have none.
 */
function addressed({ address: { isGroup, staffId }, message, key }: Parcel, body: Body): object {
  const atUserIds = isGroup && staffId !== null ? [staffId] : [];
  const mention = atUserIds.map((id) => `@${id}\n\n`).join('');
  return { ...body(message, mention), at: { atUserIds, isAtAll: false }, msgUuid: key };
}

const plainBody: Body = ({ plain }, mention) => ({ msgtype: 'text', text: { content: `${mention}${plain}` } });

const richBody: Body = ({ title, text, buttons }, mention) => {
  const content = { title, text: `${mention}${text}` };
  if (buttons.length === 0) return { msgtype: 'markdown', markdown: content };
  return { msgtype: 'actionCard', actionCard: { ...content, btnOrientation: '0', btns: buttons } };
};

/** Template and its parameters: the OpenAPI names the same things differently. */
function template({ title, text, buttons }: DingtalkMessage): { msgKey: string; msgParam: string } {
  // One button would need the single-link card, which shows no other way to answer: the numbers in the text do.
  if (buttons.length < 2) return { msgKey: 'sampleMarkdown', msgParam: JSON.stringify({ title, text }) };
  const named = buttons.flatMap((button, index) => [
    [`actionTitle${index + 1}`, button.title],
    [`actionURL${index + 1}`, button.actionURL],
  ]);
  const parameters = { title, text, ...Object.fromEntries(named) };
  return { msgKey: `sampleActionCard${buttons.length}`, msgParam: JSON.stringify(parameters) };
}

/** A 200 can still list our person among those who got nothing. */
const answerShape = z.record(z.string(), z.array(z.unknown()).catch([])).catch({});

async function viaOpenApi({ config, token }: Courier, { address, message }: Parcel): Promise<void> {
  const { robotCode, conversation: openConversationId, staffId, isGroup } = address;
  if (!isGroup && staffId === null) throw refusal(false, 'no way back to a person outside the organisation');
  const target = isGroup ? { openConversationId } : { userIds: [staffId] };
  const path = isGroup ? '/v1.0/robot/groupMessages/send' : '/v1.0/robot/oToMessages/batchSend';
  const request = { path, what: 'a message', body: { robotCode, ...target, ...template(message) } };
  const send = async () => {
    const headers = { 'x-acs-dingtalk-access-token': await token.get() };
    return callOpenApi(config, { ...request, headers }, answerShape);
  };
  const answer = await send().catch((error: unknown) => {
    if (!(error instanceof AppError && error.details['status'] === 401)) throw error;
    token.drop();
    return send();
  });
  const missed = Object.keys(answer).find((name) => !isGroup && answer[name]?.includes(staffId));
  if (missed === undefined) return;
  const isBusy = missed === 'flowControlledStaffIdList';
  throw refusal(isBusy, 'DingTalk did not pass the message on', { reason: missed });
}

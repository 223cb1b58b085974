import { AppError } from '../../src/errors.ts';
import { postJson } from '../http.ts';
import type { DingtalkAdapterConfig } from './config.ts';
import type { DingtalkAddress } from './receive.ts';
import type { DingtalkMessage } from './render.ts';
import { type AccessToken, openApiError, reasonOf } from './web.ts';

/** `errcode` of webhooks: https://open.dingtalk.com/document/orgapp/custom-robot-access, checked 2026-11-30. */
const webhookGone: ReadonlySet<string> = new Set(['300001', '400101']);
const webhookBusy: ReadonlySet<string> = new Set(['-1', '130101', '410100', '90018', '1111']);
const contentRefused = /^43010\d$/u;

export interface Courier {
  readonly config: DingtalkAdapterConfig;
  readonly address: DingtalkAddress;
  /** Opened and checked; null when there is none, it has expired or leads elsewhere. */
  readonly webhook: string | null;
  readonly token: AccessToken;
  /** The same for every attempt at one message. */
  readonly key: string | undefined;
}

type Outcome = 'sent' | 'gone';

/**
 * Exactly one message: through the session's webhook, or once through the OpenAPI where that is gone.
 *
 * @throws AppError `platform-unreachable` (worth a retry) or `platform-refused`.
 */
export async function deliverMessage(courier: Courier, message: DingtalkMessage): Promise<void> {
  const outcome = courier.webhook === null ? 'gone' : await viaWebhook(courier, courier.webhook, message);
  if (outcome === 'gone') await viaOpenApi(courier, message);
}

async function viaWebhook(courier: Courier, url: string, message: DingtalkMessage): Promise<Outcome> {
  const rich = await post(url, webhookBody(courier, message));
  if (!contentRefused.test(rich)) return outcomeOf(rich);
  const plain = { msgtype: 'text', text: { content: addressed(courier, message.plain) }, ...common(courier) };
  return outcomeOf(await post(url, plain));
}

async function post(url: string, body: unknown): Promise<string> {
  const answer = await postJson(url, { what: 'the session webhook', body });
  if (answer.body === undefined || answer.status >= 500) return '-1';
  const status = flowControl(answer.body);
  return status ?? reasonOf(answer);
}

/** The address-wide limit answers with none of the usual keys. */
const flowControl = (body: unknown): string | undefined =>
  typeof body === 'object' && body !== null && 'status' in body && !('errcode' in body) ? '1111' : undefined;

function outcomeOf(reason: string): Outcome {
  if (reason === '0') return 'sent';
  if (webhookGone.has(reason)) return 'gone';
  const code = webhookBusy.has(reason) ? 'platform-unreachable' : 'platform-refused';
  throw new AppError(code, `DingTalk refused the session webhook: ${reason}`, { details: { reason } });
}

/** Whoever asked in a group is told; people from outside the organisation have no id to be mentioned by. */
const mentioned = ({ address: { isGroup, staffId } }: Courier): string[] =>
  isGroup && staffId !== null ? [staffId] : [];

/** The id has to stand in the text too; the client shows the name instead. */
const addressed = (courier: Courier, text: string): string =>
  [...mentioned(courier).map((id) => `@${id}`), text].join('\n\n');

function common(courier: Courier): Record<string, unknown> {
  const at = { atUserIds: mentioned(courier), isAtAll: false };
  return courier.key === undefined ? { at } : { at, msgUuid: courier.key };
}

function webhookBody(courier: Courier, { title, buttons, ...message }: DingtalkMessage): Record<string, unknown> {
  const text = addressed(courier, message.text);
  if (buttons.length === 0) return { msgtype: 'markdown', markdown: { title, text }, ...common(courier) };
  const actionCard = { title, text, btnOrientation: '0', btns: buttons };
  return { msgtype: 'actionCard', actionCard, ...common(courier) };
}

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

async function viaOpenApi(courier: Courier, message: DingtalkMessage): Promise<void> {
  const { address } = courier;
  const { robotCode, conversation, staffId, isGroup } = address;
  if (!isGroup && staffId === null) {
    throw new AppError('platform-refused', 'no way back to a person outside the organisation');
  }
  const target = isGroup ? { openConversationId: conversation } : { userIds: [staffId] };
  const path = isGroup ? '/v1.0/robot/groupMessages/send' : '/v1.0/robot/oToMessages/batchSend';
  const body = { robotCode, ...target, ...template(message) };
  const send = async () => {
    const headers = { 'x-acs-dingtalk-access-token': await courier.token.get() };
    return postJson(new URL(path, courier.config.apiUrl).href, { what: 'a message', body, headers });
  };
  let answer = await send();
  if (answer.status === 401) {
    courier.token.drop();
    answer = await send();
  }
  if (answer.status !== 200) throw openApiError(answer, 'a message');
  if (staffId !== null && !isGroup) checkRecipient(answer.body, staffId);
}

/** A 200 can still say that nobody got it. */
function checkRecipient(body: unknown, staffId: string): void {
  const lists = typeof body === 'object' && body !== null ? Object.entries(body) : [];
  for (const [name, list] of lists) {
    if (!Array.isArray(list) || !list.includes(staffId)) continue;
    const code = name === 'flowControlledStaffIdList' ? 'platform-unreachable' : 'platform-refused';
    throw new AppError(code, 'DingTalk did not pass the message on', { details: { reason: name } });
  }
}

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { DingtalkGateway } from './dingtalk-gateway.ts';

export type Payload = Readonly<Record<string, unknown>>;

export interface Said {
  readonly text?: string;
  readonly group?: boolean;
  readonly user?: string;
  readonly conversation?: string;
  readonly msgId?: string;
  readonly webhook?: string;
  /** Text of the quoted message. */
  readonly quote?: string;
  readonly extra?: Payload;
}

const hour = 3_600_000;

/** Robot messages with fresh ids and webhooks of one gateway. */
export function robotMessages(gateway: DingtalkGateway): (said: Said) => Payload {
  let count = 0;
  return ({ text = '', group = false, user = 'staff0001', quote, extra, ...said }) => {
    count += 1;
    const quoted = { isReplyMsg: true, repliedMsg: { msgType: 'actionCard', msgId: 'q', content: { text: quote } } };
    const groupParts = {
      conversationTitle: '测试群',
      isInAtList: true,
      atUsers: [{ dingtalkId: '$:LWCP_v1:$BOT' }],
    };
    return {
      conversationId: said.conversation ?? (group ? 'cidGROUP0001==' : `cidDIRECT-${user}=`),
      conversationType: group ? '2' : '1',
      chatbotCorpId: 'ding0001',
      chatbotUserId: '$:LWCP_v1:$BOT',
      robotCode: 'robot0001',
      msgId: said.msgId ?? `msg-${process.pid}-${count}`,
      msgtype: 'text',
      createAt: Date.now(),
      senderId: `$:LWCP_v1:$${user}`,
      senderStaffId: user,
      senderNick: '测试用户',
      senderCorpId: 'ding0001',
      isAdmin: false,
      sessionWebhook: said.webhook ?? gateway.webhook(),
      sessionWebhookExpiredTime: Date.now() + 1.5 * hour,
      ...(group ? groupParts : {}),
      text: { content: group ? ` ${text}` : text, ...(quote === undefined ? {} : quoted) },
      ...extra,
    };
  };
}

export const sampleFolder = join(import.meta.dirname, '../fixtures/dingtalk-payloads');

export const sample = (name: string): Payload =>
  z.looseObject({}).parse(JSON.parse(readFileSync(join(sampleFolder, `${name}.json`), 'utf8')));

/** Names of all recorded robot messages. */
export const sampleNames: readonly string[] = readdirSync(sampleFolder)
  .filter((file) => file.startsWith('robot-'))
  .map((file) => file.replace('.json', ''));

/** A recorded message with an id and a webhook of its own, as if it came just now. */
export function fresh(gateway: DingtalkGateway, name: string): Payload {
  const now = Date.now();
  return {
    ...sample(name),
    msgId: `${name}-${now}-${Math.random()}`,
    createAt: now,
    sessionWebhook: gateway.webhook(),
    sessionWebhookExpiredTime: now + 1.5 * hour,
  };
}

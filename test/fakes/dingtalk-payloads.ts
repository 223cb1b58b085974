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

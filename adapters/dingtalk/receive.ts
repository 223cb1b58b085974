import { z } from 'zod';
import { encodeConversationId, type IncomingMessage } from '../../src/message.ts';
import { clip, parseJson } from '../text.ts';
import { fieldAt, listAt, textAt } from '../wire.ts';
import { dingtalkLimits } from './limits.ts';

/** Who spoke, where, and how the answer goes back; the adapter's `Address`. */
export const dingtalkAddress = z.object({
  /** `IncomingMessage.conversationId`: the choices of the answer are kept under it. */
  dialog: z.string(),
  conversation: z.string(),
  isGroup: z.boolean(),
  robotCode: z.string(),
  /** Absent for people outside the organisation: they cannot be mentioned, nor written to without a webhook. */
  staffId: z.string().nullable(),
  /** Sealed: it lets anybody write into the chat for 90 minutes. */
  webhook: z.string().nullable(),
  /** Epoch milliseconds; 0 when the platform did not tell. */
  webhookExpiresAt: z.number(),
});
export type DingtalkAddress = z.infer<typeof dingtalkAddress>;

export interface RobotMessage extends Pick<IncomingMessage, 'messageId' | 'conversationId' | 'userId'> {
  readonly address: DingtalkAddress;
  /** What was said; empty for a bare mention, undefined for pictures, files and types without text. */
  readonly text: string | undefined;
  /** Of the answer that was quoted; the quoted words themselves are context, never a command. */
  readonly quotedCode: string | undefined;
  /** Monthly quota of the organisation used up. */
  readonly isOverQuota: boolean;
}

/** Ids of people; anything else would be markup inside the answer. */
const mentionable = /^[\w.@-]{1,64}$/u;

/**
 * Undefined for anything that is not a robot message; `close` seals the webhook. Every other field can be missing (unknown
 * types, exhausted quota, people from outside).
 */
export function readRobotMessage(data: unknown, close: (webhook: string) => string): RobotMessage | undefined {
  const wire = typeof data === 'string' ? parseJson(data) : data;
  const [channel, id] = [textAt(wire, 'conversationId'), textAt(wire, 'msgId')];
  if (!channel || !id) return undefined;
  const [robotCode, corporation] = [textAt(wire, 'robotCode'), textAt(wire, 'chatbotCorpId')];
  const [senderStaffId, webhook] = [textAt(wire, 'senderStaffId'), textAt(wire, 'sessionWebhook')];
  const thread = senderStaffId || textAt(wire, 'senderId') || 'unknown';
  // One dialog for each robot, conversation and person: two people in a group never fill each other's slots.
  const tenant = robotCode || corporation || 'robot';
  const conversationId = encodeConversationId({ adapter: 'dingtalk', tenant, channel, thread });
  const owner = [corporation || robotCode || 'robot', thread];
  return {
    // The header's id is new on each redelivery; two robots mentioned in one message share `msgId`.
    messageId: `dingtalk:${robotCode || 'robot'}:${id}`.toWellFormed(),
    conversationId,
    userId: ['dingtalk', ...owner.map((part) => encodeURIComponent(part.toWellFormed()))].join(':'),
    address: {
      dialog: conversationId,
      conversation: channel,
      isGroup: isGroup(wire),
      robotCode: robotCode ?? '',
      staffId: senderStaffId && mentionable.test(senderStaffId) ? senderStaffId : null,
      webhook: webhook ? close(webhook) : null,
      webhookExpiresAt: numberAt(wire, 'sessionWebhookExpiredTime'),
    },
    text: spokenText(wire),
    quotedCode: quotedCode(wire),
    isOverQuota: numberAt(wire, 'errorCode') === 20_001,
  };
}

const isGroup = (wire: unknown): boolean => textAt(wire, 'conversationType') === '2';

/** 0 where there is none. */
const numberAt = (wire: unknown, path: string): number => Number(fieldAt(wire, path) ?? 0) || 0;

/** Slash commands are plain text on this platform, also with a full-width slash. */
const command = /^[/／]gpu[-_ ]?size(?=$|[\s:：,，])[\s:：,，]*/iu;

function spokenText(wire: unknown): string | undefined {
  const empty = textAt(wire, 'msgtype') === 'text' ? '' : undefined;
  const written = textAt(wire, 'text.content', 'content.recognition') ?? richText(wire) ?? empty;
  const said = written?.replace(/[\u200B\u2060\uFEFF]/gu, '').trim();
  return said && clip(said.toWellFormed().replace(command, ''), dingtalkLimits.incomingCharacters);
}

/** Rich text keeps the visible mention of the robot as its first run; a picture among the runs is left out. */
function richText(wire: unknown): string | undefined {
  const runs = listAt(wire, 'content.richText').map((run) => textAt(run, 'text') ?? '');
  const [first = ''] = runs;
  const mentioned = isGroup(wire) && fieldAt(wire, 'isInAtList') === true && /^@\S+$/u.test(first.trim());
  const said = (mentioned ? runs.slice(1) : runs).filter((run) => run !== '').join(' ');
  return said === '' && !mentioned ? undefined : said;
}

const codePattern = /(?<![A-Z0-9])#([2-9A-HJ-NP-Z]{4})(?![A-Z0-9])/u;
const quotes = ['text.repliedMsg.content', 'content.repliedMsg.content'];

/** Quotes of texts, rich texts and cards have shapes of their own: the code is looked for in all of it. */
const quotedCode = (wire: unknown): string | undefined =>
  codePattern.exec(JSON.stringify(quotes.map((path) => fieldAt(wire, path))))?.[1];

import { z } from 'zod';
import { encodeConversationId, type IncomingMessage } from '../../src/message.ts';
import { clip } from '../text.ts';
import { dingtalkLimits } from './limits.ts';

const optionalText = z.string().nullish().catch(undefined);
const anything = z.unknown().optional();

/** What a robot message may hold; every field can be missing (unknown types, exhausted quota, people from outside). */
const robotMessage = z.looseObject({
  conversationId: z.string().min(1),
  conversationType: optionalText,
  chatbotCorpId: optionalText,
  robotCode: optionalText,
  msgId: z.string().min(1),
  msgtype: optionalText,
  senderId: optionalText,
  senderStaffId: optionalText,
  isInAtList: z.boolean().nullish().catch(undefined),
  sessionWebhook: optionalText,
  sessionWebhookExpiredTime: z.coerce.number().nullish().catch(undefined),
  errorCode: z.union([z.number(), z.string()]).nullish().catch(undefined),
  text: anything,
  content: anything,
});
export type RobotMessage = z.infer<typeof robotMessage>;

/** Undefined for anything that is not a robot message. */
export function readRobotMessage(data: unknown): RobotMessage | undefined {
  try {
    return robotMessage.safeParse(typeof data === 'string' ? JSON.parse(data) : data).data;
  } catch {
    return undefined;
  }
}

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

/** Ids of people; anything else would be markup inside the answer. */
const mentionable = /^[\w.@-]{1,64}$/u;

export function addressOf(message: RobotMessage, close: (webhook: string) => string): DingtalkAddress {
  const { sessionWebhook, sessionWebhookExpiredTime, senderStaffId } = message;
  return {
    dialog: conversationOf(message),
    conversation: message.conversationId,
    isGroup: isGroup(message),
    robotCode: message.robotCode ?? '',
    staffId: senderStaffId && mentionable.test(senderStaffId) ? senderStaffId : null,
    webhook: sessionWebhook ? close(sessionWebhook) : null,
    webhookExpiresAt: sessionWebhookExpiredTime ?? 0,
  };
}

const isGroup = ({ conversationType }: RobotMessage): boolean => conversationType === '2';

const personOf = ({ senderStaffId, senderId }: RobotMessage): string => senderStaffId || senderId || 'unknown';

/** One dialog for each robot, conversation and person: two people in a group never fill each other's slots. */
export function conversationOf(message: RobotMessage): IncomingMessage['conversationId'] {
  const tenant = message.robotCode || message.chatbotCorpId || 'robot';
  return encodeConversationId({
    adapter: 'dingtalk',
    tenant,
    channel: message.conversationId,
    thread: personOf(message),
  });
}

export const userIdOf = (message: RobotMessage): string =>
  `dingtalk:${encodeURIComponent((message.chatbotCorpId || message.robotCode || 'robot').toWellFormed())}:${encodeURIComponent(personOf(message).toWellFormed())}`;

/** The header's id is new on each redelivery; two robots mentioned in one message share `msgId`. */
export const messageIdOf = ({ robotCode, msgId }: RobotMessage): string =>
  `dingtalk:${robotCode || 'robot'}:${msgId}`.toWellFormed();

/** Monthly quota of the organisation used up. */
export const isOverQuota = ({ errorCode }: RobotMessage): boolean => Number(errorCode) === 20_001;

const textPart = z.looseObject({ content: z.string() });
const voicePart = z.looseObject({ recognition: z.string() });
const richPart = z.looseObject({
  richText: z.array(z.looseObject({ text: optionalText, msgType: optionalText, content: optionalText }).catch({})),
});

/** Slash commands are plain text on this platform, also with a full-width slash. */
const command = /^[/／]gpu[-_ ]?size(?=$|[\s:：,，])[\s:：,，]*/iu;

/** What was said; empty for a bare mention, undefined for pictures, files and types without text. */
export function spokenText(message: RobotMessage): string | undefined {
  const text = rawText(message)
    ?.replace(/[\u200B\u2060\uFEFF]/gu, '')
    .trim();
  return text === undefined
    ? undefined
    : clip(text.toWellFormed().replace(command, ''), dingtalkLimits.incomingCharacters);
}

function rawText(message: RobotMessage): string | undefined {
  const text = textPart.safeParse(message.text).data?.content;
  if (text !== undefined) return text;
  const voice = voicePart.safeParse(message.content).data?.recognition;
  if (voice !== undefined) return voice;
  const rich = richPart.safeParse(message.content).data?.richText;
  if (rich !== undefined) return richRuns(message, rich);
  return message.msgtype === 'text' ? '' : undefined;
}

type Run = z.infer<typeof richPart>['richText'][number];

/** Rich text keeps the visible mention of the robot as its first run; a picture among the runs is left out. */
function richRuns(message: RobotMessage, rich: readonly Run[]): string | undefined {
  const runs = rich.map(({ text }) => text ?? '');
  const [first = ''] = runs;
  const mentioned = isGroup(message) && message.isInAtList === true && /^@\S+$/u.test(first.trim());
  const said = (mentioned ? runs.slice(1) : runs).filter((run) => run !== '').join(' ');
  return said === '' && !mentioned ? undefined : said;
}

const quoting = z.looseObject({ repliedMsg: z.looseObject({ content: anything }) });
const codePattern = /(?<![A-Z0-9])#([2-9A-HJ-NP-Z]{4})(?![A-Z0-9])/u;

/** Code of the answer that was quoted; the quoted words themselves are context, never a command. */
export function quotedCode(message: RobotMessage): string | undefined {
  const quoted = [message.text, message.content].map((place) => quoting.safeParse(place).data?.repliedMsg.content);
  const codes = stringsIn(quoted, 0).map((text) => codePattern.exec(text)?.[1]);
  return codes.find((code) => code !== undefined);
}

const deepest = 8;

function stringsIn(value: unknown, depth: number): string[] {
  if (typeof value === 'string') return [value];
  if (typeof value !== 'object' || value === null || depth > deepest) return [];
  return Object.values(value).flatMap((child) => stringsIn(child, depth + 1));
}

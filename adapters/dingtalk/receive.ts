import { z } from 'zod';
import { encodeConversationId, type IncomingMessage } from '../../src/message.ts';
import { clip, parseJson } from '../text.ts';
import { dingtalkLimits } from './limits.ts';

const optionalText = z.string().nullish().catch(undefined);
const optionalObject = <T extends z.ZodRawShape>(shape: T) => z.looseObject(shape).nullish().catch(undefined);
const run = z.looseObject({ text: optionalText }).catch({});
const quoted = optionalObject({ content: z.unknown().optional() });

/** What a robot message may hold; every field can be missing (unknown types, exhausted quota, people from outside). */
const wireShape = z.looseObject({
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
  errorCode: z.coerce.number().nullish().catch(undefined),
  text: optionalObject({ content: optionalText, repliedMsg: quoted }),
  content: optionalObject({
    recognition: optionalText,
    richText: z.array(run).nullish().catch(undefined),
    repliedMsg: quoted,
  }),
});
type Wire = z.infer<typeof wireShape>;

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

/** Undefined for anything that is not a robot message; `close` seals the webhook. */
export function readRobotMessage(data: unknown, close: (webhook: string) => string): RobotMessage | undefined {
  const wire = wireShape.safeParse(typeof data === 'string' ? parseJson(data) : data).data;
  if (wire === undefined) return undefined;
  const { conversationId: channel, senderStaffId, sessionWebhook } = wire;
  const thread = senderStaffId || wire.senderId || 'unknown';
  // One dialog for each robot, conversation and person: two people in a group never fill each other's slots.
  const tenant = wire.robotCode || wire.chatbotCorpId || 'robot';
  const conversationId = encodeConversationId({ adapter: 'dingtalk', tenant, channel, thread });
  const owner = [wire.chatbotCorpId || wire.robotCode || 'robot', thread];
  return {
    // The header's id is new on each redelivery; two robots mentioned in one message share `msgId`.
    messageId: `dingtalk:${wire.robotCode || 'robot'}:${wire.msgId}`.toWellFormed(),
    conversationId,
    userId: ['dingtalk', ...owner.map((part) => encodeURIComponent(part.toWellFormed()))].join(':'),
    address: {
      dialog: conversationId,
      conversation: channel,
      isGroup: isGroup(wire),
      robotCode: wire.robotCode ?? '',
      staffId: senderStaffId && mentionable.test(senderStaffId) ? senderStaffId : null,
      webhook: sessionWebhook ? close(sessionWebhook) : null,
      webhookExpiresAt: wire.sessionWebhookExpiredTime ?? 0,
    },
    text: spokenText(wire),
    quotedCode: quotedCode(wire),
    isOverQuota: wire.errorCode === 20_001,
  };
}

const isGroup = ({ conversationType }: Wire): boolean => conversationType === '2';

/** Slash commands are plain text on this platform, also with a full-width slash. */
const command = /^[/／]gpu[-_ ]?size(?=$|[\s:：,，])[\s:：,，]*/iu;

function spokenText(wire: Wire): string | undefined {
  const { text, content, msgtype } = wire;
  const written = text?.content ?? content?.recognition ?? richText(wire) ?? (msgtype === 'text' ? '' : undefined);
  const said = written?.replace(/[\u200B\u2060\uFEFF]/gu, '').trim();
  return said && clip(said.toWellFormed().replace(command, ''), dingtalkLimits.incomingCharacters);
}

/** Rich text keeps the visible mention of the robot as its first run; a picture among the runs is left out. */
function richText(wire: Wire): string | undefined {
  const runs = wire.content?.richText?.map(({ text }) => text ?? '') ?? [];
  const [first = ''] = runs;
  const mentioned = isGroup(wire) && wire.isInAtList === true && /^@\S+$/u.test(first.trim());
  const said = (mentioned ? runs.slice(1) : runs).filter((run) => run !== '').join(' ');
  return said === '' && !mentioned ? undefined : said;
}

const codePattern = /(?<![A-Z0-9])#([2-9A-HJ-NP-Z]{4})(?![A-Z0-9])/u;

/** Quotes of texts, rich texts and cards have shapes of their own: the code is looked for in all of it. */
const quotedCode = ({ text, content }: Wire): string | undefined =>
  codePattern.exec(JSON.stringify([text?.repliedMsg?.content, content?.repliedMsg?.content]))?.[1];

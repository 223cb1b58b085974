import { z } from 'zod';
import { encodeConversationId, type IncomingMessage } from '../../src/message.ts';

const id = z.string().nullish();
const flag = z.boolean().nullish();
const workspaceShape = { team: z.string().nullable(), enterprise: z.string().nullable(), orgWide: z.boolean() };

/** Who spoke, where, and how the answer goes back; the adapter's `Address`. */
export const slackAddress = z.object({
  ...workspaceShape,
  user: z.string(),
  /** Where an answer is posted; a person's id opens their direct messages. */
  channel: z.string(),
  isDirect: z.boolean(),
  /** Thread part of the conversation: root of the thread, or the person where there is none. */
  thread: z.string(),
  /** `post` a message, `update` the pressed one, or `respond` to the asker alone. */
  route: z.enum(['post', 'update', 'respond']).default('post'),
  threadTs: z.string().nullable().default(null),
  updateTs: z.string().nullable().default(null),
  /** Response URL, sealed: it lets anybody write into the channel for half an hour. */
  response: z.string().nullable().default(null),
  ephemeral: z.boolean().default(false),
});
export type SlackAddress = z.infer<typeof slackAddress>;

/** An installation of the app: a workspace, or a whole organisation. */
export type Workspace = Pick<SlackAddress, keyof typeof workspaceShape>;

/** A message on its way to the inbox. */
export interface Said {
  readonly address: SlackAddress;
  readonly text: string;
  /** Unique per event within the installation, and the same again for a redelivery. */
  readonly key: string;
  readonly estimateCode?: string | undefined;
}

/** Key of everything that belongs to one installation. */
export const tenantOf = ({ team, enterprise, orgWide }: Workspace): string =>
  (orgWide ? enterprise : null) ?? team ?? enterprise ?? 'unknown';

export const userIdOf = (address: Workspace & { user: string }): string => `slack:${tenantOf(address)}:${address.user}`;

/** Direct messages are one place, however they were reached: typed, by a form or from the home tab. */
export function conversationOf(address: SlackAddress): IncomingMessage['conversationId'] {
  const channel = address.isDirect ? 'im' : address.channel;
  return encodeConversationId({ adapter: 'slack', tenant: tenantOf(address), channel, thread: address.thread });
}

/** Outer part of an event: https://docs.slack.dev/apis/events-api/#event-type-structure */
export const eventEnvelope = z.looseObject({
  team_id: id,
  enterprise_id: id,
  event: z.looseObject({ type: z.string(), user: z.unknown().optional() }),
  authorizations: z
    .array(z.looseObject({ team_id: id, enterprise_id: id, user_id: id, is_bot: flag, is_enterprise_install: flag }))
    .nullish(),
});
type EventEnvelope = z.infer<typeof eventEnvelope>;

/** The installation that an event was sent to; in shared channels the sender's team is another one. */
export function workspaceOfEvent({ authorizations, team_id, enterprise_id }: EventEnvelope): Workspace {
  const granted = authorizations?.[0];
  const enterprise = (granted === undefined ? enterprise_id : granted.enterprise_id) ?? null;
  return { team: granted?.team_id ?? team_id ?? null, enterprise, orgWide: granted?.is_enterprise_install === true };
}

const messageEvent = z.looseObject({
  type: z.enum(['message', 'app_mention']),
  subtype: z.enum(['file_share', 'thread_broadcast']).optional(),
  user: z.string(),
  text: z.string().default(''),
  ts: z.string(),
  thread_ts: z.string().optional(),
  channel: z.string(),
  channel_type: z.string().optional(),
  bot_id: z.null().optional(),
  hidden: z.literal(false).optional(),
  files: z.array(z.unknown()).default([]),
});

/** A message that a person wrote and that may concern us. */
export interface PersonMessage extends Workspace {
  readonly user: string;
  readonly channel: string;
  readonly ts: string;
  /** Root of the thread that the message stands in; null at top level. */
  readonly threadTs: string | null;
  readonly text: string;
  readonly hasFiles: boolean;
  readonly isDirect: boolean;
  readonly mentionsUs: boolean;
  readonly addressesOther: boolean;
}

/** What a person wrote; undefined for edits, deletions, bots (ourselves included), joins and system messages. */
export function readPersonMessage(envelope: EventEnvelope, ourselves: string | undefined): PersonMessage | undefined {
  const parsed = messageEvent.safeParse(envelope.event);
  const granted = envelope.authorizations?.[0];
  const botUser = (granted?.is_bot === true ? granted.user_id : undefined) ?? ourselves;
  if (!parsed.success) return undefined;
  const { type, user, channel, ts, thread_ts: threadTs = ts, text, files, channel_type: channelType } = parsed.data;
  if (user === 'USLACK' || user === ourselves || (type === 'message' && user === botUser)) return undefined;
  const mentionsUs = type === 'app_mention' || (botUser !== undefined && text.includes(`<@${botUser}`));
  return {
    ...workspaceOfEvent(envelope),
    user,
    channel,
    ts,
    threadTs: threadTs === ts ? null : threadTs,
    text: plainText(text, botUser),
    hasFiles: files.length > 0,
    isDirect: channelType === 'im' || channel.startsWith('D'),
    mentionsUs,
    addressesOther: !mentionsUs && /^\s*<@/u.test(text),
  };
}

/** Slack's markup undone: https://docs.slack.dev/messaging/formatting-message-text#retrieving-messages */
export function plainText(text: string, botUser?: string): string {
  return text
    .replace(/<([@#!]?)([^<>|]*)(?:\|([^<>]*))?>/gu, (_, sign: string, target: string, label: string | undefined) => {
      if (sign === '@') return target === botUser ? ' ' : `@${label ?? target}`;
      if (sign === '#') return `#${label ?? target}`;
      return label ?? (sign === '!' ? ' ' : target);
    })
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&amp;', '&')
    .trim();
}

import { z } from 'zod';
import { encodeConversationId, type IncomingMessage } from '../../src/message.ts';

const id = z.string().nullish();
/** Commands are forms, where everything is text. */
const flag = z.union([z.boolean(), z.literal('true'), z.literal('false')]).nullish();
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

/** Key of everything that belongs to one installation. */
export const tenantOf = ({ team, enterprise, orgWide }: Workspace): string =>
  (orgWide ? enterprise : null) ?? team ?? enterprise ?? 'unknown';

export const userIdOf = (address: Workspace & { user: string }): string => `slack:${tenantOf(address)}:${address.user}`;

/** Direct messages are one place, however they were reached: typed, by a form or from the home tab. */
export function conversationOf(address: SlackAddress): IncomingMessage['conversationId'] {
  const channel = address.isDirect ? 'im' : address.channel;
  return encodeConversationId({ adapter: 'slack', tenant: tenantOf(address), channel, thread: address.thread });
}

const granted = z.looseObject({
  team_id: id,
  enterprise_id: id,
  user_id: id,
  is_bot: flag,
  is_enterprise_install: flag,
});
const action = z.looseObject({
  action_id: z.string(),
  block_id: z.string().default(''),
  value: id,
  selected_option: z.looseObject({ value: z.string() }).nullish(),
});

/**
 * What deliveries of any kind may hold: https://docs.slack.dev/apis/events-api/#event-type-structure and
 * https://docs.slack.dev/interactivity/handling-user-interaction
 */
export const delivery = z.looseObject({
  type: id,
  event: z.looseObject({ type: z.string() }).nullish(),
  authorizations: z.array(granted).nullish(),
  command: id,
  text: z.string().default(''),
  callback_id: id,
  team_id: id,
  team: z.looseObject({ id: z.string(), enterprise_id: id }).nullish(),
  enterprise_id: id,
  enterprise: z.looseObject({ id: z.string() }).nullish(),
  is_enterprise_install: flag,
  user_id: id,
  user: z.looseObject({ id: z.string(), team_id: id }).nullish(),
  channel_id: id,
  channel: z.looseObject({ id: z.string() }).nullish(),
  response_url: id,
  trigger_id: z.string().default(''),
  container: z.looseObject({ channel_id: id, message_ts: id, thread_ts: id, is_ephemeral: flag }).nullish(),
  message: z.looseObject({ ts: id, thread_ts: id, text: id }).nullish(),
  message_ts: id,
  actions: z.array(action).default([]),
  view: z
    .looseObject({
      app_installed_team_id: id,
      callback_id: id,
      private_metadata: id,
      state: z.looseObject({ values: z.unknown() }).nullish(),
    })
    .nullish(),
});
export type Delivery = z.infer<typeof delivery>;

/** `message`, `command`, `shortcut gpu_size_open`: what decides who takes care of it. */
export function kindOf({ event, command, type, callback_id, view }: Delivery): string {
  if (event) return event.type;
  if (typeof command === 'string') return 'command';
  const name = callback_id ?? (type === 'view_submission' ? view?.callback_id : undefined);
  return name ? `${type} ${name}` : `${type}`;
}

/** The installation that it was sent to; in shared channels the sender's team is another one. */
export function workspaceOf(body: Delivery): Workspace {
  const { authorizations, view, team, team_id, user, enterprise, enterprise_id } = body;
  const [own] = authorizations ?? [];
  const { is_enterprise_install: orgWide } = own ?? body;
  return {
    team: own?.team_id ?? view?.app_installed_team_id ?? team?.id ?? team_id ?? user?.team_id ?? null,
    enterprise:
      (own === undefined ? (enterprise?.id ?? team?.enterprise_id ?? enterprise_id) : own.enterprise_id) ?? null,
    orgWide: orgWide === true || orgWide === 'true',
  };
}

/** Where it was pressed or typed; without a channel (home tab, global shortcut) the person's direct messages. */
export function placeOf(body: Delivery, seal: (secret: string) => string): SlackAddress {
  const user = body.user?.id ?? body.user_id ?? 'unknown';
  const channel = body.channel?.id ?? body.container?.channel_id ?? body.channel_id ?? user;
  const response = body.response_url ? seal(body.response_url) : null;
  const isDirect = channel === user || channel.startsWith('D');
  return slackAddress.parse({ ...workspaceOf(body), user, channel, isDirect, thread: user, response });
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
export function readPersonMessage(body: Delivery, ourselves: string | undefined): PersonMessage | undefined {
  const parsed = messageEvent.safeParse(body.event);
  const [own] = body.authorizations ?? [];
  const botUser = (own?.is_bot === true ? own.user_id : undefined) ?? ourselves;
  if (!parsed.success) return undefined;
  const { type, user, channel, ts, thread_ts: threadTs = ts, text, files, channel_type: channelType } = parsed.data;
  if (user === 'USLACK' || user === ourselves || (type === 'message' && user === botUser)) return undefined;
  const mentionsUs = type === 'app_mention' || (botUser !== undefined && text.includes(`<@${botUser}`));
  return {
    ...workspaceOf(body),
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

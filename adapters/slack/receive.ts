import { createHash } from 'node:crypto';
import { z } from 'zod';
import { encodeConversationId } from '../../src/message.ts';
import type { Identity, Written } from '../stage.ts';
import { fieldAt, listAt, textAt } from '../wire.ts';

/** Who spoke, where, and how the answer goes back; the adapter's `Address`. */
export const slackAddress = z.object({
  team: z.string().nullable(),
  enterprise: z.string().nullable(),
  orgWide: z.boolean(),
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
export type Workspace = Pick<SlackAddress, 'team' | 'enterprise' | 'orgWide'>;

/** As others name it. */
type Ids = { readonly [Key in keyof Workspace]: Workspace[Key] | undefined };

/** Key of everything that belongs to one installation. */
export const tenantOf = ({ team, enterprise, orgWide }: Ids): string =>
  (orgWide ? enterprise : null) ?? team ?? enterprise ?? 'unknown';

/** Direct messages are one conversation, however they were reached: typed, by a form or from the home tab. */
export function identityOf(address: SlackAddress): Identity {
  const tenant = tenantOf(address);
  const channel = address.isDirect ? 'im' : address.channel;
  return {
    user: address.user,
    isDirect: address.isDirect,
    tenant: `slack:${tenant}`,
    conversationId: encodeConversationId({ adapter: 'slack', tenant, channel, thread: address.thread }),
    userId: `slack:${tenant}:${address.user}`,
    channelKey: `${tenant}/${address.channel}`,
  };
}

/**
 * What decides who takes care of a delivery: `message`, `command`, `shortcut gpu_size_open`.
 * https://docs.slack.dev/apis/events-api/#event-type-structure and
 * https://docs.slack.dev/interactivity/handling-user-interaction
 */
export function kindOf(body: unknown): string {
  const type = textAt(body, 'type');
  if (fieldAt(body, 'event')) return textAt(body, 'event.type') ?? 'event';
  if (textAt(body, 'command') !== undefined) return 'command';
  const name = textAt(body, 'callback_id', ...(type === 'view_submission' ? ['view.callback_id'] : []));
  return name ? `${type} ${name}` : `${type}`;
}

/** The same for the same request only: a replay is recognised by it. */
export const keyOf = (body: unknown): string =>
  createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 32);

const teamPaths = ['authorizations.0.team_id', 'view.app_installed_team_id', 'team.id', 'team_id', 'user.team_id'];
const enterprisePaths = ['enterprise.id', 'team.enterprise_id', 'enterprise_id'];

/** The installation that it was sent to; in shared channels the sender's team is another one. */
export function workspaceOf(body: unknown): Workspace {
  const [own] = listAt(body, 'authorizations');
  // Commands are forms, where everything is text.
  const orgWide = String(fieldAt(own ?? body, 'is_enterprise_install')) === 'true';
  const enterprise = own === undefined ? textAt(body, ...enterprisePaths) : textAt(own, 'enterprise_id');
  return { team: textAt(body, ...teamPaths) ?? null, enterprise: enterprise ?? null, orgWide };
}

/** Where it was pressed, typed or opened; without a channel (global shortcut) the person's direct messages. */
export function placeOf(body: unknown, seal: (secret: string) => string): SlackAddress {
  const user = textAt(body, 'user.id', 'user_id', 'event.user') ?? 'unknown';
  const channel = textAt(body, 'channel.id', 'container.channel_id', 'channel_id', 'event.channel') ?? user;
  const url = textAt(body, 'response_url');
  const isDirect = channel === user || channel.startsWith('D');
  const response = url ? seal(url) : null;
  return slackAddress.parse({ ...workspaceOf(body), user, channel, isDirect, thread: user, response });
}

/** Subtypes in which a person says something; the others are edits, deletions, joins and system messages. */
const spoken: readonly unknown[] = [undefined, 'file_share', 'thread_broadcast'];

/** What a person wrote; undefined for what nobody said, and for bots, ourselves included. */
export function readPersonMessage(body: unknown, ourselves: string | undefined): Written<SlackAddress> | undefined {
  const event = fieldAt(body, 'event');
  const [user, channel, ts] = ['user', 'channel', 'ts'].map((name) => textAt(event, name));
  if (user === undefined || channel === undefined || ts === undefined) return undefined;
  if (!spoken.includes(fieldAt(event, 'subtype')) || fieldAt(event, 'bot_id') || fieldAt(event, 'hidden'))
    return undefined;
  const isBot = fieldAt(body, 'authorizations.0.is_bot') === true;
  const botUser = (isBot ? textAt(body, 'authorizations.0.user_id') : undefined) ?? ourselves;
  const isMention = textAt(event, 'type') === 'app_mention';
  if (user === 'USLACK' || user === ourselves || (!isMention && user === botUser)) return undefined;
  const [text = '', threadTs = ts] = [textAt(event, 'text'), textAt(event, 'thread_ts')];
  const mentionsUs = isMention || (botUser !== undefined && text.includes(`<@${botUser}`));
  const isDirect = textAt(event, 'channel_type') === 'im' || channel.startsWith('D');
  return {
    place: slackAddress.parse({ ...workspaceOf(body), user, channel, isDirect, thread: user }),
    key: `${channel}:${ts}`,
    ts,
    threadTs: threadTs === ts ? null : threadTs,
    text: plainText(text, botUser),
    hasFiles: listAt(event, 'files').length > 0,
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

import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Seal } from '../seal.ts';
import { type SlackAddress, slackAddress, type Workspace } from './receive.ts';
import { decodeControlId } from './render.ts';

const id = z.string().nullish();
const flag = z.union([z.boolean(), z.literal('true'), z.literal('false')]).nullish();
const action = z.looseObject({
  action_id: z.string(),
  block_id: z.string().default(''),
  value: id,
  selected_option: z.looseObject({ value: z.string() }).nullish(),
});

/** What commands, presses, shortcuts and forms have in common: https://docs.slack.dev/interactivity/handling-user-interaction */
const interaction = z.looseObject({
  team_id: id,
  enterprise_id: id,
  team: z.looseObject({ id: z.string(), enterprise_id: id }).nullish(),
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
  view: z.looseObject({ app_installed_team_id: id }).nullish(),
});
type Body = z.infer<typeof interaction>;

/** One press, command, shortcut or form. */
export interface Interaction {
  readonly body: Body;
  /** Where it was pressed or typed; without a channel (home tab, global shortcut) the person's direct messages. */
  readonly place: SlackAddress;
  /** The same for the same request only: a replay is recognised by it. */
  readonly key: string;
  readonly trigger: string;
}

function workspaceOf(body: Body): Workspace {
  const { view, team, team_id, user, enterprise, enterprise_id, is_enterprise_install: org } = body;
  return {
    team: view?.app_installed_team_id ?? team?.id ?? team_id ?? user?.team_id ?? null,
    enterprise: enterprise?.id ?? team?.enterprise_id ?? enterprise_id ?? null,
    orgWide: org === true || org === 'true',
  };
}

export function readInteraction(raw: unknown, seal: Seal): Interaction {
  const body = interaction.parse(raw);
  const user = body.user?.id ?? body.user_id ?? 'unknown';
  const channel = body.channel?.id ?? body.container?.channel_id ?? body.channel_id ?? user;
  const response = body.response_url ? seal.close(body.response_url) : null;
  const isDirect = channel === user || channel.startsWith('D');
  const place = slackAddress.parse({ ...workspaceOf(body), user, channel, isDirect, thread: user, response });
  const key = createHash('sha256').update(JSON.stringify(raw)).digest('base64url').slice(0, 32);
  return { body, place, key, trigger: body.trigger_id };
}

/** A pressed control of one of our messages. */
export interface Press {
  readonly action: string;
  readonly value: string;
  /** The message it stands in, and the conversation that the message belongs to. */
  readonly address: SlackAddress;
  readonly estimateCode: string | undefined;
}

export function readPress({ body, place }: Interaction): Press | undefined {
  const [first] = body.actions;
  if (first === undefined) return undefined;
  const control = decodeControlId(first.block_id);
  const { container, message } = body;
  const address: SlackAddress = {
    ...place,
    thread: control?.thread ?? place.user,
    threadTs: container?.thread_ts ?? message?.thread_ts ?? null,
    updateTs: container?.message_ts ?? message?.ts ?? null,
    ephemeral: container?.is_ephemeral === true,
  };
  const value = first.selected_option?.value ?? first.value ?? '';
  return { action: first.action_id, value, address, estimateCode: control?.code || undefined };
}

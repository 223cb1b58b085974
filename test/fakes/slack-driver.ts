import { createHmac } from 'node:crypto';
import { request } from 'undici';
import type { SlackServer } from './slack-server.ts';

/** What Slack got back for one delivery. */
export interface Outcome {
  /** Whether Slack counts it as received. */
  readonly acked: boolean;
  /** HTTP only. */
  readonly status?: number;
  readonly response: unknown;
  readonly ms: number;
}

export interface SendOptions {
  readonly retry?: number;
  readonly waitMs?: number;
  /** HTTP only: headers that replace the right ones. */
  readonly headers?: Readonly<Record<string, string>>;
}

/** One transport from Slack to the bot: the same payloads over both. */
export interface SlackTransport {
  readonly name: 'socket' | 'http';
  event(body: object, options?: SendOptions): Promise<Outcome>;
  command(fields: Readonly<Record<string, string>>, options?: SendOptions): Promise<Outcome>;
  interaction(payload: object, options?: SendOptions): Promise<Outcome>;
}

export function socketTransport(server: SlackServer): SlackTransport {
  const send =
    (type: string) =>
    async (payload: object, options: SendOptions = {}): Promise<Outcome> => {
      const ack = await server.send(type, payload, options);
      const response = ack !== undefined && JSON.stringify(ack.payload) !== '{}' ? ack.payload : undefined;
      return { acked: ack !== undefined, response, ms: ack?.ms ?? Number.POSITIVE_INFINITY };
    };
  return {
    name: 'socket',
    event: send('events_api'),
    command: send('slash_commands'),
    interaction: send('interactive'),
  };
}

export const signatureOf = (secret: string, timestamp: string, body: string): string =>
  `v0=${createHmac('sha256', secret).update(`v0:${timestamp}:${body}`).digest('hex')}`;

export function httpTransport(url: () => string, secret: string): SlackTransport {
  const send =
    (type: string, encode: (payload: object) => string) =>
    async (payload: object, options: SendOptions = {}): Promise<Outcome> => {
      const body = encode(payload);
      const timestamp = String(Math.floor(Date.now() / 1000));
      const retry =
        options.retry === undefined
          ? {}
          : { 'x-slack-retry-num': String(options.retry), 'x-slack-retry-reason': 'http_timeout' };
      const headers = {
        'content-type': type,
        'user-agent': 'Slackbot 1.0 (+https://api.slack.com/robots)',
        'x-slack-request-timestamp': timestamp,
        'x-slack-signature': signatureOf(secret, timestamp, body),
        ...retry,
        ...options.headers,
      };
      const started = performance.now();
      // `fetch` takes several times the processor time, and so would be what a bench measures.
      const answer = await request(url(), { method: 'POST', headers, body }).catch(() => undefined);
      const text = (await answer?.body.text()) ?? '';
      const ms = performance.now() - started;
      const response: unknown = text.startsWith('{') ? JSON.parse(text) : text || undefined;
      const status = answer?.statusCode ?? 0;
      return { acked: status === 200, status, response, ms };
    };
  const form = 'application/x-www-form-urlencoded';
  const json = send('application/json', (payload) => JSON.stringify(payload));
  const fields = send(form, (payload) => new URLSearchParams(Object.entries(payload)).toString());
  const payload = send(form, (body) => new URLSearchParams({ payload: JSON.stringify(body) }).toString());
  return { name: 'http', event: json, command: fields, interaction: payload };
}

interface Speaker {
  readonly user?: string;
  readonly team?: string;
  readonly enterprise?: string | null;
  readonly orgWide?: boolean;
  readonly channel?: string;
  readonly botUser?: string;
}

let events = 0;
const defaults = { user: 'U00FAKEUSER1', team: 'T00FAKE00AA', channel: 'C00FAKECHAN1', botUser: 'U00FAKEBOT01' };

/** Events and interactions as Slack writes them, for one fake Slack. */
export function payloads(server: SlackServer) {
  const { store } = server;
  const envelope = (event: object, speaker: Speaker = {}) => {
    const { team, botUser } = { ...defaults, ...speaker };
    events += 1;
    const granted = {
      enterprise_id: speaker.enterprise ?? null,
      team_id: speaker.orgWide === true ? null : team,
      user_id: botUser,
      is_bot: true,
      is_enterprise_install: speaker.orgWide === true,
    };
    return {
      token: 'verification-secret',
      team_id: team,
      enterprise_id: speaker.enterprise ?? undefined,
      api_app_id: 'A00FAKEAPP01',
      event,
      type: 'event_callback',
      event_id: `Ev${events}${Date.now()}`,
      event_time: Math.floor(Date.now() / 1000),
      authorizations: [granted],
    };
  };
  const message = (
    text: string,
    options: Speaker & { thread?: string; ts?: string; type?: string; extra?: object } = {},
  ) => {
    const { user, team, channel } = { ...defaults, ...options };
    const ts = options.ts ?? store.nextTs();
    const type = options.type ?? 'message';
    const kind = channel.startsWith('D') ? { channel_type: 'im' } : { channel_type: 'channel' };
    const thread = options.thread === undefined ? {} : { thread_ts: options.thread, parent_user_id: user };
    return envelope(
      {
        type,
        user,
        ts,
        text,
        team,
        channel,
        event_ts: ts,
        ...(type === 'message' ? kind : {}),
        ...thread,
        ...options.extra,
      },
      options,
    );
  };
  const mention = (text: string, options: Parameters<typeof message>[1] = {}) =>
    message(`<@${options.botUser ?? defaults.botUser}> ${text}`, { type: 'app_mention', ...options });
  const where = (speaker: Speaker) => ({ ...defaults, ...speaker });
  const responseUrl = (speaker: Speaker, messageTs?: string, threadTs?: string) => {
    const { team, channel, user } = where(speaker);
    return server.responseUrl(store.issueResponse({ team, channel, user, messageTs, threadTs }));
  };
  const base = (speaker: Speaker) => {
    const { team, user } = where(speaker);
    const enterprise = speaker.enterprise == null ? null : { id: speaker.enterprise, name: 'Org' };
    return {
      token: 'verification-secret',
      team: { id: team, domain: 'fake' },
      user: { id: user, username: 'someone', team_id: team },
      api_app_id: 'A00FAKEAPP01',
      enterprise,
      is_enterprise_install: speaker.orgWide === true,
      trigger_id: store.issueTrigger(),
    };
  };
  return {
    envelope,
    message,
    mention,
    command(text: string, speaker: Speaker & { command?: string } = {}): Record<string, string> {
      const { team, channel, user } = where(speaker);
      const org: Record<string, string> =
        speaker.enterprise == null ? {} : { enterprise_id: speaker.enterprise, enterprise_name: 'Org' };
      return {
        token: 'verification-secret',
        team_id: team,
        team_domain: 'fake',
        channel_id: channel,
        channel_name: 'general',
        user_id: user,
        user_name: 'someone',
        command: speaker.command ?? '/gpu-size',
        text,
        api_app_id: 'A00FAKEAPP01',
        is_enterprise_install: String(speaker.orgWide === true),
        response_url: responseUrl(speaker),
        trigger_id: store.issueTrigger(),
        ...org,
      };
    },
    press(
      target: { ts: string; channel: string; threadTs?: string | undefined; onlyFor?: string | undefined },
      action: object,
      speaker: Speaker & { withoutResponse?: boolean } = {},
    ) {
      const place = { ...speaker, channel: target.channel };
      const ephemeral = target.onlyFor !== undefined;
      const thread = target.threadTs === undefined ? {} : { thread_ts: target.threadTs };
      const container = {
        type: 'message',
        message_ts: target.ts,
        channel_id: target.channel,
        is_ephemeral: ephemeral,
        ...thread,
      };
      const url =
        speaker.withoutResponse === true ? {} : { response_url: responseUrl(place, target.ts, target.threadTs) };
      const message = ephemeral
        ? {}
        : { message: { type: 'message', user: where(speaker).botUser, ts: target.ts, ...thread } };
      return {
        type: 'block_actions',
        ...base(speaker),
        container,
        channel: { id: target.channel, name: 'general' },
        ...message,
        ...url,
        actions: [{ block_id: 'b', action_ts: store.nextTs(), ...action }],
      };
    },
    homePress: (action: object, speaker: Speaker = {}) => ({
      type: 'block_actions',
      ...base(speaker),
      container: { type: 'view', view_id: 'V1' },
      view: { id: 'V1', type: 'home', callback_id: '' },
      actions: [{ block_id: 'b', action_ts: store.nextTs(), ...action }],
    }),
    shortcut: (callbackId: string, speaker: Speaker = {}) => ({
      type: 'shortcut',
      ...base(speaker),
      action_ts: store.nextTs(),
      callback_id: callbackId,
    }),
    messageShortcut(callbackId: string, target: { ts: string; text: string; thread?: string }, speaker: Speaker = {}) {
      const { channel, user } = where(speaker);
      const thread = target.thread === undefined ? {} : { thread_ts: target.thread };
      return {
        type: 'message_action',
        ...base(speaker),
        action_ts: store.nextTs(),
        callback_id: callbackId,
        channel: { id: channel, name: 'general' },
        message_ts: target.ts,
        message: { type: 'message', user, ts: target.ts, text: target.text, ...thread },
        response_url: responseUrl(speaker),
      };
    },
    submit(
      view: Readonly<Record<string, unknown>>,
      values: Readonly<Record<string, string | null>>,
      speaker: Speaker = {},
    ) {
      const { team } = where(speaker);
      const state = Object.fromEntries(
        Object.entries(values).map(([block, value]) => [block, { value: { type: 'plain_text_input', value } }]),
      );
      return {
        type: 'view_submission',
        ...base(speaker),
        view: {
          id: 'V1',
          team_id: team,
          ...view,
          state: { values: state },
          hash: '1.a',
          app_installed_team_id: team,
          bot_id: 'B1',
        },
        response_urls: [],
      };
    },
    homeOpened: (tab: 'home' | 'messages', speaker: Speaker = {}) =>
      envelope(
        {
          type: 'app_home_opened',
          user: where(speaker).user,
          channel: `D${where(speaker).user.slice(1)}`,
          tab,
          event_ts: store.nextTs(),
        },
        speaker,
      ),
    uninstalled: (speaker: Speaker = {}) => ({
      ...envelope({ type: 'app_uninstalled' }, speaker),
      authorizations: undefined,
    }),
    revoked: (speaker: Speaker = {}) => ({
      ...envelope({ type: 'tokens_revoked', tokens: { oauth: ['U1'], bot: ['U00FAKEBOT01'] } }, speaker),
      authorizations: undefined,
    }),
  };
}

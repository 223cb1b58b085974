import { messageProblems, viewProblems } from './block-kit.ts';
import type { FakeWorkspace, SlackStore } from './slack-workspace.ts';

export type Params = Readonly<Record<string, unknown>>;
export type Answer = Readonly<Record<string, unknown>>;

export interface ApiRequest {
  readonly store: SlackStore;
  readonly workspace: FakeWorkspace;
  readonly params: Params;
}

const ok = (fields: Answer = {}): Answer => ({ ok: true, ...fields });
const refuse = (error: string, fields: Answer = {}): Answer => ({ ok: false, error, ...fields });
const text = (value: unknown): string => (typeof value === 'string' ? value : '');
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);
const record = (value: unknown): Record<string, unknown> =>
  typeof value === 'object' && value !== null ? Object.fromEntries(Object.entries(value)) : {};

/** Refusal in Slack's shape, with what is wrong. */
const invalid = (error: string, problems: readonly string[]): Answer =>
  refuse(error, {
    response_metadata: { messages: problems.map((problem) => `[ERROR] ${problem} [json-pointer:/blocks]`) },
  });

/** The channel to write into: a person's id opens their direct messages. */
function resolveChannel({ store, workspace, params }: ApiRequest): { channel: string } | Answer {
  const channel = text(params['channel']);
  if (/^[UW]/u.test(channel)) return { channel: store.directChannel(channel) };
  if (channel.startsWith('D')) return { channel };
  const member = workspace.channels.get(channel);
  if (member === undefined) return refuse('channel_not_found');
  return member ? { channel } : refuse('not_in_channel');
}

function checked(request: ApiRequest, scope: string): Answer | undefined {
  const { workspace, params } = request;
  if (!workspace.scopes.includes(scope)) {
    return refuse('missing_scope', { needed: scope, provided: workspace.scopes.join(',') });
  }
  if (params['blocks'] === undefined && text(params['text']) === '') return refuse('no_text');
  const problems = request.store.lenient ? [] : messageProblems({ text: params['text'], blocks: params['blocks'] });
  return problems.length === 0 ? undefined : invalid('invalid_blocks', problems);
}

function write(request: ApiRequest, onlyFor: string | undefined): Answer {
  const { store, workspace, params } = request;
  const refusal = checked(request, 'chat:write');
  if (refusal !== undefined) return refusal;
  const place = resolveChannel(request);
  if (!('channel' in place)) return place;
  const threadTs = params['thread_ts'] === undefined ? undefined : text(params['thread_ts']);
  const message = store.add({
    channel: text(place.channel),
    threadTs,
    user: workspace.botUser,
    team: workspace.team,
    text: text(params['text']),
    blocks: list(params['blocks']),
    metadata: params['metadata'],
    onlyFor,
  });
  return onlyFor === undefined ? ok({ channel: message.channel, ts: message.ts }) : ok({ message_ts: message.ts });
}

function update(request: ApiRequest): Answer {
  const { store, workspace, params } = request;
  const refusal = checked(request, 'chat:write');
  if (refusal !== undefined) return refusal;
  const place = resolveChannel(request);
  if (!('channel' in place)) return place;
  const message = store.find(text(place.channel), text(params['ts']));
  if (message === undefined || message.onlyFor !== undefined) return refuse('message_not_found');
  if (message.user !== workspace.botUser) return refuse('cant_update_message');
  if (Buffer.byteLength(text(params['text'])) > 4_000) return refuse('msg_too_long');
  Object.assign(message, { text: text(params['text']), blocks: list(params['blocks']), edits: message.edits + 1 });
  return ok({ channel: message.channel, ts: message.ts });
}

function openView({ store, workspace, params }: ApiRequest, kind: 'modal' | 'home'): Answer {
  const view = record(params['view']);
  if (view['type'] !== kind) return refuse('invalid_arguments');
  const problems = viewProblems(view);
  if (problems.length > 0) return invalid('invalid_arguments', problems);
  if (kind === 'modal' && !store.takeTrigger(text(params['trigger_id']))) return refuse('expired_trigger_id');
  store.views.push({ user: text(params['user_id']), team: workspace.team, view, kind });
  return ok({ view: { ...view, id: `V${store.views.length}` } });
}

function userInfo({ workspace, params }: ApiRequest): Answer {
  if (!workspace.scopes.includes('users:read')) return refuse('missing_scope', { needed: 'users:read' });
  const locale = workspace.users.get(text(params['user']));
  if (locale === undefined) return refuse('user_not_found');
  const withLocale = String(params['include_locale']) === 'true' ? { locale } : {};
  return ok({ user: { id: text(params['user']), team_id: workspace.team, ...withLocale } });
}

function prompts({ store, workspace, params }: ApiRequest): Answer {
  if (!workspace.scopes.includes('assistant:write')) return refuse('missing_scope', { needed: 'assistant:write' });
  const given = list(params['prompts']);
  if (given.length === 0 || given.length > 4) return refuse('invalid_arguments');
  store.prompts.push({ channel: text(params['channel_id']), prompts: given });
  return ok();
}

function replies({ store, params }: ApiRequest): Answer {
  const [channel, root] = [text(params['channel']), text(params['ts'])];
  const found = store.messages.filter(
    (message) =>
      message.channel === channel &&
      (message.ts === root || message.threadTs === root) &&
      message.onlyFor === undefined,
  );
  return ok({ messages: found.map(({ ts, text: words, user, metadata }) => ({ ts, text: words, user, metadata })) });
}

const identity = ({ workspace }: ApiRequest): Answer =>
  ok({
    url: 'https://example.slack.com/',
    team: 'fake',
    user: 'gpu-sizer',
    team_id: workspace.team,
    user_id: workspace.botUser,
    bot_id: workspace.botId,
    is_enterprise_install: workspace.orgWide === true,
  });

/** The methods that the product may call; any other one is a failure of the test. */
export const methods: Readonly<Record<string, (request: ApiRequest) => Answer>> = {
  'auth.test': identity,
  'chat.postMessage': (request) => write(request, undefined),
  'chat.postEphemeral': (request) => write(request, text(request.params['user'])),
  'chat.update': update,
  'views.open': (request) => openView(request, 'modal'),
  'views.publish': (request) => openView(request, 'home'),
  'users.info': userInfo,
  'conversations.replies': replies,
  'assistant.threads.setSuggestedPrompts': prompts,
};

/** What a response URL does with a body; undefined when it is used up. */
export function useResponse(store: SlackStore, id: string, body: Params): { status: number; answer: Answer } {
  const place = store.takeResponse(id);
  if (place === undefined) return { status: 404, answer: refuse('expired_url') };
  if (body['delete_original'] === true) return { status: 200, answer: ok() };
  const problems = store.lenient ? [] : messageProblems({ text: body['text'], blocks: body['blocks'] });
  if (problems.length > 0) return { status: 400, answer: invalid('invalid_blocks', problems) };
  const content = { text: text(body['text']), blocks: list(body['blocks']) };
  const original = place.messageTs === undefined ? undefined : store.find(place.channel, place.messageTs);
  if (body['replace_original'] === true && original !== undefined) {
    Object.assign(original, content, { edits: original.edits + 1 });
    return { status: 200, answer: ok() };
  }
  const workspace = store.workspaces.find(({ team }) => team === place.team);
  const onlyFor = body['response_type'] === 'in_channel' ? undefined : place.user;
  const { channel, threadTs, team } = place;
  store.add({ channel, threadTs, team, user: workspace?.botUser ?? 'B', metadata: undefined, onlyFor, ...content });
  return { status: 200, answer: ok() };
}

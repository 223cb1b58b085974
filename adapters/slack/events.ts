import type { App, webApi } from '@slack/bolt';
import type { SurfaceTexts } from '../adapter.ts';
import { escapeText, slackLimits } from './limits.ts';
import {
  eventEnvelope,
  type PersonMessage,
  readPersonMessage,
  type Said,
  type SlackAddress,
  slackAddress,
  userIdOf,
  type Workspace,
  workspaceOfEvent,
} from './receive.ts';
import type { SurfaceOptions } from './surfaces.ts';
import type { ResolveThread } from './threads.ts';
import { homeView } from './views.ts';

export interface EventOptions extends SurfaceOptions {
  readonly resolveThread: ResolveThread;
  /** Our bot user where one token serves one workspace; else the event names it. */
  readonly botUser: () => string | undefined;
  readonly uninstalled: (workspace: Workspace, event: string) => Promise<void>;
}

/** Messages of one channel one after the other, so that they reach the inbox in the order in which they came. */
function inOrder(): (key: string, work: () => Promise<void>) => Promise<void> {
  const tails = new Map<string, Promise<void>>();
  return (key, work) => {
    const next = (tails.get(key) ?? Promise.resolve()).catch(() => undefined).then(work);
    const tail = next.finally(() => tails.get(key) === tail && tails.delete(key));
    tails.set(key, tail);
    return tail;
  };
}

const addressOf = (message: PersonMessage, thread: string): SlackAddress =>
  slackAddress.parse({ ...message, thread, threadTs: message.threadTs ?? message.ts });

/** Events API: messages and mentions, home and messages tab, removal of the app. */
export function registerEvents(app: App, options: EventOptions): void {
  const { context, hand, textsFor, resolveThread } = options;
  const ordered = inOrder();
  /** Best effort: a courtesy that fails is no reason for a redelivery. */
  const courtesy = async (what: string, work: () => Promise<unknown>): Promise<void> => {
    await work().catch((error: unknown) => context.logger.info({ error, what }, 'courtesy failed'));
  };

  const decline = (client: webApi.WebClient, said: Said, pick: (texts: SurfaceTexts) => string) =>
    courtesy('decline', async () => {
      const { channel, user, threadTs } = said.address;
      const text = escapeText(pick(await textsFor(said.address)));
      await client.chat.postEphemeral({ channel, user, text, ...(threadTs === null ? {} : { thread_ts: threadTs }) });
    });

  const receive = async (body: unknown, client: webApi.WebClient): Promise<void> => {
    const message = readPersonMessage(eventEnvelope.parse(body), options.botUser());
    if (message === undefined) return;
    await ordered(`${message.team}/${message.channel}`, async () => {
      const thread = await resolveThread(message);
      if (thread === undefined) return;
      const said = { address: addressOf(message, thread), text: message.text, key: `${message.channel}:${message.ts}` };
      if (message.text === '' && message.hasFiles) void decline(client, said, ({ textOnly }) => textOnly);
      else if ((await hand(said)) === 'overloaded') void decline(client, said, ({ overloaded }) => overloaded);
    });
  };
  app.event('message', ({ body, client }) => receive(body, client));
  app.event('app_mention', ({ body, client }) => receive(body, client));

  app.event('app_home_opened', async ({ body, event, client }) => {
    const { user, channel, tab } = event;
    const workspace = workspaceOfEvent(eventEnvelope.parse(body));
    const address = slackAddress.parse({ ...workspace, user, channel, isDirect: true, thread: user });
    const texts = await textsFor(address);
    if (tab === 'home') {
      const recent = await context.recentEstimates(userIdOf(address), 10);
      await courtesy('home', () => client.views.publish({ user_id: user, view: homeView(texts, recent) }));
    } else {
      const prompts = texts.suggestedPrompts.slice(0, slackLimits.suggestedPrompts).map((prompt) => ({ ...prompt }));
      await courtesy('prompts', () => client.assistant.threads.setSuggestedPrompts({ channel_id: channel, prompts }));
    }
  });

  for (const name of ['app_uninstalled', 'tokens_revoked'] as const) {
    app.event(name, async ({ body, event }) => {
      if ('tokens' in event && (event.tokens.bot ?? []).length === 0) return;
      await options.uninstalled(workspaceOfEvent(eventEnvelope.parse(body)), name);
    });
  }
}

import type { App, webApi } from '@slack/bolt';
import { createOrder } from '../in-order.ts';
import type { Desk } from './desk.ts';
import { slackLimits } from './limits.ts';
import {
  eventEnvelope,
  readPersonMessage,
  slackAddress,
  userIdOf,
  type Workspace,
  workspaceOfEvent,
} from './receive.ts';
import { homeView } from './views.ts';

type Client = webApi.WebClient;
type Uninstalled = (workspace: Workspace, event: string) => Promise<void>;

/** Events API: messages and mentions, home and messages tab, removal of the app. */
export function registerEvents(app: App, desk: Desk, uninstalled: Uninstalled): void {
  const inOrder = createOrder();
  const receive = async (body: unknown, client: Client): Promise<void> => {
    const message = readPersonMessage(eventEnvelope.parse(body), desk.botUser());
    if (message === undefined) return;
    const { team, channel, ts, text, hasFiles } = message;
    const place = message.isDirect ? channel : `${channel}/${message.threadTs ?? ts}`;
    // Threads do not wait for each other.
    await inOrder(`${team}/${place}`, async () => {
      const thread = await desk.resolveThread(message);
      if (thread === undefined) return;
      const address = slackAddress.parse({ ...message, thread, threadTs: message.threadTs ?? ts });
      if (text === '' && hasFiles) void desk.tell(client, address, ({ textOnly }) => textOnly);
      else await desk.say(client, { address, text, key: `${channel}:${ts}` });
    });
  };
  app.event('message', ({ body, client }) => receive(body, client));
  app.event('app_mention', ({ body, client }) => receive(body, client));

  app.event('app_home_opened', async ({ body, event: { user, channel, tab }, client }) => {
    const workspace = workspaceOfEvent(eventEnvelope.parse(body));
    const address = slackAddress.parse({ ...workspace, user, channel, isDirect: true, thread: user });
    const texts = await desk.textsFor(address);
    if (tab === 'home') {
      const recent = await desk.context.recentEstimates(userIdOf(address), 10);
      await desk.courtesy('home', () => client.views.publish({ user_id: user, view: homeView(texts, recent) }));
    } else {
      const prompts = texts.suggestedPrompts.slice(0, slackLimits.suggestedPrompts).map((prompt) => ({ ...prompt }));
      await desk.courtesy('prompts', () =>
        client.assistant.threads.setSuggestedPrompts({ channel_id: channel, prompts }),
      );
    }
  });

  for (const name of ['app_uninstalled', 'tokens_revoked'] as const) {
    app.event(name, async ({ body, event }) => {
      if ('tokens' in event && (event.tokens.bot ?? []).length === 0) return;
      await uninstalled(workspaceOfEvent(eventEnvelope.parse(body)), name);
    });
  }
}

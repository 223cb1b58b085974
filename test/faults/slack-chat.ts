import { z } from 'zod';
import { deliveryKey } from '../../src/inbox/payload.ts';
import { httpTransport, payloads, socketTransport } from '../fakes/slack-driver.ts';
import { SlackServer } from '../fakes/slack-server.ts';
import type { Answer, Chat } from './chat.ts';

const signingSecret = 'signing-secret-of-the-campaign';
const channel = 'C00FAKECHAN1';
const Metadata = z.object({ event_payload: z.object({ key: z.string() }) });
const Posted = z.union([Metadata, z.string().transform((text) => Metadata.parse(JSON.parse(text)))]);

/** A fake Slack; over HTTP an event goes to one of `replicas`, by Socket Mode when there are none to choose from. */
export async function slackChat(replicas?: () => readonly { readonly base: string }[]): Promise<Chat> {
  const server = await SlackServer.start();
  const make = payloads(server);
  const socket = socketTransport(server);
  const transport = () => {
    if (replicas === undefined) return socket;
    const alive = replicas();
    const replica = alive[Math.floor(Math.random() * alive.length)];
    return replica && httpTransport(() => `${replica.base}/slack/events`, signingSecret);
  };
  return {
    env: {
      SLACK_API_URL: server.apiUrl,
      SLACK_BOT_TOKEN: 'xoxb-fake-one-secret',
      ...(replicas === undefined ? { SLACK_APP_TOKEN: server.appToken } : { SLACK_SIGNING_SECRET: signingSecret }),
    },
    open() {
      let thread: string | undefined;
      return {
        say(text) {
          const ts = server.store.nextTs();
          const event = make.mention(text, { ts, channel, ...(thread === undefined ? {} : { thread }) });
          thread ??= ts;
          return {
            id: deliveryKey(`slack:T00FAKE00AA:${channel}:${ts}`),
            async deliver(retry) {
              const outcome = await transport()
                ?.event(event, retry === 0 ? {} : { retry })
                .catch(() => undefined);
              return outcome?.acked === true;
            },
          };
        },
      };
    },
    answers: () =>
      server.store.messages
        .filter(({ threadTs }) => threadTs !== undefined)
        .map(({ metadata, text }): Answer => ({ id: Posted.parse(metadata).event_payload.key, text })),
    posted: () => server.store.messages.length,
    stop: () => server.stop(),
  };
}

import { DingtalkGateway } from '../fakes/dingtalk-gateway.ts';
import { robotMessages } from '../fakes/dingtalk-payloads.ts';
import type { Chat } from './chat.ts';

const ackWaitMs = 2_000;
let people = 0;

/** A fake DingTalk; each message has a webhook of its own, by which its answer is recognised. */
export async function dingtalkChat(): Promise<Chat & { readonly gateway: DingtalkGateway }> {
  const gateway = await DingtalkGateway.start();
  const make = robotMessages(gateway);
  return {
    gateway,
    env: {
      DINGTALK_CLIENT_ID: gateway.clientId,
      DINGTALK_CLIENT_SECRET: gateway.clientSecret,
      DINGTALK_OPENAPI_ENDPOINT: gateway.url,
      DINGTALK_LEGACY_ENDPOINT: gateway.url,
    },
    open() {
      people += 1;
      const user = `staff${people}`;
      return {
        say(text) {
          const webhook = gateway.webhook();
          const payload = make({ text, user, webhook });
          return {
            id: new URL(webhook).searchParams.get('session') ?? '',
            async deliver() {
              const { connections } = gateway;
              const over = connections[Math.floor(Math.random() * connections.length)];
              if (over === undefined) return false;
              return (await gateway.send(payload, { waitMs: ackWaitMs, over })) !== undefined;
            },
          };
        },
      };
    },
    answers() {
      // The documented effect of `msgUuid`: a second message with the same one is not shown.
      const shown = new Map(gateway.api.messages.map((message) => [message.body['msgUuid'] ?? message, message]));
      return [...shown.values()].map(({ to, title }) => ({ id: to, text: title }));
    },
    posted: () => gateway.api.messages.length,
    stop: () => gateway.stop(),
  };
}

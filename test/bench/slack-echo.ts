import { App, HTTPReceiver } from '@slack/bolt';

/** The yardstick: Bolt over HTTP that answers each mention in its thread with one line. Arguments: API base, secret. */
const [apiUrl = '', signingSecret = ''] = process.argv.slice(2);
const receiver = new HTTPReceiver({ signingSecret });
const app = new App({
  receiver,
  token: 'xoxb-fake-one-secret',
  clientOptions: { slackApiUrl: apiUrl },
  deferInitialization: true,
});
app.event('app_mention', async ({ event, say }) => {
  await say({ text: event.text, thread_ts: event.thread_ts ?? event.ts });
});
await app.init();
const server = await receiver.start(0);
const address = server.address();
process.stdout.write(
  `{"port":${typeof address === 'object' && address !== null ? address.port : 0},"event":"serving"}\n`,
);

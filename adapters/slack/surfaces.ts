import type { App, webApi } from '@slack/bolt';
import { z } from 'zod';
import { answerKey } from './deliver.ts';
import type { Desk } from './desk.ts';
import { type Interaction, type Press, readInteraction, readPress } from './interactions.ts';
import { escapeText } from './limits.ts';
import { plainText, slackAddress, userIdOf } from './receive.ts';
import { detailsView, readForm } from './views.ts';
import { call, postResponse } from './web.ts';

type Client = webApi.WebClient;
const isHelp = (text: string): boolean => /^(help|h|\?|？|帮助)$/iu.test(text);

/** What the buttons under an answer need; `shared` where only the asker sees it: see `deliverReply`. */
const kept = z.object({
  shared: z.object({ text: z.string(), blocks: z.array(z.unknown()) }).optional(),
  details: z.array(z.unknown()),
});

/** Commands, shortcuts, the form and presses. Whatever is none of ours is acknowledged by the gate. */
export function registerSurfaces(app: App, desk: Desk): void {
  const read = (body: unknown): Interaction => readInteraction(body, desk.seal);

  app.command(/.*/u, async ({ body, ack, client }) => {
    const { place, key, trigger } = read(body);
    const text = plainText(body.text ?? '');
    const address = { ...place, route: 'respond' as const, ephemeral: true };
    if (body.command !== '/gpu-size' || isHelp(text)) {
      const { help, helpInThreads } = await desk.textsFor(address);
      await ack({ response_type: 'ephemeral', text: escapeText(`${help}\n${helpInThreads}`) });
    } else if (text !== '') {
      await desk.say(client, { address, text, key });
    } else {
      await ack();
      await desk.openForm(client, trigger, address);
    }
  });

  app.shortcut('gpu_size_open', async ({ body, ack, client }) => {
    const { place, trigger } = read(body);
    await ack();
    await desk.openForm(client, trigger, place);
  });

  app.shortcut('gpu_size_from_message', ({ body, client }) => onMessageShortcut(desk, client, read(body)));

  app.view('gpu_size_form', async ({ body, view, ack, client }) => {
    const address = slackAddress.parse(JSON.parse(view.private_metadata));
    const form = readForm(view.state.values, await desk.textsFor(address));
    if ('errors' in form) await ack({ response_action: 'errors', errors: form.errors });
    else await desk.say(client, { address, text: form.text, key: read(body).key });
  });

  app.action({ type: 'block_actions' }, async ({ body, ack, client }) => {
    const interaction = read(body);
    const press = readPress(interaction);
    if (press === undefined) return;
    const { action, value, address, estimateCode } = press;
    const { place, key, trigger } = interaction;
    if (action.startsWith('choice')) {
      await desk.say(client, { address: { ...address, route: 'update' }, text: value, key, estimateCode });
    } else if (action === 'again') await desk.say(client, { address: place, text: value, key });
    else {
      await ack();
      if (action === 'open_form') await desk.openForm(client, trigger, place);
      else if (estimateCode !== undefined) await onAnswer(desk, client, { ...press, trigger, code: estimateCode });
    }
  });
}

/** Reads the message and answers in its thread, which from then on is open for the asker. */
async function onMessageShortcut(desk: Desk, client: Client, { body, place, key }: Interaction): Promise<void> {
  const ts = body.message?.ts ?? body.message_ts ?? '';
  const threadTs = body.message?.thread_ts ?? ts;
  const text = plainText(body.message?.text ?? '');
  const asked = { ...place, ts, threadTs, text, hasFiles: false, mentionsUs: true, addressesOther: false };
  const thread = (await desk.resolveThread(asked)) ?? threadTs;
  await desk.say(client, { address: { ...place, threadTs, thread }, text, key });
}

interface AnswerPress extends Press {
  readonly trigger: string;
  readonly code: string;
}

/** Details, sharing and feedback of one answer. */
async function onAnswer(desk: Desk, client: Client, press: AnswerPress): Promise<void> {
  const { context } = desk;
  const { action, address, code, value, trigger } = press;
  if (action === 'feedback') {
    await context.feedback(userIdOf(address), code, value === 'up');
    return desk.tell(client, address, ({ thanks }) => thanks);
  }
  const found = kept.safeParse((await context.store.get(answerKey(address, code)))?.value).data;
  const url = desk.responseUrl(address);
  const done = await desk.courtesy(action, async () => {
    if (action === 'share' && found?.shared !== undefined && url !== undefined) {
      return postResponse(url, { ...found.shared, response_type: 'in_channel', replace_original: false });
    }
    const view = detailsView(await desk.textsFor(address), found?.details ?? []);
    return call('views.open', client.apiCall('views.open', { trigger_id: trigger, view }));
  });
  if (!done) await desk.tell(client, address, ({ failed }) => failed);
}

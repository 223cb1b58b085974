import { createHash } from 'node:crypto';
import type { App, webApi } from '@slack/bolt';
import { z } from 'zod';
import type { AcceptOutcome, AdapterContext, SurfaceTexts } from '../adapter.ts';
import { answerKey } from './deliver.ts';
import type { Seal } from './installations.ts';
import { escapeText } from './limits.ts';
import {
  conversationOf,
  plainText,
  type Said,
  type SlackAddress,
  slackAddress,
  userIdOf,
  type Workspace,
} from './receive.ts';
import { decodeControlId } from './render.ts';
import { detailsView, formView, readForm } from './views.ts';
import { platformError, postResponse } from './web.ts';

const id = z.string().nullish();
/** What commands, presses, shortcuts and forms have in common: https://docs.slack.dev/interactivity/handling-user-interaction */
const interaction = z.looseObject({
  team_id: id,
  enterprise_id: id,
  team: z.looseObject({ id: z.string(), enterprise_id: id }).nullish(),
  enterprise: z.looseObject({ id: z.string() }).nullish(),
  is_enterprise_install: z.union([z.boolean(), z.literal('true'), z.literal('false')]).nullish(),
  user_id: id,
  user: z.looseObject({ id: z.string(), team_id: id }).nullish(),
  channel_id: id,
  channel: z.looseObject({ id: z.string() }).nullish(),
  response_url: id,
  trigger_id: z.string().default(''),
  container: z
    .looseObject({ channel_id: id, message_ts: id, thread_ts: id, is_ephemeral: z.boolean().nullish() })
    .nullish(),
  message: z.looseObject({ ts: id, thread_ts: id, text: z.string().nullish() }).nullish(),
  message_ts: id,
  view: z
    .looseObject({
      app_installed_team_id: id,
      private_metadata: id,
      state: z.looseObject({ values: z.unknown() }).nullish(),
    })
    .nullish(),
});
type Interaction = z.infer<typeof interaction>;
const pressed = z.looseObject({
  action_id: z.string(),
  block_id: z.string().default(''),
  value: id,
  selected_option: z.looseObject({ value: z.string() }).nullish(),
});

const kept = z.object({
  shared: z.object({ text: z.string(), blocks: z.array(z.unknown()) }),
  details: z.array(z.unknown()),
});

export interface SurfaceOptions {
  readonly context: AdapterContext;
  readonly seal: Seal;
  readonly hand: (said: Said) => Promise<AcceptOutcome>;
  readonly textsFor: (address: SlackAddress) => Promise<SurfaceTexts>;
}

function workspaceOf({
  view,
  team,
  team_id,
  user,
  enterprise,
  enterprise_id,
  is_enterprise_install: org,
}: Interaction): Workspace {
  return {
    team: view?.app_installed_team_id ?? team?.id ?? team_id ?? user?.team_id ?? null,
    enterprise: enterprise?.id ?? team?.enterprise_id ?? enterprise_id ?? null,
    orgWide: org === true || org === 'true',
  };
}

/** Where it was pressed or typed; without a channel (home tab, global shortcut) the person's direct messages. */
function addressOf(body: Interaction, seal: Seal): SlackAddress {
  const user = body.user?.id ?? body.user_id ?? 'unknown';
  const channel = body.channel?.id ?? body.container?.channel_id ?? body.channel_id ?? user;
  const response = body.response_url ? seal.close(body.response_url) : null;
  const isDirect = channel === user || channel.startsWith('D');
  return slackAddress.parse({ ...workspaceOf(body), user, channel, isDirect, thread: user, response });
}

const keyOf = (body: unknown): string =>
  createHash('sha256').update(JSON.stringify(body)).digest('base64url').slice(0, 32);
const isHelp = (text: string): boolean => /^(help|h|\?|？|帮助)$/iu.test(text);

/** Commands, presses, shortcuts and the form. Whatever is none of ours is acknowledged by the gate. */
export function registerSurfaces(app: App, options: SurfaceOptions): void {
  const { context, seal, hand, textsFor } = options;
  const read = (body: unknown) => {
    const parsed = interaction.parse(body);
    return { body: parsed, address: addressOf(parsed, seal), key: keyOf(body) };
  };
  const tell = async (client: webApi.WebClient, address: SlackAddress, words: string): Promise<void> => {
    const url = address.response === null ? undefined : seal.open(address.response);
    const { channel, user } = address;
    const text = escapeText(words);
    if (url !== undefined) await postResponse(url, { text, response_type: 'ephemeral', replace_original: false });
    else await client.chat.postEphemeral({ channel, user, text });
  };
  const say = async (client: webApi.WebClient, said: Said): Promise<void> => {
    if ((await hand(said)) !== 'overloaded') return;
    await tell(client, said.address, (await textsFor(said.address)).overloaded);
  };
  const openForm = async (client: webApi.WebClient, trigger_id: string, address: SlackAddress): Promise<void> => {
    const [texts, prefill] = await Promise.all([textsFor(address), context.prefill(conversationOf(address))]);
    await client.views.open({ trigger_id, view: formView(texts, prefill, address) }).catch(async (error: unknown) => {
      context.logger.warn({ error: platformError(error, 'views.open') }, 'form not opened');
      await tell(client, address, texts.failed);
    });
  };

  app.command(/.*/u, async ({ body, ack, client }) => {
    const { body: parsed, address: place, key } = read(body);
    const address: SlackAddress = { ...place, route: 'respond', ephemeral: true };
    const text = plainText(body.text ?? '');
    if (body.command !== '/gpu-size' || isHelp(text)) {
      await ack({ response_type: 'ephemeral', text: escapeText((await textsFor(address)).help) });
    } else if (text === '') {
      await ack();
      await openForm(client, parsed.trigger_id, address);
    } else {
      await say(client, { address, text, key });
    }
  });

  app.shortcut('gpu_size_open', async ({ body, ack, client }) => {
    const { body: parsed, address } = read(body);
    await ack();
    await openForm(client, parsed.trigger_id, address);
  });

  app.shortcut('gpu_size_from_message', async ({ body, client }) => {
    const { body: parsed, address: place, key } = read(body);
    const threadTs = parsed.message?.thread_ts ?? parsed.message?.ts ?? parsed.message_ts ?? null;
    const address = { ...place, threadTs, thread: threadTs ?? place.user };
    await say(client, { address, text: plainText(parsed.message?.text ?? ''), key });
  });

  app.view('gpu_size_form', async ({ body, view, ack, client }) => {
    const { key } = read(body);
    const address = slackAddress.parse(JSON.parse(view.private_metadata));
    const form = readForm(view.state.values, await textsFor(address));
    if ('errors' in form) await ack({ response_action: 'errors', errors: form.errors });
    else await say(client, { address, text: form.text, key });
  });

  app.action({ type: 'block_actions' }, async ({ body, action, ack, client }) => {
    const { body: parsed, address: place, key } = read(body);
    const { action_id, block_id, value, selected_option } = pressed.parse(action);
    const control = decodeControlId(block_id);
    const { container, message } = parsed;
    const address: SlackAddress = {
      ...place,
      thread: control?.thread ?? place.user,
      threadTs: container?.thread_ts ?? message?.thread_ts ?? null,
      updateTs: container?.message_ts ?? message?.ts ?? null,
      ephemeral: container?.is_ephemeral === true,
    };
    const text = selected_option?.value ?? value ?? '';
    const estimateCode = control?.code || undefined;
    if (action_id.startsWith('choice'))
      await say(client, { address: { ...address, route: 'update' }, text, key, estimateCode });
    else if (action_id === 'again') await say(client, { address: place, text, key });
    else if (action_id === 'open_form') await openForm(client, parsed.trigger_id, place);
    else if (estimateCode !== undefined) {
      await ack();
      await onAnswer({
        client,
        address,
        action: action_id,
        code: estimateCode,
        value: text,
        trigger: parsed.trigger_id,
      });
    }
  });

  const onAnswer = async (press: AnswerPress): Promise<void> => {
    const { client, address, action, code } = press;
    const texts = await textsFor(address);
    if (action === 'feedback') {
      await context.feedback(userIdOf(address), code, press.value === 'up');
      return tell(client, address, texts.thanks);
    }
    const found = kept.safeParse((await context.store.get(answerKey(address, code)))?.value).data;
    const url = address.response === null ? undefined : seal.open(address.response);
    if (action === 'details' && found !== undefined) {
      await client.apiCall('views.open', { trigger_id: press.trigger, view: detailsView(texts, found.details) });
    } else if (action === 'share' && found !== undefined && url !== undefined) {
      await postResponse(url, { ...found.shared, response_type: 'in_channel', replace_original: false });
    } else {
      await tell(client, address, texts.failed);
    }
  };
}

interface AnswerPress {
  readonly client: webApi.WebClient;
  readonly address: SlackAddress;
  readonly action: string;
  readonly code: string;
  readonly value: string;
  readonly trigger: string;
}

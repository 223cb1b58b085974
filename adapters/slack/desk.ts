import type { webApi } from '@slack/bolt';
import type { AcceptOutcome, AdapterContext, SurfaceTexts } from '../adapter.ts';
import { createNotices } from '../notices.ts';
import type { Seal } from '../seal.ts';
import { clip } from '../text.ts';
import { escapeText } from './limits.ts';
import { conversationOf, type PersonMessage, type Said, type SlackAddress, tenantOf, userIdOf } from './receive.ts';
import { formView } from './views.ts';
import { call, postResponse } from './web.ts';
import type { Workspaces } from './workspaces.ts';

type Client = webApi.WebClient;
const longestText = 20_000;

export interface DeskOptions {
  readonly context: AdapterContext;
  readonly seal: Seal;
  readonly workspaces: Workspaces;
  readonly resolveThread: (message: PersonMessage) => Promise<string | undefined>;
}

/** What every listener does: hand a message over, and say a word of our own to one person. */
export class Desk {
  readonly context: AdapterContext;
  readonly seal: Seal;
  readonly resolveThread: DeskOptions['resolveThread'];
  readonly #workspaces: Workspaces;
  readonly #mayTell: ReturnType<typeof createNotices>;

  constructor({ context, seal, workspaces, resolveThread }: DeskOptions) {
    this.context = context;
    this.seal = seal;
    this.resolveThread = resolveThread;
    this.#workspaces = workspaces;
    this.#mayTell = createNotices(context.now);
  }

  /** Our bot user where one token serves one workspace; else the event names it. */
  botUser(): string | undefined {
    return this.#workspaces.botUser();
  }

  hand({ address, text, key, estimateCode }: Said): Promise<AcceptOutcome> {
    const message = {
      messageId: `slack:${tenantOf(address)}:${key}`,
      conversationId: conversationOf(address),
      userId: userIdOf(address),
      text: clip(text, longestText),
      receivedAt: this.context.now(),
      ...(estimateCode === undefined ? {} : { estimateCode }),
    };
    return this.context.accept({ address, message });
  }

  /** Hands over; an overloaded inbox is told to the asker. */
  async say(client: Client, said: Said): Promise<void> {
    if ((await this.hand(said)) !== 'overloaded' || !this.#mayTell(userIdOf(said.address))) return;
    void this.tell(client, said.address, ({ overloaded }) => overloaded);
  }

  async textsFor(address: SlackAddress): Promise<SurfaceTexts> {
    return this.context.texts((await this.#workspaces.localeOf(address)) ?? 'en');
  }

  responseUrl({ response }: SlackAddress): string | undefined {
    return response === null ? undefined : this.seal.open(response);
  }

  /** To this person alone. A courtesy: that it failed is only noted. */
  async tell(client: Client, address: SlackAddress, pick: (texts: SurfaceTexts) => string): Promise<void> {
    await this.courtesy('whisper', async () => {
      const text = escapeText(pick(await this.textsFor(address)));
      const url = this.responseUrl(address);
      if (url !== undefined) return postResponse(url, { text, response_type: 'ephemeral', replace_original: false });
      const { channel, user, threadTs } = address;
      const thread = threadTs === null ? {} : { thread_ts: threadTs };
      return client.chat.postEphemeral({ channel, user, text, ...thread });
    });
  }

  async openForm(client: Client, trigger_id: string, address: SlackAddress): Promise<void> {
    const { context } = this;
    const [texts, prefill] = await Promise.all([this.textsFor(address), context.prefill(conversationOf(address))]);
    const view = formView(texts, prefill, address);
    const opened = await this.courtesy('form', () => call('views.open', client.views.open({ trigger_id, view })));
    if (!opened) await this.tell(client, address, ({ failed }) => failed);
  }

  /** Does something whose failure is no reason for a redelivery; whether it worked. */
  async courtesy(what: string, work: () => Promise<unknown>): Promise<boolean> {
    try {
      await work();
      return true;
    } catch (error) {
      this.context.logger.info({ error, what }, 'courtesy failed');
      return false;
    }
  }
}

import type { AdapterContext, SurfaceTexts } from '../adapter.ts';
import { createOrder } from '../in-order.ts';
import { createNotices } from '../notices.ts';
import type { Seal } from '../seal.ts';
import { clip } from '../text.ts';
import { escapeText } from './limits.ts';
import {
  conversationOf,
  type PersonMessage,
  type SlackAddress,
  tenantOf,
  userIdOf,
  type Workspace,
} from './receive.ts';
import { formView } from './views.ts';
import { call, postResponse } from './web.ts';
import type { Workspaces } from './workspaces.ts';

const longestText = 20_000;

/** What a delivery leads to: the body of its acknowledgement, and what is done once that is out. */
export interface Reaction {
  readonly response?: unknown;
  readonly afterwards?: () => Promise<unknown>;
}

/** A message on its way to the inbox. */
interface Said {
  readonly address: SlackAddress;
  readonly text: string;
  /** Unique per event within the installation, and the same again for a redelivery. */
  readonly key: string;
  readonly estimateCode?: string | undefined;
}

export interface DeskOptions {
  readonly context: AdapterContext;
  readonly seal: Seal;
  readonly workspaces: Workspaces;
  readonly resolveThread: (message: PersonMessage) => Promise<string | undefined>;
  readonly removed: (workspace: Workspace, event: string) => Promise<void>;
}

/** What every kind of delivery needs: hand a message over, and say a word of our own to one person. */
export function createDesk(options: DeskOptions) {
  const { context, seal, workspaces } = options;
  const mayTell = createNotices(context.now);

  const textsFor = async (address: SlackAddress): Promise<SurfaceTexts> =>
    context.texts((await workspaces.localeOf(address)) ?? 'en');

  const responseUrl = ({ response }: SlackAddress): string | undefined =>
    response === null ? undefined : seal.open(response);

  /** Does something whose failure is only noted; whether it worked. */
  const courtesy = async (what: string, work: () => Promise<unknown>): Promise<boolean> => {
    try {
      await work();
      return true;
    } catch (error) {
      context.logger.info({ error, what }, 'courtesy failed');
      return false;
    }
  };

  /** To this person alone. */
  const tell = (address: SlackAddress, pick: (texts: SurfaceTexts) => string): Promise<unknown> =>
    courtesy('whisper', async () => {
      const text = escapeText(pick(await textsFor(address)));
      const url = responseUrl(address);
      if (url !== undefined) return postResponse(url, { text, response_type: 'ephemeral', replace_original: false });
      const { channel, user, threadTs } = address;
      const thread = threadTs === null ? {} : { thread_ts: threadTs };
      return (await workspaces.clientFor(address)).chat.postEphemeral({ channel, user, text, ...thread });
    });

  /** The same, and where it fails the person is told. */
  const attempt = async (address: SlackAddress, what: string, work: () => Promise<unknown>): Promise<void> => {
    if (!(await courtesy(what, work))) await tell(address, ({ failed }) => failed);
  };

  /** To the inbox; that it is full is told to the asker. */
  const say = async ({ address, text, key, estimateCode }: Said): Promise<Reaction> => {
    const message = {
      messageId: `slack:${tenantOf(address)}:${key}`,
      conversationId: conversationOf(address),
      userId: userIdOf(address),
      text: clip(text, longestText),
      receivedAt: context.now(),
      ...(estimateCode === undefined ? {} : { estimateCode }),
    };
    const outcome = await context.accept({ address, message });
    if (outcome !== 'overloaded' || !mayTell(message.userId)) return {};
    return { afterwards: () => tell(address, ({ overloaded }) => overloaded) };
  };

  const openForm = (trigger_id: string, address: SlackAddress): Promise<void> =>
    attempt(address, 'form', async () => {
      const prefill = context.prefill(conversationOf(address));
      const view = formView(await textsFor(address), await prefill, address);
      const client = await workspaces.clientFor(address);
      await call('views.open', client.views.open({ trigger_id, view }));
    });

  return { ...options, inOrder: createOrder(), textsFor, responseUrl, courtesy, tell, attempt, say, openForm };
}

export type Desk = ReturnType<typeof createDesk>;

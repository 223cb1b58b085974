import type { AdapterContext, SurfaceTexts } from '../adapter.ts';
import { createDesk } from '../desk.ts';
import type { Reaction } from '../intake.ts';
import type { Seal } from '../seal.ts';
import { clip } from '../text.ts';
import type { ResolveThread } from '../threads.ts';
import type { KeptAnswers } from './deliver.ts';
import { escapeText, slackLimits } from './limits.ts';
import { conversationOf, type SlackAddress, tenantOf, userIdOf, type Workspace } from './receive.ts';
import { formView } from './views.ts';
import { call, postResponse } from './web.ts';
import type { Workspaces } from './workspaces.ts';

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
  readonly answers: KeptAnswers;
  readonly resolveThread: ResolveThread;
  /** Somebody removed the app. */
  readonly removed: (workspace: Workspace, event: string) => Promise<void>;
}

/** What every kind of delivery needs: hand a message over, and say a word of our own to one person. */
export function createSlackDesk(options: DeskOptions) {
  const { context, seal, workspaces } = options;
  const { inOrder, turnsAway, courtesy } = createDesk(context);

  const textsFor = async (address: SlackAddress): Promise<SurfaceTexts> =>
    context.texts((await workspaces.localeOf(address)) ?? 'en');

  /** To this person alone. */
  const tell = (address: SlackAddress, pick: (texts: SurfaceTexts) => string): Promise<unknown> =>
    courtesy('whisper', async () => {
      const text = escapeText(pick(await textsFor(address)));
      const url = seal.open(address.response ?? '');
      if (url !== undefined) return postResponse(url, { text, response_type: 'ephemeral', replace_original: false });
      const { channel, user, threadTs } = address;
      const thread = threadTs === null ? {} : { thread_ts: threadTs };
      return (await workspaces.clientFor(address)).chat.postEphemeral({ channel, user, text, ...thread });
    });

  /** Does something that the person waits for, and tells when it fails. */
  const attempt = async (address: SlackAddress, what: string, work: () => Promise<unknown>): Promise<void> => {
    if (!(await courtesy(what, work))) await tell(address, ({ failed }) => failed);
  };

  /** To the inbox; that it is full is told to the asker. */
  const say = async ({ address, text, key, estimateCode }: Said): Promise<Reaction> => {
    const message = {
      messageId: `slack:${tenantOf(address)}:${key}`,
      conversationId: conversationOf(address),
      userId: userIdOf(address),
      text: clip(text, slackLimits.incomingCharacters),
      receivedAt: context.now(),
      ...(estimateCode ? { estimateCode } : {}),
    };
    const isFull = await turnsAway({ address, message });
    return isFull ? { afterwards: () => tell(address, ({ overloaded }) => overloaded) } : {};
  };

  const openView = async (trigger_id: string, address: SlackAddress, view: object): Promise<void> => {
    const client = await workspaces.clientFor(address);
    await call('views.open', client.apiCall('views.open', { trigger_id, view }));
  };

  const openForm = (trigger: string, address: SlackAddress): Promise<void> =>
    attempt(address, 'form', async () => {
      const prefill = context.prefill(conversationOf(address));
      await openView(trigger, address, formView(await textsFor(address), await prefill, address));
    });

  return { ...options, inOrder, textsFor, courtesy, tell, attempt, say, openView, openForm };
}

export type Desk = ReturnType<typeof createSlackDesk>;

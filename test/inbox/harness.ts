import { createInbox } from '../../src/inbox/inbox.ts';
import type { Inbox, InboxLimits, InboxOptions, Outgoing } from '../../src/inbox/inbox-options.ts';
import { encodeConversationId, type IncomingMessage } from '../../src/message.ts';
import { createLogger } from '../../src/observability/logger.ts';
import { createMetrics, type MetricsRegistry } from '../../src/observability/metrics.ts';
import type { Reply } from '../../src/reply/reply.ts';
import type { InboxStore } from '../../src/state/inbox-store.ts';

export const replyOf = (text: string): Reply => ({
  locale: 'en',
  kind: 'answer',
  fallback: text,
  blocks: [],
  choices: [],
});

export function said(text: string, thread = 'one', messageId = `${thread}-${text}`): IncomingMessage {
  const conversationId = encodeConversationId({ adapter: 'console', tenant: 'T', channel: 'C', thread });
  return { messageId, conversationId, userId: 'console:T:U1', text, receivedAt: 0 };
}

export const accepted = (text: string, thread = 'one', messageId?: string) => ({
  message: said(text, thread, messageId),
  address: { channel: 'C', thread },
});

/** What reached the platform, as people there see it: attempts at one message share a key. */
export class Platform {
  readonly sent: Outgoing[] = [];

  readonly deliver = async (outgoing: Outgoing): Promise<void> => {
    this.sent.push(outgoing);
  };

  texts(thread?: string): string[] {
    return this.sent
      .filter(({ address }) => thread === undefined || address['thread'] === thread)
      .map(({ reply }) => reply.fallback);
  }
}

export interface Started {
  readonly inbox: Inbox;
  readonly metrics: MetricsRegistry;
}

type Changes = Partial<Omit<InboxOptions, 'store' | 'limits'>> & { readonly limits?: Partial<InboxLimits> };

/** An inbox whose bot repeats what was said. */
export function inboxOn(store: InboxStore, platform: Platform, changes: Changes = {}): Started {
  const metrics = createMetrics();
  const { limits, ...others } = changes;
  const inbox = createInbox({
    store,
    handle: async (message) => replyOf(`re: ${message.text}`),
    deliver: platform.deliver,
    apologize: (_message, error) => replyOf(`sorry: ${error.code}`),
    logger: createLogger({ level: 'silent' }),
    metrics,
    ...others,
    limits: { pollMs: 20, retryMs: 5, leaseMs: 60_000, ...limits },
  });
  return { inbox, metrics };
}

/** Waits for a condition, not for a time; gives up when the suite would. */
export async function until(condition: () => boolean | Promise<boolean>, what = 'condition'): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (performance.now() < deadline) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`still waiting for: ${what}`);
}

export const pause = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 2));

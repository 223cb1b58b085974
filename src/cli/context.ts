import type { AdapterContext, Logger } from '../../adapters/adapter.ts';
import type { Bot } from '../bot.ts';
import type { MetricsRegistry } from '../observability/metrics.ts';
import { surfaceTexts } from '../reply/messages/surfaces.ts';
import type { StateStore } from '../state/state-store.ts';

export interface ContextParts {
  readonly bot: Bot;
  readonly store: StateStore;
  readonly logger: Logger;
  readonly metrics: MetricsRegistry;
  readonly accept: AdapterContext['accept'];
}

/** What the product offers to one adapter. */
export function createContext(name: string, parts: ContextParts): AdapterContext {
  const { bot, store, metrics } = parts;
  return {
    accept: parts.accept,
    answer: (message) => bot.handle(message),
    prefill: (conversationId) => bot.prefill(conversationId),
    recentEstimates: (userId, limit) => bot.recentEstimates(userId, limit),
    feedback: (userId, estimateCode, helpful) => bot.feedback(userId, estimateCode, helpful),
    texts: surfaceTexts,
    store,
    logger: parts.logger.child({ adapter: name }),
    metrics,
    now: Date.now,
  };
}

import type { Logger, Metrics } from '../../adapters/adapter.ts';
import type { Catalog } from '../../catalog/index.ts';
import type { PriceBook } from '../../catalog/price-book.ts';
import type { AdvicePorts } from '../advice/request.ts';
import type { Locale } from '../message.ts';
import type { RateLimiter } from '../observability/rate-limit.ts';
import type { StateStore } from '../state/state-store.ts';

/** The pure part of a turn and what it reads: nothing here has a side effect. */
export interface AnswerPorts {
  readonly catalog: Catalog;
  /** The price book of this moment: a live source may replace it while the program runs. */
  readonly prices: () => PriceBook;
  readonly usdCny: number;
  readonly region: string;
  readonly estimate: AdvicePorts['estimate'];
  readonly secondsPerIteration: AdvicePorts['secondsPerIteration'];
}

export interface BotPorts extends AnswerPorts {
  readonly store: StateStore;
  readonly limiter: RateLimiter;
  readonly locale: Locale;
  readonly retentionDays: number;
  readonly logger: Logger;
  readonly metrics: Metrics;
  readonly now: () => number;
}

export function advicePorts(ports: AnswerPorts): AdvicePorts {
  const { catalog, usdCny, estimate, secondsPerIteration } = ports;
  return { catalog, prices: ports.prices(), usdCny, estimate, secondsPerIteration };
}

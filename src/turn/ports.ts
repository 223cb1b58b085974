import type { Logger, Metrics } from '../../adapters/adapter.ts';
import type { PriceBook } from '../../catalog/price-book.ts';
import type { AdvicePorts } from '../advice/request.ts';
import type { Locale } from '../message.ts';
import type { RateLimiter } from '../observability/rate-limit.ts';
import type { StateStore } from '../state/state-store.ts';

/** The pure part of a turn and what it reads: nothing here has a side effect. */
export interface AnswerPorts extends Omit<AdvicePorts, 'prices'> {
  /** The price book of this moment: a live source may replace it while the program runs. */
  readonly prices: () => PriceBook;
  readonly region: string;
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

export function advicePorts({ prices, ...rest }: AnswerPorts): AdvicePorts {
  return { ...rest, prices: prices() };
}

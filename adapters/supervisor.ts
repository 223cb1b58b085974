import { setTimeout as wait } from 'node:timers/promises';
import { backoff } from '../src/backoff.ts';
import { AppError } from '../src/errors.ts';
import type { AdapterContext, ConnectionStatus } from './adapter.ts';

/** Milliseconds between attempts to connect. */
export interface Pace {
  readonly firstPauseMs: number;
  readonly longestPauseMs: number;
  /** After refused credentials: a person has to act first. */
  readonly refusedPauseMs: number;
}
export const usualPace: Pace = { firstPauseMs: 1_000, longestPauseMs: 30_000, refusedPauseMs: 60_000 };

/** A connection that stands. */
export interface Link {
  /** Resolves with the reason when another one should take over while this one still stands. */
  readonly renewal: Promise<string>;
  readonly closed: Promise<unknown>;
  /** Closes it once what came over it is taken care of. */
  close(): Promise<void>;
}

export interface SupervisorOptions {
  /** Of the adapter, for the gauge. */
  readonly name: string;
  readonly context: Pick<AdapterContext, 'logger' | 'metrics'>;
  readonly pace: Pace;
  /** One attempt, which leaves nothing behind when it fails. @throws AppError `platform-refused` for credentials. */
  readonly connect: () => Promise<Link>;
  /** What a person can do about a failure. */
  readonly advice: (error: unknown) => string;
}

const shortLifeMs = 10_000;
const closingMs = 5_000;

/**
 * Keeps one connection up until it is stopped: a new one for each attempt, opened before the old one is closed where that
 * still stands, with growing pauses after failures and short lives, and long ones where a person has to act.
 */
export class Supervisor {
  readonly #options: SupervisorOptions;
  readonly #stopping = new AbortController();
  #current: Link | undefined;
  /** Since a connection last lived for long. */
  #attempts = 0;
  status: ConnectionStatus = 'connecting';
  /** Why nothing works until a person acts. */
  refusal: AppError | undefined;

  constructor(options: SupervisorOptions) {
    this.#options = options;
  }

  /** Resolves after the first attempt; a failed one is repeated behind the scenes. */
  async start(): Promise<void> {
    void this.#keep(await this.#attempt());
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.status = 'stopped';
    await Promise.race([this.#current?.close(), wait(closingMs, undefined, { ref: false })]);
  }

  async #keep(first: Link | undefined): Promise<void> {
    const { signal } = this.#stopping;
    for (let link = first; !signal.aborted; link = await this.#attempt()) {
      if (link !== undefined) await this.#need(link);
      await wait(this.#pause(link), undefined, { signal }).catch(() => undefined);
    }
  }

  /** Resolves when another connection is needed. */
  async #need({ renewal, closed }: Link): Promise<void> {
    const since = Date.now();
    const reason = await Promise.race([renewal, closed.then(() => 'closed')]);
    this.#options.context.logger.info({ reason }, 'connection is renewed');
    if (Date.now() - since >= shortLifeMs) this.#attempts = 0;
  }

  async #attempt(): Promise<Link | undefined> {
    const { signal } = this.#stopping;
    if (signal.aborted) return undefined;
    this.#attempts += 1;
    try {
      const link = await this.#options.connect();
      if (!signal.aborted) return this.#adopt(link);
      await link.close();
    } catch (error) {
      this.#failed(error);
    }
    return undefined;
  }

  #adopt(link: Link): Link {
    const previous = this.#current;
    this.#current = link;
    this.refusal = undefined;
    this.#show('connected');
    this.#options.context.logger.info({ attempts: this.#attempts }, 'connected');
    void link.closed.then(() => {
      if (this.#current !== link) return;
      this.#current = undefined;
      this.#show('connecting');
    });
    void previous?.close();
    return link;
  }

  #failed(error: unknown): void {
    const { context, advice } = this.#options;
    this.refusal = error instanceof AppError && error.code === 'platform-refused' ? error : undefined;
    if (this.refusal !== undefined) this.#show('failed');
    else if (this.#current === undefined) this.#show('connecting');
    const fields = { error, attempts: this.#attempts, advice: advice(error) };
    context.logger[this.refusal === undefined ? 'warn' : 'error'](fields, 'connection failed');
  }

  #show(status: ConnectionStatus): void {
    if (this.status === 'stopped') return;
    this.status = status;
    const { context, name } = this.#options;
    context.metrics.gauge('connected', status === 'connected' ? 1 : 0, { adapter: name });
  }

  /** A connection that asks for its own replacement gets the first one at once. */
  #pause(link: Link | undefined): number {
    const { firstPauseMs, longestPauseMs, refusedPauseMs } = this.#options.pace;
    if (this.refusal !== undefined) return refusedPauseMs * (0.75 + Math.random() / 2);
    const stands = link !== undefined && this.#current === link;
    return backoff(stands ? this.#attempts - 1 : this.#attempts, { firstMs: firstPauseMs, longestMs: longestPauseMs });
  }
}

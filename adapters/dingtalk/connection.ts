import { setTimeout as wait } from 'node:timers/promises';
import { AppError } from '../../src/errors.ts';
import type { AdapterContext, ConnectionStatus } from '../adapter.ts';
import { StreamClient } from './client.ts';
import type { DingtalkAdapterConfig } from './config.ts';

const shortLifeMs = 10_000;

/** What to do about an answer that trying again will not change. */
export function advice(error: unknown): string {
  const { status, reason } = error instanceof AppError ? error.details : {};
  if (status === 401 || reason === 'invalidClientIdOrSecret')
    return 'check DINGTALK_CLIENT_ID and DINGTALK_CLIENT_SECRET against the app in the console';
  if (status === 400)
    return 'publish the app and its robot, set the robot to Stream mode, keep proxies off the request';
  return 'check the network: api.dingtalk.com and wss-open-connection.dingtalk.com, port 443';
}

/**
 * A stream that never gives up: a new library connection for each attempt, the next one opened before the old one closes
 * when the platform asks for a change, growing pauses, and long ones where a person has to act.
 */
export class StreamConnection {
  readonly #config: DingtalkAdapterConfig;
  readonly #context: AdapterContext;
  readonly #receive: (data: unknown) => Promise<boolean>;
  readonly #stopping = new AbortController();
  #current: StreamClient | undefined;
  #failures = 0;
  #refused = false;
  #connecting = false;
  status: ConnectionStatus = 'connecting';

  constructor(config: DingtalkAdapterConfig, context: AdapterContext, receive: (data: unknown) => Promise<boolean>) {
    this.#config = config;
    this.#context = context;
    this.#receive = receive;
  }

  /** Resolves after the first attempt; a failed one is repeated behind the scenes. */
  async start(): Promise<void> {
    if (!(await this.#attempt())) void this.#renew();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.status = 'stopped';
    const current = this.#current;
    this.#current = undefined;
    if (current !== undefined) await Promise.race([current.retire(), wait(5_000, undefined, { ref: false })]);
  }

  /** @throws AppError when the gateway would not let this app connect; opens no connection. */
  async probe(): Promise<void> {
    const ignore = (): void => undefined;
    const events = { message: async () => true, renew: ignore, closed: ignore, unreadable: ignore };
    await new StreamClient(this.#config, events).getEndpoint();
  }

  async #attempt(): Promise<boolean> {
    const since = Date.now();
    const { logger } = this.#context;
    const client: StreamClient = new StreamClient(this.#config, {
      message: this.#receive,
      renew: (reason) => {
        if (this.#current !== client) return;
        logger.info({ reason }, 'connection is renewed');
        void this.#renew();
      },
      closed: () => this.#closed(client, since),
      unreadable: (reason) => logger.warn({ reason }, 'unreadable frame'),
    });
    try {
      await client.connect();
    } catch (error) {
      client.disconnect();
      this.#failed(error);
      return false;
    }
    this.#adopt(client);
    return true;
  }

  #adopt(client: StreamClient): void {
    const previous = this.#current;
    if (this.#stopping.signal.aborted) {
      client.disconnect();
      return;
    }
    this.#current = client;
    this.#refused = false;
    this.#show('connected');
    this.#context.logger.info({ attempts: this.#failures + 1 }, 'connected');
    void previous?.retire();
  }

  #closed(client: StreamClient, since: number): void {
    if (this.#current !== client || this.#stopping.signal.aborted) return;
    this.#current = undefined;
    this.#failures = Date.now() - since < shortLifeMs ? this.#failures + 1 : 0;
    this.#show('connecting');
    void this.#renew();
  }

  #failed(error: unknown): void {
    this.#failures += 1;
    this.#refused = error instanceof AppError && error.code === 'platform-refused';
    if (this.#current === undefined) this.#show(this.#refused ? 'failed' : 'connecting');
    const fields = { error, failures: this.#failures, advice: advice(error) };
    this.#context.logger[this.#refused ? 'error' : 'warn'](fields, 'connection failed');
  }

  #show(status: ConnectionStatus): void {
    if (this.status === 'stopped') return;
    this.status = status;
    this.#context.metrics.gauge('connected', status === 'connected' ? 1 : 0, { adapter: 'dingtalk' });
  }

  async #renew(): Promise<void> {
    const { signal } = this.#stopping;
    if (this.#connecting) return;
    this.#connecting = true;
    do {
      await wait(this.#pause(), undefined, { signal }).catch(() => undefined);
    } while (!signal.aborted && !(await this.#attempt()));
    this.#connecting = false;
    if (this.#current === undefined && !signal.aborted) void this.#renew();
  }

  /** Doubles with every failure, half of it random so that replicas spread. */
  #pause(): number {
    const { firstPauseMs, longestPauseMs, refusedPauseMs } = this.#config.pace;
    if (this.#refused) return refusedPauseMs * (0.75 + Math.random() / 2);
    if (this.#failures === 0) return 0;
    return Math.min(longestPauseMs, firstPauseMs * 2 ** (this.#failures - 1)) * (0.5 + Math.random() / 2);
  }
}

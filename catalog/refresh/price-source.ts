import { asAppError } from '../../src/errors.ts';
import { createPriceBook, type PriceBook } from '../price-book.ts';
import type { PriceRow, PriceTable } from '../rows.ts';
import { fetchApiPrices } from './api-prices.ts';
import { createEcsClient } from './ecs-client.ts';
import { describeStock } from './ecs-inventory.ts';
import { fetchPublicPrices } from './public-prices.ts';
import type { Fetch } from './safe-fetch.ts';
import type { Credentials } from './signature.ts';

export interface PriceSettings {
  readonly origin: 'snapshot' | 'public' | 'api';
  readonly url?: string | undefined;
  readonly endpoint?: string | undefined;
  readonly credentials?: Credentials | undefined;
}

export interface PriceSourceOptions {
  readonly settings: PriceSettings;
  readonly table: PriceTable;
  /** Types worth asking for: those that may be proposed. */
  readonly instanceTypes: readonly string[];
  /** Region that is asked first; others follow when somebody asks about them. */
  readonly region: string;
  readonly fetch: Fetch;
  readonly now: () => number;
  readonly nonce: () => string;
  readonly sleep: (milliseconds: number) => Promise<void>;
  /** Called with a stable code when the live source failed and older prices stand in. */
  readonly onFailure: (failure: { readonly code: string; readonly reason: string }) => void;
}

/** Prices for the bot: always an answer at once, renewed behind it. */
export interface PriceSource {
  /** The prices of this moment. */
  book(): PriceBook;
  /** Asks the live source now; resolves when new prices are in, or the old ones were kept. */
  refresh(): Promise<void>;
  /** Asks now and every hour. */
  start(): void;
  stop(): void;
}

/** catalog.md §6: cache prices for an hour. */
const RENEW_EVERY_MS = 3_600_000;

const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10);

interface Loaded {
  readonly rows: readonly PriceRow[];
  readonly stock?: ReadonlyMap<string, readonly string[]>;
}

type Load = (region: string) => Promise<Loaded>;

function loaderOf(options: PriceSourceOptions): Load | undefined {
  const { settings, fetch, now } = options;
  if (settings.origin === 'public') {
    const instanceTypes = new Set(options.instanceTypes);
    return () => fetchPublicPrices({ url: settings.url, fetch, instanceTypes, today: dayOf(now()) });
  }
  const { credentials } = settings;
  if (settings.origin === 'snapshot' || credentials === undefined) return undefined;
  const client = createEcsClient({ ...options, credentials, endpoint: settings.endpoint });
  const { instanceTypes } = options;
  return async (region) => {
    const { rows } = await fetchApiPrices({ client, region, instanceTypes, today: dayOf(now()) });
    // Prices are worth having without stock: the account may lack that one permission.
    const stock = await describeStock(client, region).catch((error: unknown) => report(options, error));
    return stock === undefined ? { rows } : { rows, stock };
  };
}

function report({ onFailure }: PriceSourceOptions, error: unknown): undefined {
  const { code, message } = asAppError(error);
  onFailure({ code, reason: message });
}

/** What the live source has said so far; a failure takes nothing away. */
class LivePrices {
  private readonly rows = new Map<string, PriceRow>();
  private readonly stock = new Map<string, ReadonlyMap<string, readonly string[]>>();
  private readonly options: PriceSourceOptions;

  constructor(options: PriceSourceOptions) {
    this.options = options;
  }

  /** True when every region answered. */
  async load(load: Load, regions: readonly string[]): Promise<boolean> {
    let answered = true;
    for (const region of regions) {
      try {
        const { rows, stock } = await load(region);
        for (const row of rows) this.rows.set(`${row.instanceType} ${row.region}`, row);
        if (stock !== undefined) this.stock.set(region, stock);
      } catch (error) {
        report(this.options, error);
        answered = false;
      }
    }
    return answered;
  }

  book(answered: boolean): PriceBook {
    const { table, settings } = this.options;
    const origin = this.rows.size === 0 ? 'snapshot' : settings.origin;
    return createPriceBook(table, { origin, fellBack: !answered, live: [...this.rows.values()], stock: this.stock });
  }
}

/** A price source that never makes the caller wait and never loses what it had. */
export function createPriceSource(options: PriceSourceOptions): PriceSource {
  const load = loaderOf(options);
  const live = new LivePrices(options);
  let book = createPriceBook(options.table);
  // Only regions of the price list are ever asked for: what a person types never becomes a request by itself.
  const askable = new Set([...book.regions(), options.region]);
  const wanted = new Set([options.region]);
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const renew = async (from: Load): Promise<void> => {
    book = live.book(await live.load(from, [...wanted]));
  };
  const refresh = async (): Promise<void> => {
    if (load === undefined) return;
    running ??= renew(load).finally(() => {
      running = undefined;
    });
    await running;
  };
  const refreshQuietly = () => void refresh().catch(() => undefined);

  /** The public file holds every region at once; the API is asked region by region. */
  const want = (region: string) => {
    if (options.settings.origin !== 'api' || !askable.has(region) || wanted.has(region)) return;
    wanted.add(region);
    refreshQuietly();
  };

  return {
    book() {
      const current = book;
      const find: PriceBook['find'] = (instanceType, region) => {
        want(region);
        return current.find(instanceType, region);
      };
      return { ...current, find };
    },
    refresh,
    start() {
      refreshQuietly();
      timer ??= setInterval(refreshQuietly, RENEW_EVERY_MS).unref();
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}

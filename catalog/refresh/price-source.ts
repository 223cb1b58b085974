import { asAppError } from '../../src/errors.ts';
import { createPriceBook, type PriceBook } from '../price-book.ts';
import type { PriceRow, PriceTable } from '../rows.ts';
import { fetchApiPrices } from './api-prices.ts';
import { createEcsClient } from './ecs-client.ts';
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

type Load = (region: string) => Promise<readonly PriceRow[]>;

function loaderOf(options: PriceSourceOptions): Load | undefined {
  const { settings, fetch, now } = options;
  if (settings.origin === 'public') {
    const instanceTypes = new Set(options.instanceTypes);
    return async () => (await fetchPublicPrices({ url: settings.url, fetch, instanceTypes, today: dayOf(now()) })).rows;
  }
  const { credentials } = settings;
  if (settings.origin === 'snapshot' || credentials === undefined) return undefined;
  const client = createEcsClient({ ...options, credentials, endpoint: settings.endpoint });
  const { instanceTypes } = options;
  return async (region) => (await fetchApiPrices({ client, region, instanceTypes, today: dayOf(now()) })).rows;
}

/** A price source that never makes the caller wait and never loses what it had. */
export function createPriceSource(options: PriceSourceOptions): PriceSource {
  const { settings, table, onFailure } = options;
  const load = loaderOf(options);
  const snapshot = createPriceBook(table);
  // Only regions of the price list are ever asked for: what a person types never becomes a request by itself.
  const askable = new Set([...snapshot.regions(), options.region]);
  const wanted = new Set([options.region]);
  const live = new Map<string, PriceRow>();
  let book = snapshot;
  let running: Promise<void> | undefined;
  let timer: NodeJS.Timeout | undefined;

  const rebuild = (failed: boolean) => {
    if (live.size === 0) {
      book = failed ? createPriceBook(table, { fellBack: true }) : snapshot;
      return;
    }
    book = createPriceBook(table, { origin: settings.origin, fellBack: failed, live: [...live.values()] });
  };

  const loadRegions = async (fetchRows: Load) => {
    const regions = settings.origin === 'api' ? [...wanted] : [options.region];
    let failed = false;
    for (const region of regions) {
      try {
        for (const row of await fetchRows(region)) live.set(`${row.instanceType} ${row.region}`, row);
      } catch (error) {
        const { code, message } = asAppError(error);
        onFailure({ code, reason: message });
        failed = true;
      }
    }
    rebuild(failed);
  };

  const refresh = async (): Promise<void> => {
    if (load === undefined) return;
    running ??= loadRegions(load).finally(() => {
      running = undefined;
    });
    await running;
  };

  const want = (region: string) => {
    if (settings.origin !== 'api' || !askable.has(region) || wanted.has(region)) return;
    wanted.add(region);
    refresh().catch(() => undefined);
  };

  return {
    book: () => ({
      ...book,
      find: (instanceType, region) => {
        want(region);
        return book.find(instanceType, region);
      },
    }),
    refresh,
    start() {
      refresh().catch(() => undefined);
      timer ??= setInterval(() => refresh().catch(() => undefined), RENEW_EVERY_MS).unref();
    },
    stop() {
      clearInterval(timer);
      timer = undefined;
    },
  };
}

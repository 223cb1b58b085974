import { isProposable } from '../cross-check.ts';
import type { Catalog } from '../index.ts';
import { fetchApiPrices } from './api-prices.ts';
import { createEcsClient } from './ecs-client.ts';
import { describeGpuTypes } from './ecs-inventory.ts';
import type { PriceSettings } from './price-source.ts';
import { fetchPublicPrices } from './public-prices.ts';
import type { Fetch } from './safe-fetch.ts';
import { type WrittenRows, writeInstances, writePrices } from './write-files.ts';

export interface RefreshOptions {
  readonly settings: PriceSettings;
  readonly catalog: Catalog;
  /** Folder whose files are rewritten. */
  readonly folder: string;
  readonly region: string;
  readonly fetch: Fetch;
  readonly now: () => number;
  readonly nonce: () => string;
  readonly sleep: (milliseconds: number) => Promise<void>;
}

/**
 * Rewrites prices (and, with credentials, instance types) from their source with new dates. A source that fails changes
 * nothing.
 *
 * @throws AppError of the source.
 */
export async function refreshCatalog(options: RefreshOptions): Promise<readonly WrittenRows[]> {
  return options.settings.origin === 'api' ? refreshFromApi(options) : refreshFromFile(options);
}

const dayOf = (now: number): string => new Date(now).toISOString().slice(0, 10);

async function refreshFromFile(options: RefreshOptions): Promise<readonly WrittenRows[]> {
  const { settings, fetch, folder } = options;
  const today = dayOf(options.now());
  const instanceTypes = new Set(options.catalog.instances.map((row) => row.instanceType));
  const { rows } = await fetchPublicPrices({ url: settings.url, fetch, instanceTypes, today });
  const text = `public price file of www.aliyun.com/price/ecs (fetched ${today})`;
  return [writePrices(folder, rows, { key: 'public-price-file', text })];
}

async function refreshFromApi(options: RefreshOptions): Promise<readonly WrittenRows[]> {
  const { settings, folder, region, catalog } = options;
  const { credentials } = settings;
  if (credentials === undefined) return [];
  const today = dayOf(options.now());
  const client = createEcsClient({ ...options, credentials, endpoint: settings.endpoint });
  const { types } = await describeGpuTypes(client, region);
  const instanceTypes = catalog.instances.filter(isProposable).map((row) => row.instanceType);
  const { rows } = await fetchApiPrices({ client, region, instanceTypes, today });
  const text = `ECS DescribePrice, list price of the instance alone (asked ${today})`;
  return [writeInstances(folder, types, today), writePrices(folder, rows, { key: 'ecs-api', text })];
}

import { AppError } from '../../src/errors.ts';
import type { PriceRow } from '../rows.ts';
import type { EcsClient } from './ecs-client.ts';
import { describePrice, describeSpotPrice } from './ecs-prices.ts';

export interface ApiPriceOptions {
  readonly client: EcsClient;
  readonly region: string;
  readonly instanceTypes: readonly string[];
  readonly today: string;
}

export interface ApiPrices {
  readonly rows: readonly PriceRow[];
  /** Types that the vendor does not sell in this region. */
  readonly unsold: readonly string[];
}

/** Answers of the vendor that mean "not here", not "not now". */
const UNSOLD =
  /^(PriceNotFound|InvalidInstanceType\.|InstanceType\.Offline|RegionUnauthorized|InvalidSystemDiskCategory\.)/;

/**
 * List price and spot price of each type in one region, one after the other because the vendor throttles per account.
 *
 * @throws AppError when the vendor cannot be reached or refuses the account.
 */
export async function fetchApiPrices(options: ApiPriceOptions): Promise<ApiPrices> {
  const rows: PriceRow[] = [];
  const unsold: string[] = [];
  for (const instanceType of options.instanceTypes) {
    const row = await priceRow(options, instanceType);
    if (row === undefined) unsold.push(instanceType);
    else rows.push(row);
  }
  return { rows, unsold };
}

function isUnsold(error: unknown): boolean {
  return error instanceof AppError && UNSOLD.test(String(error.details['code'] ?? ''));
}

async function priceRow(options: ApiPriceOptions, instanceType: string): Promise<PriceRow | undefined> {
  const { client, region, today } = options;
  try {
    const list = await describePrice(client, { region, instanceType });
    const row = { instanceType, region, ...list, source: 'ecs-api', checkedOn: today };
    const spot = await describeSpotPrice(client, { region, instanceType });
    return spot === undefined || spot.currency !== list.currency ? row : { ...row, spotPerHour: spot.amountPerHour };
  } catch (error) {
    if (isUnsold(error)) return undefined;
    throw error;
  }
}

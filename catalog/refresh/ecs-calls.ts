import { z } from 'zod';
import type { EcsClient } from './ecs-client.ts';

const money = z.coerce.number().positive().finite();
const currency = z.enum(['CNY', 'USD']);

const priceAnswer = z.object({
  PriceInfo: z.object({
    Price: z.object({
      Currency: currency,
      OriginalPrice: money,
      TradePrice: money.optional(),
      DetailInfos: z
        .object({
          DetailInfo: z.array(
            z.object({
              Resource: z.string(),
              OriginalPrice: z.coerce.number(),
              TradePrice: z.coerce.number().optional(),
            }),
          ),
        })
        .optional(),
    }),
  }),
});

export interface TypeInRegion {
  readonly region: string;
  readonly instanceType: string;
}

export interface ListPrice {
  readonly currency: 'CNY' | 'USD';
  /** List price of the instance alone, without this account's discounts. */
  readonly amountPerHour: number;
}

/** Rows that can be read; a broken one does not spoil the others. */
function readable<Schema extends z.ZodType>(schema: Schema, rows: readonly unknown[]): readonly z.infer<Schema>[] {
  return rows.flatMap((row) => {
    const parsed = schema.safeParse(row);
    return parsed.success ? [parsed.data] : [];
  });
}

/** `DescribePrice` of an hour: the instance's own share, the system disk taken out. */
export async function describePrice(client: EcsClient, { region, instanceType }: TypeInRegion): Promise<ListPrice> {
  const parameters = {
    RegionId: region,
    ResourceType: 'instance',
    InstanceType: instanceType,
    // Types from the seventh generation on take only this kind; the API's own default is another.
    'SystemDisk.Category': 'cloud_essd',
    'SystemDisk.Size': '40',
    PriceUnit: 'Hour',
    Period: '1',
    Amount: '1',
  };
  const { Price } = (await client.call({ action: 'DescribePrice', region, parameters }, priceAnswer)).PriceInfo;
  const own = Price.DetailInfos?.DetailInfo.find((detail) => detail.Resource === 'instanceType');
  return { currency: Price.Currency, amountPerHour: own?.OriginalPrice ?? Price.OriginalPrice };
}

const spotRow = z.object({ ZoneId: z.string(), SpotPrice: z.coerce.number(), Timestamp: z.string() });
const spotAnswer = z.object({
  Currency: currency,
  NextOffset: z.coerce.number().optional(),
  SpotPrices: z.object({
    SpotPriceType: z.array(z.unknown()),
  }),
});

export interface SpotPrice {
  readonly currency: 'CNY' | 'USD';
  /** Latest price of the cheapest zone. */
  readonly amountPerHour: number;
  readonly zone: string;
}

/** `DescribeSpotPriceHistory` of the last hours; undefined where the market shows no price. */
export async function describeSpotPrice(
  client: EcsClient,
  { region, instanceType }: TypeInRegion,
): Promise<SpotPrice | undefined> {
  const parameters = { RegionId: region, NetworkType: 'vpc', InstanceType: instanceType, OSType: 'linux' };
  const answer = await client.call({ action: 'DescribeSpotPriceHistory', region, parameters }, spotAnswer);
  const latest = new Map<string, { readonly price: number; readonly at: string }>();
  for (const { ZoneId, SpotPrice: price, Timestamp: at } of readable(spotRow, answer.SpotPrices.SpotPriceType)) {
    const known = latest.get(ZoneId);
    if (price > 0 && (known === undefined || at > known.at)) latest.set(ZoneId, { price, at });
  }
  const [cheapest] = [...latest].sort(([, left], [, right]) => left.price - right.price);
  if (cheapest === undefined) return undefined;
  return { currency: answer.Currency, amountPerHour: cheapest[1].price, zone: cheapest[0] };
}

const supportedType = z.object({ Value: z.string(), Status: z.string(), StatusCategory: z.string().optional() });
const resource = z.object({ SupportedResources: z.object({ SupportedResource: z.array(z.unknown()) }) });
const zoneRow = z.object({
  ZoneId: z.string(),
  AvailableResources: z.object({ AvailableResource: z.array(resource) }),
});
const resourceAnswer = z.object({
  // Absent when nothing at all is on sale.
  AvailableZones: z.object({ AvailableZone: z.array(z.unknown()) }).optional(),
});

/** Zones of a region that can deliver each type now (`DescribeAvailableResource`; every zone is read). */
export async function describeStock(
  client: EcsClient,
  region: string,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const parameters = { RegionId: region, DestinationResource: 'InstanceType', InstanceChargeType: 'PostPaid' };
  const answer = await client.call({ action: 'DescribeAvailableResource', region, parameters }, resourceAnswer);
  const zones = new Map<string, string[]>();
  for (const zone of readable(zoneRow, answer.AvailableZones?.AvailableZone ?? [])) {
    const supported = zone.AvailableResources.AvailableResource.flatMap(
      (one) => one.SupportedResources.SupportedResource,
    );
    for (const { Value, Status, StatusCategory } of readable(supportedType, supported)) {
      if (Status !== 'Available' || StatusCategory === 'WithoutStock') continue;
      const known = zones.get(Value);
      if (known === undefined) zones.set(Value, [zone.ZoneId]);
      else known.push(zone.ZoneId);
    }
  }
  return zones;
}

const typeRow = z.object({
  InstanceTypeId: z.string(),
  InstanceTypeFamily: z.string(),
  CpuCoreCount: z.number().int().positive(),
  MemorySize: z.number().positive(),
  GPUAmount: z.number().nonnegative().optional(),
  GPUSpec: z.string().optional(),
  GPUMemorySize: z.number().nonnegative().optional(),
  EriQuantity: z.number().optional(),
});
const typesAnswer = z.object({
  NextToken: z.string().optional(),
  InstanceTypes: z.object({ InstanceType: z.array(z.unknown()) }),
});

export type ApiInstanceType = z.infer<typeof typeRow>;

/** Pages of `DescribeInstanceTypes` are at most this long since 2023-11-15. */
const PAGE = '100';
const MOST_PAGES = 60;

/** Every type with a GPU. Rows that cannot be read are counted, not guessed. */
export async function describeGpuTypes(
  client: EcsClient,
  region: string,
): Promise<{ readonly types: readonly ApiInstanceType[]; readonly broken: number }> {
  const types: ApiInstanceType[] = [];
  let broken = 0;
  let token: string | undefined;
  for (let page = 0; page < MOST_PAGES; page += 1) {
    const parameters = {
      MaxResults: PAGE,
      MinimumGPUAmount: '1',
      ...(token === undefined ? {} : { NextToken: token }),
    };
    const answer = await client.call({ action: 'DescribeInstanceTypes', region, parameters }, typesAnswer);
    for (const raw of answer.InstanceTypes.InstanceType) {
      const row = typeRow.safeParse(raw);
      if (row.success) types.push(row.data);
      else broken += 1;
    }
    token = answer.NextToken === '' ? undefined : answer.NextToken;
    if (token === undefined) break;
  }
  return { types, broken };
}

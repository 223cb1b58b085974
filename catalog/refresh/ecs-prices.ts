import { z } from 'zod';
import type { EcsClient } from './ecs-client.ts';
import { readable } from './readable-rows.ts';

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

interface ListPrice {
  readonly currency: 'CNY' | 'USD';
  /** List price of the instance alone, without this account's discounts. */
  readonly amountPerHour: number;
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

interface SpotPrice {
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

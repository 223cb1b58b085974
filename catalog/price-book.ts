import type { ObservedPriceRow, PriceRow, PriceTable } from './rows.ts';

/** One price of an instance type in one region, as its source states it. */
export interface PriceQuote {
  readonly instanceType: string;
  readonly region: string;
  readonly currency: 'CNY' | 'USD';
  readonly amountPerHour: number;
  /** Market price at the time of asking; null where no source gives one. */
  readonly spotPerHour: number | null;
  readonly checkedOn: string;
  /** A single quotation instead of a row of the price file. */
  readonly observed: boolean;
  readonly source: string;
  /** Zones that could deliver it when a live source was asked; absent: not asked. */
  readonly zonesWithStock?: readonly string[];
}

/** Prices as the advice sees them: read-only, synchronous, the same shape whether a snapshot or live. */
export interface PriceBook {
  readonly origin: 'snapshot' | 'public' | 'api';
  /** True when a live source was asked for and the snapshot had to answer. */
  readonly fellBack: boolean;
  find(instanceType: string, region: string): PriceQuote | undefined;
  /** Regions with any price of the type, sorted; not those that are being shut down. */
  regionsOf(instanceType: string): readonly string[];
  /** Every region with a price, sorted. */
  regions(): readonly string[];
  /** Whether a subscription month was seen to cost `subscriptionHours` × the hourly price for this type. */
  subscriptionVerified(instanceType: string): boolean;
  readonly subscriptionHours: number;
}

export interface PriceBookOptions {
  readonly origin?: PriceBook['origin'];
  readonly fellBack?: boolean;
  /** Rows of a live source; each replaces the snapshot's row of the same type and region. */
  readonly live?: readonly PriceRow[];
  /** Region → type → zones with stock, of the regions that were asked. */
  readonly stock?: ReadonlyMap<string, ReadonlyMap<string, readonly string[]>>;
}

const fromRow = (row: PriceRow): PriceQuote => ({
  instanceType: row.instanceType,
  region: row.region,
  currency: row.currency,
  amountPerHour: row.amountPerHour,
  spotPerHour: row.spotPerHour ?? null,
  checkedOn: row.checkedOn,
  observed: false,
  source: row.source,
});

function fromObservation(row: ObservedPriceRow): readonly PriceQuote[] {
  const { checkedOn } = row;
  // An undated quotation cannot be shown with its date, so it does not count.
  if (checkedOn === null) return [];
  return row.regions.map((region) => ({
    instanceType: row.instanceType,
    region,
    currency: row.currency,
    amountPerHour: row.amountPerHour,
    spotPerHour: row.spotPerHour,
    checkedOn,
    observed: true,
    source: row.source,
  }));
}

/** A dated row beats a quotation; a live row beats both. */
export function createPriceBook(table: PriceTable, options: PriceBookOptions = {}): PriceBook {
  const byType = new Map<string, Map<string, PriceQuote>>();
  const put = (quote: PriceQuote) => {
    const known = byType.get(quote.instanceType);
    if (known === undefined) byType.set(quote.instanceType, new Map([[quote.region, quote]]));
    else known.set(quote.region, quote);
  };
  for (const row of table.observations) for (const quote of fromObservation(row)) put(quote);
  for (const row of table.rows) put(fromRow(row));
  for (const row of options.live ?? []) put(fromRow(row));
  const verified = new Set(table.head.subscription.verifiedFor);
  const closing = new Set(table.head.closing?.regions);
  const regions = [...new Set([...byType.values()].flatMap((quotes) => [...quotes.keys()]))].sort();
  const sold = new Map(
    [...byType].map(([type, quotes]) => [type, [...quotes.keys()].filter((region) => !closing.has(region)).sort()]),
  );
  return Object.freeze({
    origin: options.origin ?? 'snapshot',
    fellBack: options.fellBack ?? false,
    subscriptionHours: table.head.subscription.hoursPerMonth,
    find: (instanceType: string, region: string) => {
      const quote = byType.get(instanceType)?.get(region);
      const stock = options.stock?.get(region);
      if (quote === undefined || stock === undefined) return quote;
      return { ...quote, zonesWithStock: stock.get(instanceType) ?? [] };
    },
    regionsOf: (instanceType: string) => sold.get(instanceType) ?? [],
    regions: () => regions,
    subscriptionVerified: (instanceType: string) => verified.has(instanceType),
  });
}

import { z } from 'zod';
import { AppError } from '../../src/errors.ts';
import type { PriceRow } from '../rows.ts';
import { jsonMembers, type Member } from './json-members.ts';
import { checkedUrl, type Fetch, safeFetch, textChunks } from './safe-fetch.ts';

/** The vendor's price page names the current version of the file (seen 2026-11-30 in cloudpilot-ai/priceserver). */
export const VENDOR_PRICE_PAGE = 'https://www.aliyun.com/price/ecs/ecs-pricing/zh';
const FILE_FOLDER = /https:\/\/g\.alicdn\.com\/aliyun\/ecs-price-info(?:-intl)?\/[0-9.]+/;
const FILE_PATH = '/price/download/instancePrice.json';

const PAGE_TIMEOUT_MS = 15_000;
const FILE_TIMEOUT_MS = 180_000;
const LONGEST_PAGE_BYTES = 5 * 2 ** 20;
/** The file was about 40 MB in 2026; a few times as much is still a price file. */
const LONGEST_FILE_BYTES = 256 * 2 ** 20;
/** When more of the wanted rows than this are broken, the file is not believed at all. */
const BELIEVABLE_BROKEN_SHARE = 0.2;

const offer = z.object({
  hours: z.array(z.object({ price: z.coerce.number().positive().finite(), period: z.coerce.number() })).min(1),
});
const currencies = z.enum(['CNY', 'USD']);

export interface PublicPriceOptions {
  /** The page or the file itself (ends in `.json`). */
  readonly url?: string | undefined;
  readonly fetch: Fetch;
  /** Types worth keeping: the file holds thousands without a GPU. */
  readonly instanceTypes: ReadonlySet<string>;
  /** Day of the request, e.g. 2026-11-30. */
  readonly today: string;
}

export interface PublicPrices {
  readonly rows: readonly PriceRow[];
  /** Rows of wanted types that could not be read. */
  readonly broken: number;
}

async function fileUrl({ url, fetch }: PublicPriceOptions): Promise<URL> {
  const given = checkedUrl(url ?? VENDOR_PRICE_PAGE);
  if (given.pathname.endsWith('.json')) return given;
  const response = await safeFetch(given, { fetch, timeoutMs: PAGE_TIMEOUT_MS });
  if (!response.ok) throw new AppError('platform-unreachable', `${given.hostname} answered ${response.status}`);
  let page = '';
  for await (const chunk of textChunks(response, LONGEST_PAGE_BYTES)) page += chunk;
  const [folder] = FILE_FOLDER.exec(page) ?? [];
  if (folder === undefined) throw new AppError('platform-unreachable', 'the price page names no price file');
  return checkedUrl(`${folder}${FILE_PATH}`);
}

interface Key {
  readonly region: string;
  readonly instanceType: string;
}

/** `region::type::network::os::io`: the Linux price of the VPC network. */
function wantedKey(key: string, wanted: ReadonlySet<string>): Key | undefined {
  const [region, instanceType, network, system] = key.split('::');
  if (region === undefined || instanceType === undefined || network !== 'vpc' || system !== 'linux') return undefined;
  return wanted.has(instanceType) ? { region, instanceType } : undefined;
}

/**
 * Streams the vendor's public price file and keeps the GPU types. Needs no account. A file that breaks off, is not JSON or
 * is mostly unreadable gives an error and no rows.
 *
 * @throws AppError `platform-unreachable`, `platform-refused`, `invalid-catalog`.
 */
export async function fetchPublicPrices(options: PublicPriceOptions): Promise<PublicPrices> {
  const url = await fileUrl(options);
  const response = await safeFetch(url, { fetch: options.fetch, timeoutMs: FILE_TIMEOUT_MS });
  if (!response.ok) throw new AppError('platform-unreachable', `${url.hostname} answered ${response.status}`);
  const found = new Map<string, Omit<PriceRow, 'currency'>>();
  let currency: PriceRow['currency'] | undefined;
  let broken = 0;
  for await (const member of jsonMembers(textChunks(response, LONGEST_FILE_BYTES), 'pricingInfo')) {
    if (!member.inside && member.key === 'currency') currency = currencies.safeParse(member.value).data;
    const row = rowOf(member, options);
    if (row === 'broken') broken += 1;
    else if (row !== undefined) found.set(`${row.instanceType} ${row.region}`, row);
  }
  if (currency === undefined) throw new AppError('invalid-catalog', 'the price file names no currency');
  if (found.size === 0 || broken > BELIEVABLE_BROKEN_SHARE * (found.size + broken)) {
    throw new AppError('invalid-catalog', `the price file is unreadable: ${found.size} GPU rows, ${broken} broken`);
  }
  const known = currency;
  return { rows: [...found.values()].map((row) => ({ ...row, currency: known })), broken };
}

function rowOf(member: Member, options: PublicPriceOptions): Omit<PriceRow, 'currency'> | 'broken' | undefined {
  const key = member.inside ? wantedKey(member.key, options.instanceTypes) : undefined;
  if (key === undefined) return undefined;
  const hours = offer.safeParse(member.value).data?.hours;
  const hourly = hours?.find((one) => one.period === 1);
  if (hourly === undefined) return 'broken';
  return { ...key, amountPerHour: hourly.price, source: 'public-price-file', checkedOn: options.today };
}

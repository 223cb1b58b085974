import { isDenied } from '../candidates.ts';
import { words } from '../lexicon/lexicon.ts';
import { before, erase, type Reading, take } from '../reading.ts';
import type { Slots } from '../understanding.ts';
import type { Vocabulary } from '../vocabulary.ts';
import { dropEmpty } from './training.ts';

/** Cities as people say them → the vendor's region id (regions of catalog/prices/alibaba.json, names of the vendor's console, 2026-11-30). */
const REGIONS: readonly (readonly [words: string, region: string])[] = [
  ['杭州|hangzhou|华东 ?[1一]', 'cn-hangzhou'],
  ['上海|shanghai|华东 ?[2二]', 'cn-shanghai'],
  ['北京|beijing|华北 ?[2二]', 'cn-beijing'],
  ['深圳|shenzhen|华南 ?[1一]', 'cn-shenzhen'],
  ['青岛|qingdao|华北 ?[1一]', 'cn-qingdao'],
  ['张家口|zhangjiakou|华北 ?[3三]', 'cn-zhangjiakou'],
  ['呼和浩特|huhehaote|hohhot|华北 ?[5五]', 'cn-huhehaote'],
  ['乌兰察布|wulanchabu|ulanqab|华北 ?[6六]', 'cn-wulanchabu'],
  ['河源|heyuan|华南 ?[2二]', 'cn-heyuan'],
  ['广州|guangzhou|华南 ?[3三]', 'cn-guangzhou'],
  ['成都|chengdu|西南 ?[1一]', 'cn-chengdu'],
  ['南京|nanjing|华东 ?[5五]', 'cn-nanjing'],
  ['福州|fuzhou|华东 ?[6六]', 'cn-fuzhou'],
  ['郑州|zhengzhou', 'cn-zhengzhou-jva'],
  ['武汉|wuhan(?! ?(?:university|building|land))', 'cn-wuhan-lr'],
  ['香港|hong ?kong', 'cn-hongkong'],
  ['新加坡|singapore', 'ap-southeast-1'],
  ['马来西亚|吉隆坡|malaysia|kuala lumpur', 'ap-southeast-3'],
  ['印尼|印度尼西亚|雅加达|indonesia|jakarta', 'ap-southeast-5'],
  ['菲律宾|马尼拉|philippines|manila', 'ap-southeast-6'],
  ['泰国|曼谷|thailand|bangkok', 'ap-southeast-7'],
  ['日本|东京|japan|tokyo', 'ap-northeast-1'],
  ['韩国|首尔|korea|seoul', 'ap-northeast-2'],
  ['硅谷|美西|silicon valley|us[- ]west(?!-\\d)', 'us-west-1'],
  ['弗吉尼亚|美东|virginia|us[- ]east(?!-\\d)', 'us-east-1'],
  ['德国|法兰克福|germany|frankfurt', 'eu-central-1'],
  ['英国|伦敦|england|london', 'eu-west-1'],
  ['迪拜|阿联酋|dubai|uae', 'me-east-1'],
  ['沙特|利雅得|riyadh|saudi', 'me-central-1'],
  ['孟买|mumbai', 'ap-south-1'],
  ['悉尼|sydney', 'ap-southeast-2'],
];

const VENDOR_REGIONS: ReadonlySet<string> = new Set(REGIONS.map(([, region]) => region));

/** Whether the vendor has such a region, whatever is sold there. */
export function isVendorRegion(region: string): boolean {
  return VENDOR_REGIONS.has(region);
}

const REGION_ID = /(?<![a-z\d-])((?:cn|us|eu|ap|me|na)-[a-z]{3,12}(?:-(?:\d|lr|finance-1|gov-1))?)(?![a-z\d])/g;
const CITY = new RegExp(`(?<![a-z])(?:${REGIONS.map(([names]) => `(${names})`).join('|')})(?![a-z])`, 'g');

function readRegion(reading: Reading): string | null {
  const ids = take(reading, REGION_ID, ({ all }) => /^cn-|-\d$/.test(all));
  const id = ids.findLast((found) => !isDenied(reading, found))?.groups[0];
  if (id !== undefined) return id;
  const found = take(reading, CITY).findLast((city) => !isDenied(reading, city));
  const index = found?.groups.findIndex((group) => group !== '') ?? -1;
  return REGIONS[index]?.[1] ?? null;
}

const CHARGE: readonly { readonly pattern: RegExp; readonly charge: NonNullable<Slots['chargeType']> }[] = [
  { pattern: new RegExp(words('spot'), 'g'), charge: 'Spot' },
  { pattern: new RegExp(words('prePaid'), 'g'), charge: 'PrePaid' },
  { pattern: new RegExp(words('postPaid'), 'g'), charge: 'PostPaid' },
];

const REFUSED =
  /(?:不要|别用?|不用|不想用?|不考虑|不买|不租|no|not|without|avoid|never|don'?t (?:want|use|like)) ?(?:any |a |an |the )?$/;

/** A way of paying that is refused leaves the usual one. */
function readCharge(reading: Reading): Slots['chargeType'] | null {
  const found = CHARGE.flatMap(({ pattern, charge }) =>
    take(reading, pattern).map(({ start }) => {
      const refused = REFUSED.test(before(reading.text, start, 16));
      return { start, charge: refused ? ('PostPaid' as const) : charge };
    }),
  );
  return found.sort((a, b) => a.start - b.start).at(-1)?.charge ?? null;
}

/** Where and how the machine is rented. */
export function readPlace(reading: Reading): Pick<Slots, 'region' | 'chargeType'> {
  return dropEmpty({ region: readRegion(reading), chargeType: readCharge(reading) });
}

/** The data set, and its number of classes where the name leaves no doubt. */
export function readDataset(reading: Reading, vocabulary: Vocabulary): Pick<Slots, 'dataset' | 'numClasses'> {
  const latin = vocabulary.datasets.find(reading.rest).at(-1);
  const chinese = take(reading, vocabulary.chineseDatasets.pattern).at(-1);
  const dataset = latin?.value ?? vocabulary.chineseDatasets.byName.get(chinese?.all ?? '');
  erase(reading, latin === undefined ? [] : [latin]);
  return dropEmpty({ dataset: dataset?.id ?? null, numClasses: dataset?.numClasses ?? null });
}

import { type Candidate, choose } from '../candidates.ts';
import { words } from '../lexicon/lexicon.ts';
import { after, before, clauseOf, erase, type Found, find, type Reading, take } from '../reading.ts';
import type { Slots } from '../understanding.ts';

interface Size {
  readonly height: number;
  readonly width: number;
}

type Sizes = Pick<Slots, 'imageHeight' | 'imageWidth' | 'inputChannels' | 'batchSize'>;

const MIN_SIDE = 16;
/** Smaller sides in a list of numbers are strides, dilations or channels. */
const MIN_SHAPE_SIDE = 32;
const MAX_SIDE = 100_000;
const SIDE = '(\\d{1,6})(?: ?(?:px|pixels?|像素))?';
/** 1k, 2k, 4k as sides: multiples of 1024. */
const K_SIDE = '([1248])k';

const CROP = new RegExp(words('crop'));
const SIZED = new RegExp(`${words('crop')}|resolution`);
const WHOLE = new RegExp(words('wholeImage'));
const VALIDATION = new RegExp(words('validation'));
const TRAINING = /训练?|train/;
/** Screen and camera sizes, which everybody writes width first. */
const WIDTH_FIRST = new Set([
  '1920x1080',
  '1280x720',
  '2560x1440',
  '3840x2160',
  '4096x2160',
  '640x480',
  '800x600',
  '1024x768',
  '1600x1200',
  '1280x1024',
  '4000x3000',
  '6000x4000',
]);

function inRange(side: number): boolean {
  return side >= MIN_SIDE && side <= MAX_SIDE;
}

/** Crop words make it surer, the original picture is not what is trained on. */
function rankOf(reading: Reading, found: { start: number; end: number }): number {
  const lead = before(reading.text, found.start, 20).replace(/^.*[,;\n]/s, '');
  const clause = clauseOf(reading.text, found);
  const whole = WHOLE.test(lead) || (WHOLE.test(clause) && !CROP.test(lead)) ? -4 : 0;
  const validates = VALIDATION.test(clause) && !TRAINING.test(clause) ? -4 : 0;
  const cropped = CROP.test(lead + reading.text.slice(found.start, found.end));
  return 5 + whole + validates + (cropped ? 1 : 0);
}

/** Words or a zero show that a size is meant, however impossible: it is kept, so that the answer can say what is possible. */
function isSized(reading: Reading, found: Found, { height, width }: Size): boolean {
  if (inRange(height) && inRange(width)) return true;
  return height === 0 || width === 0 || SIZED.test(before(reading.text, found.end, 24));
}

function candidate(reading: Reading, found: Found, size: Size): readonly Candidate<Size>[] {
  if (!isSized(reading, found, size)) return [];
  return [{ value: size, start: found.start, end: found.end, rank: rankOf(reading, found) }];
}

const H = '(?:h(?:eight)?|img_?h(?:eight)?|image_?height|高度?|长)';
const W = '(?:w(?:idth)?|img_?w(?:idth)?|image_?width|宽度?)';
const LINK = ' ?(?:[:=是为]|of)? ?';
const LABELLED: readonly { readonly pattern: RegExp; readonly heightFirst: boolean }[] = [
  {
    pattern: new RegExp(`(?<![a-z])${H}${LINK}${SIDE} ?[,x&和]? ?(?:and )?(?<![a-z])${W}${LINK}${SIDE}`, 'g'),
    heightFirst: true,
  },
  {
    pattern: new RegExp(`(?<![a-z])${W}${LINK}${SIDE} ?[,x&和]? ?(?:and )?(?<![a-z])${H}${LINK}${SIDE}`, 'g'),
    heightFirst: false,
  },
  {
    pattern: /(\d{2,6}) ?(?:px )?(?:high|tall|h\b|\(h\)) ?[,x&]? ?(?:by |and )?(\d{2,6}) ?(?:px )?(?:wide|w\b|\(w\))/g,
    heightFirst: true,
  },
  {
    pattern: /(\d{2,6}) ?(?:px|像素)? ?的?高度? ?[,x和]? ?(\d{2,6}) ?(?:px|像素)? ?的?宽/g,
    heightFirst: true,
  },
  {
    pattern: /(\d{2,6}) ?(?:px|像素)? ?的?宽度? ?[,x和]? ?(\d{2,6}) ?(?:px|像素)? ?的?高/g,
    heightFirst: false,
  },
  {
    pattern: /(\d{2,6}) ?(?:px )?(?:wide|w\b|\(w\)) ?[,x&]? ?(?:by |and )?(\d{2,6}) ?(?:px )?(?:high|tall|h\b|\(h\))/g,
    heightFirst: false,
  },
];

function readLabelled(reading: Reading): readonly Candidate<Size>[] {
  return LABELLED.flatMap(({ pattern, heightFirst }) =>
    take(reading, pattern).flatMap((found) => {
      const [first, second] = found.groups.map(Number);
      if (first === undefined || second === undefined) return [];
      const size = heightFirst ? { height: first, width: second } : { height: second, width: first };
      return candidate(reading, found, size).map((one) => ({ ...one, rank: one.rank + 1 }));
    }),
  );
}

interface Shape {
  readonly size: Size;
  readonly channels?: number;
  readonly batch?: number;
}

const MAX_CHANNELS = 16;

/** Channels stand first (torch) or last (TensorFlow, OpenCV); a third large number is a depth, not an image. */
function shapeOfThree([a, b, c]: readonly [number, number, number]): Shape | null {
  if (a <= 4 && inRange(b)) return { size: { height: b, width: c }, channels: a };
  if (c <= 4 && inRange(a)) return { size: { height: a, width: b }, channels: c };
  return a <= 64 && b >= 64 && c >= 64 ? { size: { height: b, width: c }, batch: a } : null;
}

function shapeOfFour([n, a, b, c]: readonly [number, number, number, number]): Shape | null {
  const channelsLast = c <= MAX_CHANNELS && a > MAX_CHANNELS;
  if (channelsLast) return { size: { height: a, width: b }, channels: c, batch: n };
  return a <= MAX_CHANNELS ? { size: { height: b, width: c }, channels: a, batch: n } : null;
}

const SHAPE =
  /[([]? ?(?<![\d.x])(\d{1,4}) ?[x,] ?(\d{1,5}) ?[x,] ?(\d{2,5}|[1-4])(?: ?[x,] ?(\d{1,5}))?(?![\dx.]) ?[)\]]?/g;

function readShapes(reading: Reading): { readonly sizes: readonly Candidate<Size>[]; readonly extra: Sizes } {
  let extra: Sizes = {};
  const found = find(reading, SHAPE).flatMap((match): readonly Candidate<Size>[] => {
    const numbers = match.groups.filter((group) => group !== '').map(Number);
    const separated = /x.*x/.test(match.all) || /^[([]/.test(match.all);
    const [a = 0, b = 0, c = 0, d] = numbers;
    const shape = !separated ? null : d === undefined ? shapeOfThree([a, b, c]) : shapeOfFour([a, b, c, d]);
    if (shape === null || Math.min(shape.size.height, shape.size.width) < MIN_SHAPE_SIDE) return [];
    const sizes = candidate(reading, match, shape.size);
    if (sizes.length === 0) return [];
    extra = {
      ...extra,
      ...(shape.channels === undefined || shape.channels === 3 ? {} : { inputChannels: shape.channels }),
      ...(shape.batch === undefined ? {} : { batchSize: shape.batch }),
    };
    return sizes;
  });
  erase(reading, found);
  return { sizes: found, extra };
}

const ORDER_AFTER =
  /^ ?(?:px|像素)? ?[([]? ?(h|height|高|w|width|宽) ?(?:x|\*|,|\/|by)? ?(w|width|宽|h|height|高) ?[)\]]?(?![a-z])/;
const ORDER_BEFORE = /(?:w|宽|width) ?x? ?(?:h|高|height) ?[:=是)]? ?$/;
const PAIR = new RegExp(`(?<![\\d.x-])(?:${K_SIDE}|${SIDE}) ?x ?(?:${K_SIDE}|${SIDE})(?! ?x ?\\d|\\d)`, 'g');
/** crop_size=(512, 1024), 改成932,932: a comma between sides, where words say that sides are meant. */
const COMMA_PAIR = /[([]? ?(?<![\d.,])(\d{2,5}) ?[,/] ?(\d{2,5})(?![\d.]) ?[)\]]?/g;
const COMMA_CUE = new RegExp(`(?:${words('crop')}|改成|换成|resolution|shape|图|scale|\\()[^,;\\d]{0,10}[=:(\\[]? ?$`);

function sideOf(pixels: string | undefined, kilo: string | undefined): number {
  return pixels !== undefined && pixels !== '' ? Number(pixels) : Number(kilo ?? 0) * 1024;
}

function ordered(reading: Reading, found: Found, [first, second]: readonly [number, number]): Size {
  const order = ORDER_AFTER.exec(after(reading.text, found.end, 20));
  const widthFirst =
    (order !== null && /^[w宽]/.test(order[1] ?? '') && /^[h高]/.test(order[2] ?? '')) ||
    ORDER_BEFORE.test(before(reading.text, found.start, 20)) ||
    WIDTH_FIRST.has(`${first}x${second}`);
  return widthFirst ? { height: second, width: first } : { height: first, width: second };
}

function readPairs(reading: Reading, widthFirst: boolean): readonly Candidate<Size>[] {
  const times = find(reading, PAIR).flatMap((found) => {
    const [ka, a, kb, b] = found.groups;
    return candidate(reading, found, ordered(reading, found, [sideOf(a, ka), sideOf(b, kb)]));
  });
  erase(reading, times);
  const commas = find(reading, COMMA_PAIR).flatMap((found) => {
    const bracketed = /^[([]/.test(found.all) && /[)\]]$/.test(found.all);
    const cued = COMMA_CUE.test(before(reading.text, found.start, 24));
    const [first = 0, second = 0] = found.groups.map(Number);
    const sides = first >= 64 && second >= 64;
    if (!sides || !(bracketed || cued)) return [];
    const size = ordered(reading, found, widthFirst ? [second, first] : [first, second]);
    return candidate(reading, found, size);
  });
  erase(reading, commas);
  return [...times, ...commas];
}

const CROP_WORDS =
  '(?:crop(?:s|ped)?(?:[_ -]?size)?|img[_ -]?(?:size|sz)|imgsz|imgsize|image[_ -]?size|input[_ -]?(?:size|shape)?|resolution|res|size|patch(?:es)?(?:[_ -]?size)?|tiles?(?:[_ -]?size)?|(?:tiled|cut|chopped|split|sliced)(?: (?:in|up))?(?= ?to)|--img|resiz(?:e|ed)(?: to)?|裁剪?(?:成|到|为)?|切(?:成|片)?|尺寸|分辨率|输入(?:尺寸|大小|图)?|图片?(?:像)?(?:大小|尺寸|分辨率)?|大小|边长|训练用?|train(?:ing|ed)?(?: at| on| with)?)';
const LINKS =
  ' ?(?:都|也|改|设|换|要|用|想)? ?(?:is|are|was|of|at|to|=|:|是|为|成|到|用|改成|换成|改为|改到|设成|设为|降到|放大到|缩到|缩小到|提到|加到|调到|从)? ?';
const SINGLES: readonly {
  readonly pattern: RegExp;
  readonly kilo?: true;
  readonly tiny?: true;
  readonly rank: number;
}[] = [
  {
    pattern: new RegExp(
      `${CROP_WORDS}${LINKS}(\\d{2,5})(?![\\d.]| ?(?:张|g\\b|gb|块|元|k|卡|类|%|个|步|images?|imgs?|gpus?|per|x ?\\d))`,
      'g',
    ),
    rank: 5,
  },
  { pattern: new RegExp(`${CROP_WORDS}${LINKS}([1248])k(?![a-z\\d])`, 'g'), kilo: true, rank: 5 },
  {
    pattern:
      /(?:crop(?:[_ ]?size)?|image[_ ]?size|(?<![a-z][_ -]?)size(?=(?: |[:=]|is|of){1,4}0)|imgsz|input[_ ]?size|resolution|尺寸|分辨率|图片?大小)(?: |[:=是为到]|is|of){0,4}(\d)(?![\d.kx]| ?(?:x|张|k|类|个))/g,
    tiny: true,
    rank: 5,
  },
  { pattern: /(?<![\d.])(\d{2,5}) ?(?:px|pixels?|像素|\^2)(?: ?(?:square|见方))?/g, rank: 5 },
  {
    pattern: /(?<![\d.])(\d{2,5}) ?(?:的|大小的?|尺寸的?|分辨率的?) ?(?:图|输入|crop|裁|patch|切片|分辨率|尺寸)/g,
    rank: 5,
  },
  {
    pattern: /(?<![\d.])(\d{3,5}) ?(?:crops?|inputs?|patch(?:es)?|tiles?|resolution|square|见方|squared)(?![a-z])/g,
    rank: 5,
  },
  {
    pattern: /(?<![\d.])([1248])k ?(?:的)? ?(?:图|输入|crops?|images?|分辨率|尺寸|resolution|遥感|切片|tiles?)/g,
    kilo: true,
    rank: 5,
  },
  { pattern: /(?<![a-z\d])x(\d{3,4})(?![\dx])/g, rank: 3 },
];

function readSingles(reading: Reading): readonly Candidate<Size>[] {
  return SINGLES.flatMap(({ pattern, kilo, tiny, rank }) =>
    take(reading, pattern, ({ groups }) => kilo === true || tiny === true || Number(groups[0]) >= 32).flatMap(
      (found) => {
        const side = Number(found.groups[0]) * (kilo === true ? 1024 : 1);
        return candidate(reading, found, { height: side, width: side }).map((one) => ({
          ...one,
          rank: one.rank + rank - 5,
        }));
      },
    ),
  );
}

const NAMED_SIZES: readonly { readonly pattern: RegExp; readonly size: Size }[] = [
  { pattern: /(?<!\d)(?:1080p|full ?hd|fhd)(?![a-z\d])/g, size: { height: 1080, width: 1920 } },
  { pattern: /(?<!\d)720p(?![a-z\d])/g, size: { height: 720, width: 1280 } },
  { pattern: /(?<!\d)1440p(?![a-z\d])/g, size: { height: 1440, width: 2560 } },
  { pattern: /(?<!\d)(?:2160p|4k ?uhd|uhd)(?![a-z\d])/g, size: { height: 2160, width: 3840 } },
];

function readNamed(reading: Reading): readonly Candidate<Size>[] {
  return NAMED_SIZES.flatMap(({ pattern, size }) =>
    take(reading, pattern).flatMap((found) => candidate(reading, found, size)),
  );
}

const ONE_SIDE: readonly { readonly pattern: RegExp; readonly slot: 'imageHeight' | 'imageWidth' }[] = [
  { pattern: new RegExp(`(?<![a-z])${H}${LINK}(\\d{2,5})(?!\\d)`, 'g'), slot: 'imageHeight' },
  { pattern: new RegExp(`(?<![a-z])${W}${LINK}(\\d{2,5})(?!\\d)`, 'g'), slot: 'imageWidth' },
];

function readOneSide(reading: Reading): Sizes {
  const sides = ONE_SIDE.map(({ pattern, slot }): Sizes => {
    const side = Number(take(reading, pattern).at(-1)?.groups[0]);
    return inRange(side) ? { [slot]: side } : {};
  });
  return Object.assign({}, ...sides);
}

/** "图从 512 改到 640": what is left behind. */
const LEFT_BEHIND = /(?:从|由|from) ?\d{2,5}(?: ?x ?\d{2,5})?(?=[^\d,;]{0,6}(?:到|成|为|至|to) ?\d)/g;

/** The size of the training input. Crops win over the original picture, the wanted size over the one that works. */
export function readSize(reading: Reading, widthFirst: boolean): Sizes {
  erase(reading, find(reading, LEFT_BEHIND));
  const labelled = readLabelled(reading);
  const shapes = readShapes(reading);
  const candidates = [
    ...labelled,
    ...shapes.sizes,
    ...readPairs(reading, widthFirst),
    ...readNamed(reading),
    ...readSingles(reading),
  ];
  const best = choose(reading, candidates);
  if (best === null) return { ...readOneSide(reading), ...shapes.extra };
  return { imageHeight: best.value.height, imageWidth: best.value.width, ...shapes.extra };
}

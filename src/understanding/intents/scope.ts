import { type Cue, says, words } from '../lexicon/lexicon.ts';

const TOPICS: readonly { readonly topic: string; readonly cue: Cue }[] = [
  { topic: 'inference', cue: 'inference' },
  { topic: 'llm', cue: 'llm' },
  { topic: '3d', cue: 'volume' },
  { topic: 'detection', cue: 'detection' },
  { topic: 'other-cloud', cue: 'otherCloud' },
  { topic: 'buying', cue: 'buying' },
  { topic: 'other-currency', cue: 'otherCurrency' },
];

const CUBE = /(?<![\d.])(\d{2,4})\s?x\s?(\d{2,4})\s?x\s?(\d{2,4})(?!\s?x|\d)/;
/** "推理阶段" of a training question, or "不只推理". */
const TRAINS = /(?<!不是|不|not )(?:训练?|train(?:ing)?|fine-?tun(?:e|ing)|微调)(?! ?weights|好的|完的)/;
const SEGMENTS = /分割|seg(?:ment|former|nex|net)?|-seg\b|mask ?r-?cnn|mask2former|u-?net/;

/** A sum in a currency that is not converted, in words or by its sign. */
const FOREIGN_SUM = new RegExp(`[€£₩₹] ?\\d|\\d ?[kw]? ?(?:${words('otherCurrency')})`);

/** Scans that are cut into pictures: "2d on ct scans", "ct 序列切片". */
const SLICES = /(?<![a-z\d])2-?d(?![a-z\d])|\bslices?\b|二维|2 ?维|切片/;
const VOLUMES = /3-?d|3 ?维|三维|volumetric/;

/** Three large sides are a volume: 96x96x96. */
function hasVolume(text: string): boolean {
  const sides = CUBE.exec(text)?.slice(1).map(Number) ?? [];
  const [first = 0, second = 0, third = 0] = sides;
  const batchOfImages = first <= 64 && second >= 256 && third >= 256;
  return sides.length === 3 && sides.every((side) => side > 16) && !batchOfImages;
}

/** Topics of the message that the product has no answer for. */
export function topicsOutOfScope(text: string, namesNetwork = false): readonly string[] {
  return TOPICS.filter(({ topic, cue }) => {
    if (topic === '3d' && hasVolume(text)) return true;
    if (topic === '3d' && SLICES.test(text) && !VOLUMES.test(text)) return false;
    if (topic === 'other-currency') return FOREIGN_SUM.test(text);
    if (!says(cue, text)) return false;
    if (topic === 'inference')
      return !TRAINS.test(text) || /not training|不训练|只推理|just inference|inference only/.test(text);
    if (topic === 'detection') return !(SEGMENTS.test(text) || namesNetwork) || /not seg|不是分割/.test(text);
    return true;
  }).map(({ topic }) => topic);
}

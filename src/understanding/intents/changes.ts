import { words } from '../lexicon/lexicon.ts';
import type { SlotChange } from '../understanding.ts';

const TWICE = words('multiplyTwo');
const HALF = words('multiplyHalf');
const BATCH = '(?:batch(?:[ _-]?size)?|bs|批(?:大小|量|次)?|每(?:张|块)?卡(?:的)?(?:张数)?)';
const IMAGE =
  '(?:图(?:片|像)?(?:大小|尺寸)?|尺寸|分辨率|输入|crop|resolution|image(?:s)?(?: ?size)?|size|scale|边长|长宽|input)';
const GPUS = '(?:卡数|(?<!每[张块]?|单)显?卡(?:的)?(?:数量?)?|(?<!per )(?:gpus?|cards?))';

interface Rule {
  readonly slot: 'batchSize' | 'imageSize' | 'gpus';
  readonly multiply: number;
  readonly pattern: RegExp;
}

function relative(slot: Rule['slot'], noun: string): readonly Rule[] {
  return [
    {
      slot,
      multiply: 2,
      pattern: new RegExp(
        `${noun}[^\\d,;.]{0,8}${TWICE}|${TWICE}\\s?(?:of )?(?:the |my |that )?(?:number of )?${noun}`,
      ),
    },
    {
      slot,
      multiply: 0.5,
      pattern: new RegExp(`${noun}[^\\d,;.]{0,8}${HALF}|${HALF}\\s?(?:of )?(?:the |my |that )?(?:number of )?${noun}`),
    },
  ];
}

const RULES: readonly Rule[] = [
  ...relative('batchSize', BATCH),
  ...relative('imageSize', IMAGE),
  ...relative('gpus', GPUS),
];
const NEEDS_MULTIPLE = new RegExp(`${TWICE}|${HALF}`);
const FACTORS: readonly { readonly slot: Rule['slot']; readonly pattern: RegExp }[] = [
  {
    slot: 'imageSize',
    pattern: new RegExp(
      `${IMAGE}\\s?(?:x|放大(?!\\s?1\\s?倍)|缩放|scaled? by|放大到|缩小到)\\s?(\\d(?:\\.\\d{1,2})?)\\s?(?:倍|x)`,
    ),
  },
  {
    slot: 'batchSize',
    pattern: new RegExp(`${BATCH}\\s?(?:x|[放扩]大(?!\\s?1\\s?倍)|乘以?|times)\\s?(\\d(?:\\.\\d)?)\\s?(?:倍|x)`),
  },
];
const THREE_QUARTERS = /0\.75x?\s?(?:scale|scaling)|scale\s?(?:of |= ?)?0\.75/;

/** "宽高反了", "width and height are swapped" */
const SWAPPED =
  /(?:宽高|高宽|长宽|宽和高|高和宽)[^,.;\d\n]{0,4}(?:反了|弄反|写反|搞反|颠倒|对调|互换|调换)|(?:width and height|height and width|h and w|w and h|the sides)[^,.;\d\n]{0,12}(?:swapped|reversed|wrong way|other way)|(?:swap|switch|flip) (?:the )?(?:width and height|height and width|h and w|sides)/;

/** Relative changes: batch 翻倍, half the resolution, 卡数加倍. */
export function relativeChanges(text: string): readonly SlotChange[] {
  const told = NEEDS_MULTIPLE.test(text) ? RULES.filter(({ pattern }) => pattern.test(text)) : [];
  const changes = told.map(({ slot, multiply }): SlotChange => ({ slot, multiply }));
  const factors = FACTORS.flatMap(({ slot, pattern }): readonly SlotChange[] => {
    const factor = Number(pattern.exec(text)?.[1]);
    return factor > 0 ? [{ slot, multiply: factor }] : [];
  });
  const scale: readonly SlotChange[] = THREE_QUARTERS.test(text) ? [{ slot: 'imageSize', multiply: 0.75 }] : [];
  const swapped: readonly SlotChange[] = SWAPPED.test(text) ? [{ slot: 'imageSize', swap: true }] : [];
  const taken = new Set<string>();
  return [...swapped, ...factors, ...scale, ...changes].filter(({ slot }) => {
    if (taken.has(slot)) return false;
    taken.add(slot);
    return true;
  });
}

import { editsWithin, type Letters, lettersOf } from './letters.ts';

/** Words that decide what a number means; slips in their letters are put right before the rules read them. */
const KEYWORDS = [
  'batch',
  'budget',
  'classes',
  'images',
  'epochs',
  'memory',
  'monthly',
  'dollars',
  'instance',
  'cheapest',
  'training',
  'precision',
  'resolution',
  'optimizer',
  'gradient',
  'checkpointing',
  'accumulation',
  'subscription',
  'hour',
  'yuan',
  'month',
];

/** Proper words that lie one letter from a keyword. */
const PROPER = new Set([
  ...KEYWORDS,
  'bath',
  'botch',
  'beach',
  'image',
  'epoch',
  'class',
  'instances',
  'instant',
  'distance',
  'revolution',
  'optimize',
  'optimizers',
  'gradients',
  'checkpoint',
  'batches',
  'budgets',
  'dollar',
  'month',
  'glasses',
  'passes',
  'cheaper',
  'raining',
  'resolutions',
  'optimiser',
  'memories',
  'decision',
  'hours',
  'four',
  'hoar',
  'houri',
  'months',
  'mouth',
  'moth',
  'monte',
  'monty',
  'your',
  'young',
]);

const LONG = 9;
/** Runs of letters only: a digit is never touched. */
const WORD = /[a-z]{4,15}/gi;

const BY_INITIAL: ReadonlyMap<string, readonly Letters[]> = new Map(
  KEYWORDS.map((word) => [word[0] ?? '', KEYWORDS.filter((other) => other[0] === word[0]).map(lettersOf)]),
);

function nearest(typed: string): string | null {
  if (PROPER.has(typed)) return null;
  let own: Letters | null = null;
  for (const keyword of BY_INITIAL.get(typed[0] ?? '') ?? []) {
    const { word } = keyword;
    const limit = word.length >= LONG ? 2 : 1;
    if (Math.abs(word.length - typed.length) > limit) continue;
    own ??= lettersOf(typed);
    if (editsWithin(limit, own, keyword) !== null) return word;
  }
  return null;
}

/** What stands behind a word decides it where the letters alone would not: "rsenet50" is no SENet, "msk2former" no word. */
const DECIDED: readonly { readonly meant: Letters; readonly pattern: RegExp }[] = [
  {
    meant: lettersOf('resnet'),
    pattern: /\b(?!resnext|resnest|regnet|resent\b(?![-_]))r[a-z]{3,6}(?=[-_]?(?:18|34|50|101|152)(?!\d))/gi,
  },
  { meant: lettersOf('swin'), pattern: /\bs[a-z]{2,4}(?=[-_ ](?:tiny|small|base|large|[tsbl])\b)/gi },
  { meant: lettersOf('mask'), pattern: /\bm[a-z]{2,4}(?=2former)/gi },
];

/** 快 is typed for 块 behind a sum: the same sound, the first candidate of the input method. */
const MONEY = /(?<=[\d一二两三四五六七八九十百千万] ?)快(?= ?(?:钱|[/每一1]|以内|左右|封顶))/g;

/** 1660s is no plural. */
const SUPER = /\b(16[56]0) ?s\b/gi;

function decide(text: string): string {
  return DECIDED.reduce(
    (all, { meant, pattern }) =>
      all.replace(pattern, (typed) => {
        const lower = typed.toLowerCase();
        return lower !== meant.word && editsWithin(1, lettersOf(lower), meant) !== null ? meant.word : typed;
      }),
    text,
  );
}

/** Puts slips in keywords right: bacth → batch, resoluton → resolution. Digits and signs stay as they are. */
export function correctKeywords(text: string): string {
  return decide(text)
    .replace(MONEY, '块')
    .replace(SUPER, '$1 super')
    .replace(WORD, (typed) => nearest(typed.toLowerCase()) ?? typed);
}

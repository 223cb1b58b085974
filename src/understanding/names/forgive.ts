import { JaroWinklerDistance } from 'natural/lib/natural/distance/index.js';
import { editsWithin, type Letters, lettersOf } from '../letters.ts';
import { matchesOf } from '../matches.ts';
import type { NameHit } from './name-trie.ts';
import type { NormalText } from './normal-text.ts';
import type { NameVocabulary } from './vocabulary.ts';

export interface Correction {
  /** In the corrected text. */
  readonly start: number;
  readonly end: number;
}

export interface Forgiven {
  readonly text: NormalText;
  readonly corrections: readonly Correction[];
}

/** A word that is as near to one name as to another; indices of the normalised text. */
export interface UnsureWord extends Correction {
  readonly candidates: readonly string[];
}

export interface Forgiveness {
  readonly forgiven: Forgiven | null;
  readonly unsure: readonly UnsureWord[];
}

/** Runs of letters only: a digit or sign is never touched, so b5 cannot become b0. */
const WORD = /[a-z]{4,24}/g;
const SHORT = 6;
/** A runner-up this near makes the correction a guess. */
const MARGIN = 0.05;
/** The same letters in another order are a likelier slip than another letter: "resent" is resnet, not resenc. */
const SWAPPED = 0.1;
const MOST_WORDS = 200;
/** Ordinary words of such messages that lie within two letters of a network's name. */
const ORDINARY = new Set(
  (
    'segment segments segmented segmenting segmentation segmentations mention mentions reset resets recent resent present decent ' +
    'convert converts converted context contexts content contents connect connects convex convent format formats former formers ' +
    'transform transforms transformed transformer transformers perform performs performed performer reform planet planets magnet ' +
    'magnets internet network networks netted dataset datasets subset subsets target targets market unit units until united unity ' +
    'union unite under upper lower super mobile mobil model models master vision version versions visions train trains trained ' +
    'training swing swings swim since sing spin skin swine sewing small smaller smart large larger largest base based basic basis ' +
    'plus pulse plugs mask masks masked mass task tasks ask pyramid fully fast faster last past vast point points print prints ' +
    'original originals tiny tidy linked linker link links length depth depths dense dance danger dangers manner manager planner ' +
    'scanner scanning inner dinner winner patch path batch match catch width with wild window windows winds output outputs input ' +
    'stride strides strike naive native active head heads need needs seed read second seconds seconded ' +
    'overhead village database databases planned hornet hornets signet cornet semester eminent swinging destiny vital caption captions ' +
    'resnets exception exceptions except accept request requests requested twine swain dragnet magneto debts diets befit vitamin hairnet'
  ).split(' '),
);

/** Endings of families: "efficientvit" is no slip of efficientnet. */
const ENDING = /(?:net|vit|former|mamba|mlp|seg)$/;
/** Letters at the start are seldom mistyped; where they are, the rest must be longer and right. */
const LONG = 7;

interface Dictionary {
  readonly words: ReadonlySet<string>;
  readonly byLength: ReadonlyMap<number, readonly Letters[]>;
}

const dictionaries = new WeakMap<NameVocabulary, Dictionary>();

/** The text with misspelt letters of names put right (null where nothing was), and what could not be decided. */
export function forgiveTyping(normal: NormalText, hits: readonly NameHit[], vocabulary: NameVocabulary): Forgiveness {
  const dictionary = dictionaryOf(vocabulary);
  const found: { start: number; end: number; word: string }[] = [];
  const unsure: UnsureWord[] = [];
  const seen = new Map<string, readonly string[]>();
  let next = 0;
  for (const match of matchesOf(WORD, normal.text)) {
    const [typed] = match;
    const start = match.index;
    const end = start + typed.length;
    while ((hits[next]?.end ?? Number.POSITIVE_INFINITY) <= start) next += 1;
    if ((hits[next]?.start ?? Number.POSITIVE_INFINITY) < end || dictionary.words.has(typed)) continue;
    if (ORDINARY.has(typed) && !/[0-9]/.test(normal.text[end] ?? '')) continue;
    if (!seen.has(typed)) {
      if (seen.size >= MOST_WORDS) break;
      seen.set(typed, nearestWords(typed, dictionary));
    }
    const [word, ...others] = seen.get(typed) ?? [];
    if (word === undefined) continue;
    if (others.length === 0) found.push({ start, end, word });
    else unsure.push({ start, end, candidates: [word, ...others] });
  }
  return { forgiven: found.length === 0 ? null : replaced(normal, found), unsure };
}

function dictionaryOf(vocabulary: NameVocabulary): Dictionary {
  const known = dictionaries.get(vocabulary);
  if (known !== undefined) return known;
  const words = new Set(vocabulary.words.flatMap(spelledRuns));
  const byLength = new Map<number, Letters[]>();
  for (const word of words) {
    const bucket = byLength.get(word.length) ?? [];
    bucket.push(lettersOf(word));
    byLength.set(word.length, bucket);
  }
  const dictionary = { words, byLength };
  dictionaries.set(vocabulary, dictionary);
  return dictionary;
}

/** Words of a name apart, and those typed as one ("upernet"); not "swins", which is any plural in -s away. */
function spelledRuns(name: string): readonly string[] {
  const glued = / [a-z]{1,2}(?: |$)/.test(name) ? '' : name.replaceAll(' ', '');
  return [name, glued].flatMap((way) => way.match(WORD) ?? []);
}

/** One word where it is clear, several where the runner-up is within the margin, none where nothing is near. */
function nearestWords(typed: string, dictionary: Dictionary): readonly string[] {
  const limit = typed.length <= SHORT ? 1 : 2;
  const own = lettersOf(typed);
  const ending = ENDING.exec(typed)?.[0];
  const near: { word: string; distance: number; likeness: number }[] = [];
  for (let length = typed.length - limit; length <= typed.length + limit; length += 1) {
    for (const letters of dictionary.byLength.get(length) ?? []) {
      const distance = editsWithin(limit, own, letters);
      const { word } = letters;
      if (ending !== undefined && !word.endsWith(ending) && ENDING.test(word)) continue;
      // four letters are forgiven only a swap: too many words lie one letter apart
      if (distance === null || (typed.length === 4 && own.bag !== letters.bag)) continue;
      const swap = own.bag === letters.bag ? SWAPPED : 0;
      near.push({ word, distance, likeness: JaroWinklerDistance(typed, word) - distance + swap });
    }
  }
  near.sort((one, other) => other.likeness - one.likeness);
  const [best] = near;
  if (best === undefined || !startsAlike(typed, best)) return [];
  return near.filter(({ likeness }) => best.likeness - likeness < MARGIN).map(({ word }) => word);
}

function startsAlike(typed: string, { word, distance }: { word: string; distance: number }): boolean {
  if (typed[0] === word[0]) return true;
  return distance === 1 && (typed.length >= LONG || (typed[0] === word[1] && typed[1] === word[0]));
}

function replaced(normal: NormalText, found: readonly { start: number; end: number; word: string }[]): Forgiven {
  const corrections: Correction[] = [];
  const origins: number[] = [];
  let text = '';
  let from = 0;
  const origin = (index: number): number => (normal.origins === null ? index : (normal.origins[index] ?? 0));
  const copy = (to: number): void => {
    for (let index = from; index < to; index += 1) origins.push(origin(index));
    text += normal.text.slice(from, to);
  };
  for (const { start, end, word } of found) {
    copy(start);
    corrections.push({ start: text.length, end: text.length + word.length });
    for (let index = 0; index < word.length; index += 1) origins.push(origin(Math.min(start + index, end - 1)));
    text += word;
    from = end;
  }
  copy(normal.text.length);
  origins.push(origin(normal.text.length));
  return { text: { text, origins }, corrections };
}

import { en } from './en.ts';
import { zh } from './zh.ts';

/** Something that words of every language can say. */
export type Cue = keyof typeof en;

const LANGUAGES = [en, zh];

const CUES = Object.keys(en).filter((key): key is Cue => key in en);

/** Word boundaries where a fragment begins or ends with a Latin letter or digit. */
function bounded(fragment: string): string {
  const head = /^[a-z0-9]/.test(fragment) ? '(?<![a-z])' : '';
  const tail = /(?:[a-z0-9]|[a-z]\)\??|[a-z]\?)$/.test(fragment) ? '(?![a-z])' : '';
  return `${head}(?:${fragment})${tail}`;
}

/** Alternation of every fragment of the cues, all languages together: source text for a larger expression. */
export function words(...cues: readonly Cue[]): string {
  const fragments = cues.flatMap((cue) => LANGUAGES.flatMap((language) => [...language[cue]]));
  return `(?:${fragments.map(bounded).join('|')})`;
}

const EXPRESSIONS = new Map<Cue, RegExp>(CUES.map((cue) => [cue, new RegExp(words(cue))]));

/** Whether the text says it. */
export function says(cue: Cue, text: string): boolean {
  return EXPRESSIONS.get(cue)?.test(text) ?? false;
}

import { en } from './en.ts';
import { zh } from './zh.ts';

/** Something that words of every language can say. */
export type Cue = keyof typeof en;

const LANGUAGES = [en, zh];

const CUES = Object.keys(en).filter((key): key is Cue => key in en);

/** Word boundaries where a fragment begins or ends with a Latin letter or digit. */
function boundsOf(fragment: string): { readonly head: string; readonly tail: string } {
  return {
    head: /^[a-z0-9]/.test(fragment) ? '(?<![a-z])' : '',
    tail: /(?:[a-z0-9]|[a-z]\)\??|[a-z]\?)$/.test(fragment) ? '(?![a-z])' : '',
  };
}

function bounded(fragment: string): string {
  const { head, tail } = boundsOf(fragment);
  return `${head}(?:${fragment})${tail}`;
}

function fragmentsOf(cues: readonly Cue[]): readonly string[] {
  return cues.flatMap((cue) => LANGUAGES.flatMap((language) => [...language[cue]]));
}

/** Alternation of every fragment of the cues, all languages together: source text for a larger expression. */
export function words(...cues: readonly Cue[]): string {
  return `(?:${fragmentsOf(cues).map(bounded).join('|')})`;
}

/** Finds the same texts as `words`, each boundary looked at once for all fragments that have it: half the time. */
function expressionOf(cue: Cue): RegExp {
  const groups = new Map<string, { readonly head: string; readonly tail: string; readonly fragments: string[] }>();
  for (const fragment of fragmentsOf([cue])) {
    const { head, tail } = boundsOf(fragment);
    const group = groups.get(head + tail) ?? { head, tail, fragments: [] };
    group.fragments.push(fragment);
    groups.set(head + tail, group);
  }
  const sources = [...groups.values()].map(({ head, tail, fragments }) => `${head}(?:${fragments.join('|')})${tail}`);
  return new RegExp(sources.join('|'));
}

const EXPRESSIONS = new Map<Cue, RegExp>(CUES.map((cue) => [cue, expressionOf(cue)]));

/** Whether the text says it. */
export function says(cue: Cue, text: string): boolean {
  return EXPRESSIONS.get(cue)?.test(text) ?? false;
}

import { type Cue, words } from '../lexicon/lexicon.ts';
import type { Budget } from '../understanding.ts';

export const UNIT: readonly { readonly period: 'hour' | 'day' | 'month'; readonly cue: Cue }[] = [
  { period: 'hour', cue: 'hour' },
  { period: 'day', cue: 'day' },
  { period: 'month', cue: 'month' },
];
export const ADVERB: readonly { readonly period: 'hour' | 'day' | 'month'; readonly cue: Cue }[] = [
  { period: 'hour', cue: 'hourly' },
  { period: 'day', cue: 'daily' },
  { period: 'month', cue: 'monthly' },
];
export const EACH = '(?:\\/|每|一|1|per|an?|each|a single)';

/** The sum is for the whole run, or what is left of one. */
export const RUN_NEAR = new RegExp(words('perRun', 'leftOver'));

/** What a sum is read beside. */
export interface BudgetContext {
  readonly held: Budget | undefined;
  readonly asked: boolean;
}

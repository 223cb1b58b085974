import { words } from './lexicon/lexicon.ts';
import { after, before, clauseOf, type Reading, type Span } from './reading.ts';

/** A value that one place of the message gives for a slot. */
export interface Candidate<T> extends Span {
  readonly value: T;
  /** How surely the words around it name this slot. */
  readonly rank: number;
}

const NEGATED = new RegExp(`${words('negates')}\\s*(?:the |an? )?$`);
const WANTED = new RegExp(`${words('wants')}\\s*$`);
const WANTED_NEXT =
  /(?:改[成为到用]|换[成到]|变成|[切裁][成到]|[调降加升提拉上缩]到|放大到|想[跑用开训上]|试试|go(?:ing)? to|(?:up|down|change[ds]?(?: it)?|switch(?:ed)?|move|raised?|lowered?|increased?|reduced?|get) to|want(?: to)?|try|make it|->|=>)\s*$/;
/** "UNETR? no, a plain U-Net": asked and denied. */
const DENIED_NEXT =
  /^ ?(?:就|都)?先?(?:不管|别管|不看|不跑|不用|不要|算|放一?放|放着)了|^s?\s*\?\s*(?:no(?:pe)?|nah|i meant?|sorry|wait|rather|不(?:是|用)?|否|我(?:是说|的意思)|哦)(?![a-z])/;
/** Lower than any rank lifts. */
const DENIED = -20;
const OTHERS = new RegExp(words('others'));
const OWN = new RegExp(words('have'));
const WORKS = new RegExp(`^\\s*(?:的)?\\s*${words('works')}`);

/** "不要 V100", "除了上海", "UNETR? no": a value that is named to be left out. */
export function isDenied(reading: Reading, { start, end }: Span): boolean {
  const lead = before(reading.text, start);
  return NEGATED.test(lead) || DENIED_NEXT.test(after(reading.text, end, 12));
}

/** Far down for what is denied, less for what others use or what already works, more for what is wanted. */
function standing(reading: Reading, span: Span): number {
  const lead = before(reading.text, span.start);
  if (isDenied(reading, span)) return DENIED;
  const clause = clauseOf(reading.text, span);
  const others = OTHERS.test(clause) && !OWN.test(clause) ? -3 : 0;
  const works = WORKS.test(after(reading.text, span.end)) ? -1.5 : 0;
  const wanted = WANTED_NEXT.test(lead) ? 2.5 : WANTED.test(lead) ? 1 : 0;
  return others + works + wanted;
}

/** Without what others use, where the message also says what the person has: "官方 8×A100，我只有 V100". */
export function ownOnly<T>(reading: Reading, candidates: readonly Candidate<T>[]): readonly Candidate<T>[] {
  if (!OWN.test(reading.text)) return candidates;
  return candidates.filter((candidate) => {
    const clause = clauseOf(reading.text, candidate);
    return OWN.test(clause) || !OTHERS.test(clause);
  });
}

/** The value a careful reader would hold: best standing, the last one among equals; null where all are denied. */
export function choose<T>(reading: Reading, candidates: readonly Candidate<T>[]): Candidate<T> | null {
  let best: Candidate<T> | null = null;
  let bestScore = -5;
  for (const candidate of [...candidates].sort((a, b) => a.start - b.start)) {
    const score = candidate.rank + standing(reading, candidate);
    if (score < bestScore) continue;
    best = candidate;
    bestScore = score;
  }
  return best;
}

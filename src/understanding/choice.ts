import { says } from './lexicon/lexicon.ts';
import type { Ambiguity, UnderstandingContext } from './understanding.ts';

const ORDINALS: readonly RegExp[] = [
  /^ ?(?:就|选|要|是|the |take |use )*(?:第 ?[1一]个?|前者|前(?:面|一)个?|头一个|1(?:st)?|first|former|#1|a)(?: one)?(?:个|吧|的|那个|please)* ?[.!,]*$/,
  /^ ?(?:就|选|要|是|the |take |use )*(?:第 ?[2二]个?|后者|后(?:面|一)个?|2(?:nd)?|second|latter|#2|b)(?: one)?(?:个|吧|的|那个|please)* ?[.!,]*$/,
  /^ ?(?:就|选|要|是|the |take |use )*(?:第 ?[3三]个?|最后(?:1|一)?个|3(?:rd)?|third|last|#3|c)(?: one)?(?:个|吧|的|那个|please)* ?[.!,]*$/,
];

/** A sum is left open by having no limit, never by the first of two readings. */
const HAS_DEFAULT: ReadonlySet<string> = new Set(['model', 'gpu']);

/** One of the candidates that the bot offered, picked by its place or left to the bot. */
export interface Choice {
  /** What picking it stands for. */
  readonly say: string;
  /** Set where the person left it open: the candidate that is taken for it. */
  readonly leftOpen: string | null;
}

function byPlace(text: string, { slot, candidates }: Ambiguity): Choice | null {
  if (slot === 'budget') return null;
  const place = ORDINALS.findIndex((pattern) => pattern.test(text));
  const picked = candidates[place];
  return picked === undefined ? null : { say: picked.say, leftOpen: null };
}

/** What a message picks from the candidates of the last question, if it does no more than that. */
export function chosenFrom(text: string, { choice, offered }: UnderstandingContext): Choice | null {
  if (choice === undefined) return null;
  const placed = byPlace(text, choice);
  if (placed !== null || !HAS_DEFAULT.has(choice.slot)) return placed;
  const open = says('acceptsDefault', text) || (offered === true && agrees(text));
  const [first] = choice.candidates;
  return open && first !== undefined ? { say: first.say, leftOpen: first.label } : null;
}

const YES =
  /^[\s,.!]*(?:行|好|可以|嗯+|对|是|没问题|成|中|就这样|就它|ok(?:ay)?|yes|yeah|yep|sure|fine|right|go ahead|please do|all right|alright)(?:的|吧|啊|呀|了|按这个(?:来)?|就这样|,? ?(?:thanks|please))*[\s,.!]*$/;

/** A yes to a default that was named. */
export function agrees(text: string): boolean {
  return YES.test(text);
}

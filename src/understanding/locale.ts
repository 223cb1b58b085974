import type { Locale } from '../message.ts';

const CHINESE = /[\u3400-\u9fff]/;
/** Words that only a sentence has: names, numbers and keys alone show no language. */
const SENTENCE =
  /\b(?:the|an?|is|are|was|i|my|we|our|you|on|in|of|for|at|to|can|does|do|need|with|and|or|it|that|this|hour|month|card|fits?|want|train(?:ing)?|under|images?|enough|about|not|make|would|will|has|have|right|correct|but|same|instead|now|budget|per|total|classes|iterations|epochs|vs|versus|gpus|hours|days|weeks?|rent|recipe)\b/g;
const ALONE =
  /\b(?:or|compare|cheapest|help|hi|hello|hey|reset|undo|thanks?|thank you|what|how|which|why|sorry|please|yes|no|try|default|cheaper|whatever|dollars?|hourly|realistic|doable)\b/;

/** Language of what a person typed themselves; a message that shows none keeps the conversation's. */
export function localeOf(words: string, fallback: Locale): Locale {
  if (CHINESE.test(words)) return 'zh';
  if (ALONE.test(words)) return 'en';
  const distinct = new Set(words.match(SENTENCE));
  return distinct.size >= 2 ? 'en' : fallback;
}

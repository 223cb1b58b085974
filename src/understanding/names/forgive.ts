import type { NameHit } from './name-trie.ts';
import type { NormalText } from './normal-text.ts';
import type { NameVocabulary } from './vocabulary.ts';

export interface Forgiven {
  readonly text: NormalText;
  readonly corrections: readonly { readonly start: number; readonly end: number }[];
}

export function forgiveTyping(_normal: NormalText, _hits: readonly NameHit[], _v: NameVocabulary): Forgiven | null {
  return null;
}

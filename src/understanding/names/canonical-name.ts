import { combineGroup } from './combine.ts';
import { scanNames } from './name-trie.ts';
import { normalText } from './normal-text.ts';
import { defaultVocabulary, type NameVocabulary } from './vocabulary.ts';

export interface CanonicalName {
  readonly architecture: string | null;
  readonly backbone: string | null;
}

/** Canonical spelling of a name that stands alone ("ResNet-50" → `resnet50`); undefined where no table has it. */
export function canonicalName(
  text: string,
  vocabulary: NameVocabulary = defaultVocabulary(),
): CanonicalName | undefined {
  const combined = combineGroup(scanNames(vocabulary.trie, normalText(text).text), vocabulary);
  return combined === null ? undefined : { architecture: combined.architecture, backbone: combined.backbone };
}

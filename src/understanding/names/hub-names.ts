import { combineGroup } from './combine.ts';
import { findDataset } from './config-words.ts';
import type { MentionFields } from './mention.ts';
import { scanNames } from './name-trie.ts';
import type { NameVocabulary } from './vocabulary.ts';

const HUB_ORGS =
  /^(?:nvidia|facebook|openmmlab|microsoft|intel|google|apple|shi-labs|tue-mps|cidas|hustvl|nielsr|mattmdjaga|jonathandinu|huggingface|hf-tiny-model-private)$/;

/** Folders and cards before a slash are no owners of a hub id. */
const NO_OWNER =
  /^(?:configs?|models?|work_dirs?|tools|checkpoints?|weights|src|data|experiments?|exps?|logs?|mmseg\w*|open-mmlab|rtx\w*|gtx\w*|tesla\w*)$/;

/** Web addresses of hub pages. */
const HUB_SITE = /^(?:www\.)?(?:huggingface\.co|hf\.co|hf-mirror\.com)\//i;

/** The hub id inside a page's address, or the token itself. */
export function hubIdOf(token: string): string {
  return HUB_SITE.test(token) ? token.replace(HUB_SITE, '').split('/').slice(0, 2).join('/') : token;
}

export function isHubId(token: string, { trie }: NameVocabulary): boolean {
  if (/\.(?:py|ya?ml|json|pth|md|txt|png|jpg)$/.test(token)) return false;
  const [owner, name, ...rest] = token.split('/');
  if (owner === undefined || rest.length > 0) return false;
  if (name === undefined) return /-finetuned-/.test(token);
  if (HUB_ORGS.test(owner)) return true;
  if (NO_OWNER.test(owner) || !/[a-z]{3}/.test(owner) || !/^[a-z0-9]+[-_]/.test(name)) return false;
  return scanNames(trie, owner).length === 0 && scanNames(trie, name)[0]?.start === 0;
}

/** Everything that a hub id says of itself: network, data set, size. `checkpoint` keeps it as written. */
export function hubName(checkpoint: string, vocabulary: NameVocabulary): MentionFields | null {
  const name = checkpoint.toLowerCase().split('/').at(-1) ?? '';
  const combined = combineGroup(scanNames(vocabulary.trie, name), vocabulary);
  if (combined === null) return null;
  const size = hubSize(name);
  // encoders of the MiT family are published for SegFormer only
  const implied = combined.backbone?.startsWith('mit-') === true ? 'segformer' : null;
  return {
    architecture: combined.architecture ?? implied,
    backbone: combined.backbone,
    implementation: 'transformers',
    checkpoint,
    options: { ...combined.options, checkpoint, ...(size === null ? {} : { imageSize: size.imageHeight }) },
    words: name.split(/[-_]/),
    ...size,
    ...findDataset(name, vocabulary),
    form: 'hub',
    confidence: 1,
    alternatives: combined.alternatives,
  };
}

function hubSize(name: string): { imageHeight: number; imageWidth: number } | null {
  const match = /[-_](\d{3,4})(?:[-_x](\d{3,4}))?$/.exec(name);
  if (match === null) return null;
  const height = Number(match[1]);
  return { imageHeight: height, imageWidth: Number(match[2] ?? height) };
}

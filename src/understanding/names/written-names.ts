import { builtInModels, type Implementation } from '../../../catalog/models.ts';
import { type ModelQuery, resolveModel } from '../../../catalog/resolve-model.ts';
import { combineGroup } from './combine.ts';
import { findDataset, readConfigWords } from './config-words.ts';
import type { MentionFields, ModelMention } from './mention.ts';
import { type NameHit, scanNames } from './name-trie.ts';
import type { NameVocabulary, SearchLimits } from './vocabulary.ts';

/** A token of names joined by `_`, `-`, `/`: at most this long is looked at. */
const TOKEN = /[A-Za-z0-9][\w.\-+/\\]{2,255}/g;
const CONFIG_MARK = /(?<!\d)\d{2,4}x\d{2,4}(?!\d)|(?<![0-9a-z])\d{1,4}k(?![0-9a-z])|(?<![0-9a-z])\d+xb\d+/;
/** Shorthand that only MMSegmentation's names have. */
const CONFIG_PART =
  /(?:^|_)[rs](?:18|34|50|101|152)[bs]?-d(?:8|16|32)|_(?:hr18s?|hr48|mit-b\d|vit-[tbsl]\d*|s5-d16|m-v[23])/;
const TORCHVISION =
  /^(?:fcn_resnet(?:50|101)|deeplabv3_(?:resnet(?:50|101)|mobilenet_v3_large)|lraspp_mobilenet_v3_large|maskrcnn_resnet50_fpn(?:_v2)?)$/;
const DETECTRON = /(?:^|_)[rx]_(?:50|101)(?:_32x8d)?_(?:fpn|c4|dc5)(?:_|$)|(?:^|_)in21k_384_bs\d+/;
const MMDETECTION = /_(?:fpn|r\d+|caffe)_.*(?:_1x|_2x|_3x|poly).*_coco|mask-rcnn_|8xb2-lsj/;
const HUB_ORGS =
  /^(?:nvidia|facebook|openmmlab|microsoft|intel|google|apple|shi-labs|tue-mps|cidas|hustvl|nielsr|mattmdjaga|jonathandinu|huggingface|hf-tiny-model-private)$/;

/** Config names, hub ids and library names that stand in a text as one token each. */
export function findWrittenNames(text: string, { vocabulary, most }: SearchLimits): ModelMention[] {
  const mentions: ModelMention[] = [];
  for (const match of text.matchAll(TOKEN)) {
    if (mentions.length >= most) break;
    const token = match[0].replace(/[.\-+/\\]+$/, (tail) => (tail.startsWith('+') ? tail : ''));
    const fields = readWrittenName(token, vocabulary);
    if (fields === null) continue;
    mentions.push({ ...fields, text: token, start: match.index, end: match.index + token.length });
  }
  return mentions;
}

/** Null where the token is not such a name. */
export function readWrittenName(token: string, vocabulary: NameVocabulary): MentionFields | null {
  if (!/[_\-/]/.test(token)) return null;
  const lower = token.toLowerCase();
  const base =
    lower
      .replaceAll('\\', '/')
      .replace(/\.(?:py|ya?ml|json|pth)$/, '')
      .split('/')
      .at(-1) ?? '';
  const last = base.split('.').at(-1) ?? '';
  if (TORCHVISION.test(last)) return torchvisionName(last, vocabulary);
  if (isHubId(lower, vocabulary)) return hubName(token, vocabulary);
  if (DETECTRON.test(base)) return configName(base, { implementation: 'detectron2', vocabulary });
  if (!base.includes('_')) return null;
  if (MMDETECTION.test(base)) return configName(base, { implementation: 'mmdetection', vocabulary });
  if (CONFIG_MARK.test(base) || CONFIG_PART.test(base))
    return configName(base, { implementation: 'mmseg', vocabulary });
  return null;
}

function torchvisionName(name: string, vocabulary: NameVocabulary): MentionFields | null {
  const combined = combineGroup(scanNames(vocabulary.trie, name), vocabulary);
  if (combined === null) return null;
  return {
    architecture: combined.architecture,
    backbone: combined.backbone,
    implementation: 'torchvision',
    options: name.endsWith('_v2') ? { version: 'v2' } : {},
    words: [],
    form: 'plain',
    confidence: 1,
    alternatives: [],
  };
}

/** Folders and cards before a slash are no owners of a hub id. */
const NO_OWNER =
  /^(?:configs?|models?|work_dirs?|tools|checkpoints?|weights|src|data|experiments?|exps?|logs?|mmseg\w*|open-mmlab|rtx\w*|gtx\w*|tesla\w*)$/;

function isHubId(token: string, { trie }: NameVocabulary): boolean {
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

interface ConfigContext {
  readonly implementation: Implementation;
  readonly vocabulary: NameVocabulary;
}

function configName(name: string, { implementation, vocabulary }: ConfigContext): MentionFields | null {
  const hits = scanNames(vocabulary.trie, name);
  const combined = combineGroup(hits, vocabulary);
  const recipe = readConfigWords(name, vocabulary);
  if (combined === null && Object.keys(recipe).length < 3) return null;
  const architecture = canonicalHead(combined?.architecture ?? firstWord(name), implementation);
  const { outputStride, ...options } = combined?.options ?? {};
  const known = combined?.architecture != null;
  const backbone =
    combined?.backbone ?? onlyBackbone(architecture, implementation) ?? unknownBackbone(name, architecture, hits);
  const said = withoutFalseSize(recipe, implementation);
  const words = name.split(/[-_]/);
  return {
    architecture,
    backbone,
    implementation: combined?.implementation ?? implementation,
    options,
    words,
    ...(outputStride === 8 || outputStride === 16 || outputStride === 32 ? { outputStride } : {}),
    ...(recipeCrops({ architecture, backbone, implementation, words }) ? withoutSize(said) : said),
    form: 'config',
    confidence: known ? 1 : 0.3,
    alternatives: known ? (combined?.alternatives ?? []) : [],
  };
}

type RecipeWords = ReturnType<typeof readConfigWords>;

/** The detector libraries resize whole pictures: a number pair in their names is never a crop. */
function withoutFalseSize(recipe: RecipeWords, implementation: Implementation): RecipeWords {
  return implementation === 'mmseg' ? recipe : withoutSize(recipe);
}

function withoutSize({ imageHeight: _height, imageWidth: _width, ...rest }: RecipeWords): RecipeWords {
  return rest;
}

/** A few published recipes crop to another size than their name says (catalog/models.json, `recipes`). */
function recipeCrops(query: ModelQuery): boolean {
  const resolution = resolveModel(query, builtInModels());
  return resolution.kind === 'model' && resolution.defaults.recipeSize !== null;
}

function firstWord(name: string): string {
  return name.split('_')[0] ?? name;
}

function canonicalHead(architecture: string, implementation: Implementation): string {
  const row = builtInModels().rows.find(
    (candidate) => candidate.implementation === implementation && candidate.alsoNamed?.includes(architecture) === true,
  );
  return row?.architecture ?? architecture;
}

/** Parts of a config name that are no backbone: recipe words, numbers, and the head's own variants. */
const RECIPE_PART =
  /^(?:\d|in\d+k|fp16|amp|bf16|lr|sgd|adam|ms$|ce-|dice|ohem|s3$|d6$|jpu|fpnhead|pretrained|scratch|[a-z]{1,2}$)/;

/** The part between head and recipe that no table has ("upernet_convformer-s18_8xb2-…"): as typed, to be refused. */
function unknownBackbone(name: string, architecture: string, hits: readonly NameHit[]): string | null {
  const row = builtInModels().rows.find((candidate) => candidate.architecture === architecture);
  if (row === undefined || row.backbones.length === 0) return null;
  let start = 0;
  for (const part of name.split('_').slice(0, 3)) {
    const end = start + part.length;
    const from = start;
    start = end + 1;
    if (hits.some((hit) => hit.start < end && from < hit.end)) continue;
    return RECIPE_PART.test(part) ? null : part;
  }
  return null;
}

/** "setr_pup_512x512…": the one backbone that the recipe family has. */
function onlyBackbone(architecture: string, implementation: Implementation): string | null {
  const { rows, backbonesOf } = builtInModels();
  const row = rows.find(
    (candidate) => candidate.implementation === implementation && candidate.architecture === architecture,
  );
  const backbones = row === undefined ? [] : (backbonesOf.get(row) ?? []);
  return backbones.length === 1 ? (backbones[0] ?? null) : null;
}

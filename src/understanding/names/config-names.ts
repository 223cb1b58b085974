import { builtInModels, type Implementation } from '../../../catalog/models.ts';
import { type ModelQuery, resolveModel } from '../../../catalog/resolve-model.ts';
import { combineGroup } from './combine.ts';
import { readConfigWords } from './config-words.ts';
import type { MentionFields } from './mention.ts';
import { type NameHit, scanNames } from './name-trie.ts';
import type { NameVocabulary } from './vocabulary.ts';

export interface ConfigContext {
  /** Whose names are written so; undefined: a library that is not estimated. */
  readonly implementation: Implementation | undefined;
  readonly vocabulary: NameVocabulary;
}

/** A config name: network, then what its recipe says. */
export function configName(name: string, { implementation, vocabulary }: ConfigContext): MentionFields | null {
  const hits = scanNames(vocabulary.trie, name);
  const combined = combineGroup(hits, vocabulary);
  const recipe = readConfigWords(name, vocabulary);
  if (combined === null && Object.keys(recipe).length < 3) return null;
  const architecture = canonicalHead(combined?.architecture ?? firstWord(name), implementation);
  const { outputStride, ...options } = combined?.options ?? {};
  const known = combined?.architecture != null;
  const library = combined?.implementation ?? implementation;
  const backbone =
    combined?.backbone ?? onlyBackbone(architecture, implementation) ?? unknownBackbone(name, architecture, hits);
  const said = withoutFalseSize(recipe, implementation);
  const words = name.split(/[-_]/);
  return {
    architecture,
    backbone,
    ...(library === undefined ? {} : { implementation: library }),
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
function withoutFalseSize(recipe: RecipeWords, implementation: Implementation | undefined): RecipeWords {
  return implementation === 'mmseg' || implementation === undefined ? recipe : withoutSize(recipe);
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

function canonicalHead(architecture: string, implementation: Implementation | undefined): string {
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
function onlyBackbone(architecture: string, implementation: Implementation | undefined): string | null {
  const { rows, backbonesOf } = builtInModels();
  const row = rows.find(
    (candidate) => candidate.implementation === implementation && candidate.architecture === architecture,
  );
  const backbones = row === undefined ? [] : (backbonesOf.get(row) ?? []);
  return backbones.length === 1 ? (backbones[0] ?? null) : null;
}

import {
  type Implementation,
  type ModelCatalog,
  type ModelRow,
  type ModelSpec,
  matchesAny,
  type OptionValue,
  type Recipe,
} from './models.ts';
import { familyOf, namesLike } from './names-like.ts';

/** What is known about a network's name; a `ModelMention` is one. */
export interface ModelQuery {
  readonly architecture: string | null;
  readonly backbone: string | null;
  readonly implementation?: Implementation | undefined;
  readonly variant?: string | undefined;
  readonly encoder?: string | undefined;
  readonly checkpoint?: string | undefined;
  /** Built from a configuration class without a checkpoint. */
  readonly configured?: boolean | undefined;
  readonly options?: Readonly<Record<string, OptionValue>> | undefined;
  readonly words?: readonly string[] | undefined;
  readonly dataset?: string | undefined;
  readonly outputStride?: number | undefined;
}

/** Of an image, in pixels. */
interface Size {
  readonly height: number;
  readonly width: number;
}

/** What a run of the network usually is, where nothing else was said. */
export interface ModelDefaults {
  readonly optimizer: ModelRow['optimizer'];
  readonly loss: NonNullable<ModelRow['loss']> | null;
  /** The one input size that positions or windows are learned for; null: any. */
  readonly fixedSize: Size | null;
  readonly attention: 'eager' | 'sdpa' | null;
  readonly outputHeld: boolean;
  readonly precision: 'fp32' | 'fp16';
  readonly inputChannels: number;
  /** The recipe crops to this whatever the name says; null: no such recipe. */
  readonly recipeSize: Size | null;
  /** Images per GPU of that recipe; null: no such recipe. */
  readonly recipeBatch: number | null;
}

export type Resolution =
  | {
      readonly kind: 'model';
      readonly spec: ModelSpec;
      readonly defaults: ModelDefaults;
      /** The same network in other libraries, by rank. */
      readonly alternatives: readonly ModelSpec[];
      /** What the words did not decide. */
      readonly assumed: readonly ('implementation' | 'backbone')[];
    }
  | {
      readonly kind: 'ambiguous';
      readonly candidates: readonly { readonly architecture: string; readonly backbone: string | null }[];
    }
  | {
      readonly kind: 'unknown';
      readonly what: 'architecture' | 'backbone' | 'combination';
      readonly name: string;
      /** Known names near it, best first. */
      readonly nearby: readonly string[];
      readonly reason: string | null;
      /** Id of the refusal. */
      readonly rule?: string;
    };

/** HRNet alone is HRNet with its usual FCN head; the words of JPU heads name the head they put in front of it. */
const HRNET_HEAD = 'fcn';
const HEAD_WORDS: Readonly<Record<string, string>> = { pspnet: 'psp', deeplabv3: 'aspp', encnet: 'enc' };
const MIT = ['mit-', 'mit_'] as const;
const EFFICIENTNET = ['efficientnet-'] as const;
const NEARBY = 4;

/**
 * One network out of what was said. Without a library the lowest rank that knows the backbone is taken: the variant
 * most people train and, among those, the heavier (DeepLabV3+ and SegFormer: MMSegmentation; U-Net: milesial's, or
 * segmentation_models_pytorch when an encoder is named). Nothing is guessed that no row knows.
 */
export function resolveModel(query: ModelQuery, catalog: ModelCatalog): Resolution {
  if (query.architecture === null) return withoutArchitecture(query, catalog);
  const named = query.architecture === 'hrnet' ? hrnetQuery(query) : query;
  const rows = rowsNamed(named.architecture ?? '', named, catalog);
  if (rows.length === 0) return unknownArchitecture(named, catalog);
  const row = rows.find((candidate) => backboneFor(candidate, named, catalog) !== undefined);
  if (row === undefined) return unknownBackbone(named, rows, catalog);
  return resolved(row, named, { rows, catalog });
}

function hrnetQuery(query: ModelQuery): ModelQuery {
  return { ...query, architecture: HRNET_HEAD, backbone: query.backbone ?? 'hrnet-w48' };
}

function rowsNamed(architecture: string, query: ModelQuery, catalog: ModelCatalog): readonly ModelRow[] {
  const { implementation } = query;
  const rows = catalog.rows.filter((row) => {
    if (implementation !== undefined && row.implementation !== implementation) return false;
    return row.architecture === architecture || (implementation !== undefined && row.alsoNamed?.includes(architecture));
  });
  return rows.toSorted((one, other) => one.rank - other.rank);
}

/** The library's name of the backbone, null where there is none, undefined where the row does not know it. */
function backboneFor(row: ModelRow, query: ModelQuery, catalog: ModelCatalog): string | null | undefined {
  const known = catalog.backbonesOf.get(row) ?? [];
  const said = row.implementation === 'smp' ? (query.encoder ?? query.backbone) : query.backbone;
  if (said === null) return row.defaultBackbone;
  const library = row.implementation === 'smp' ? smpEncoder(said, catalog) : said;
  // "vit-b" is ViT-B/16, "b3" the size of the row's own family
  const families = row.architecture === 'segformer' ? MIT : EFFICIENTNET;
  const spellings = [library, `${library}/16`, `${library}/14`, ...families.map((family) => `${family}${library}`)];
  return spellings.find((name) => matchesAny(name, known));
}

/** segmentation_models_pytorch 0.6.0 renames these deprecated encoders itself (encoders/__init__.py). */
function smpEncoder(said: string, catalog: ModelCatalog): string {
  if (/^timm-mobilenetv3/.test(said)) return said.replace('timm-', 'tu-tf_');
  if (/^timm-(regnet|res2|resnest|gernet)/.test(said)) return said.replace('timm-', 'tu-');
  return catalog.libraryNames['smp']?.[said] ?? catalog.libraryNames['smp']?.[`${said}/16`] ?? said;
}

interface RowContext {
  readonly rows: readonly ModelRow[];
  readonly catalog: ModelCatalog;
}

function resolved(row: ModelRow, query: ModelQuery, { rows, catalog }: RowContext): Resolution {
  const refused = refusal(row, query, catalog);
  if (refused !== null) return refused;
  const recipes = catalog.recipes.filter((recipe) => applies(recipe, row, query, catalog));
  const others = rows.filter((other) => other !== row && refusal(other, query, catalog) === null);
  const assumed: ('implementation' | 'backbone')[] = [];
  if (query.implementation === undefined && rows.length > 1) assumed.push('implementation');
  if (query.backbone === null && row.defaultBackbone !== null) assumed.push('backbone');
  return {
    kind: 'model',
    spec: specOf(row, query, catalog, recipes),
    defaults: defaultsOf(row, recipes),
    alternatives: others
      .filter((other) => backboneFor(other, query, catalog) !== undefined)
      .map((other) => specOf(other, query, catalog, [])),
    assumed,
  };
}

function keepsStride({ outputStride, options }: ModelQuery): boolean {
  return (outputStride ?? options?.['encoderOutputStride']) === 32;
}

function refusal(row: ModelRow, query: ModelQuery, catalog: ModelCatalog): Resolution | null {
  const backbone = backboneFor(row, query, catalog);
  if (backbone === null || backbone === undefined) return null;
  const rule = catalog.refused.find(
    ({ implementation, architectures, backbones, dilated }) =>
      implementation === row.implementation &&
      architectures.includes(row.architecture) &&
      matchesAny(backbone, backbones) &&
      !(dilated === true && keepsStride(query)),
  );
  if (rule === undefined) return null;
  const nearby = (catalog.backbonesOf.get(row) ?? []).filter(
    (name) => !name.endsWith('*') && !matchesAny(name, rule.backbones),
  );
  return {
    kind: 'unknown',
    what: 'combination',
    name: `${row.architecture} ${backbone}`,
    nearby: nearby.slice(0, NEARBY),
    reason: rule.reason,
    rule: rule.rule,
  };
}

function applies(recipe: Recipe, row: ModelRow, query: ModelQuery, catalog: ModelCatalog): boolean {
  const { when } = recipe;
  const backbone = backboneFor(row, query, catalog);
  return (
    recipe.implementation === row.implementation &&
    matchesAny(row.architecture, [recipe.architecture]) &&
    (when.head === undefined || when.head === query.options?.['head']) &&
    (when.backbones === undefined || matchesAny(backbone ?? '', when.backbones)) &&
    (when.dataset === undefined || when.dataset === query.dataset) &&
    (when.words === undefined || when.words.every((word) => query.words?.includes(word) === true))
  );
}

function specOf(row: ModelRow, query: ModelQuery, catalog: ModelCatalog, recipes: readonly Recipe[]): ModelSpec {
  const configured = query.configured === true ? row.configured : undefined;
  const own = backboneFor(row, query, catalog) ?? null;
  const backbone = query.backbone === null && configured !== undefined ? configured.backbone : own;
  return {
    implementation: row.implementation,
    architecture: row.architecture,
    backbone: recipes.find((recipe) => recipe.backbone !== undefined)?.backbone ?? backbone,
    options: optionsOf(row, [configured?.options, ...recipes.map(({ options }) => options), saidOptions(query)]),
  };
}

function saidOptions(query: ModelQuery): Readonly<Record<string, OptionValue>> {
  const { outputStride, options = {} } = query;
  const head = options['head'];
  return {
    ...(outputStride === undefined ? {} : { outputStride }),
    ...options,
    ...(query.architecture === 'fastfcn' && typeof head === 'string' ? { head: HEAD_WORDS[head] ?? head } : {}),
  };
}

type Options = Readonly<Record<string, OptionValue>>;

/** Only options that the row knows, and only where they differ from the library's default. */
function optionsOf(row: ModelRow, layers: readonly (Options | undefined)[]): Options {
  const merged: Record<string, OptionValue> = {};
  for (const layer of layers) Object.assign(merged, layer);
  const kept = Object.entries(merged).filter(([name, value]) => {
    const fallback = row.options[name];
    return fallback !== undefined && !sameValue(fallback, value) && !(name === 'imageSize' && fallback === null);
  });
  return Object.fromEntries(kept.toSorted(([one], [other]) => (one < other ? -1 : 1)));
}

function sameValue(one: OptionValue, other: OptionValue): boolean {
  return one === other || JSON.stringify(one) === JSON.stringify(other);
}

function defaultsOf(row: ModelRow, recipes: readonly Recipe[]): ModelDefaults {
  return {
    optimizer: recipes.find(({ optimizer }) => optimizer !== undefined)?.optimizer ?? row.optimizer,
    loss: row.loss ?? null,
    fixedSize: sizeOf(row),
    attention: row.attention,
    outputHeld: row.outputHeld,
    precision: recipes.find(({ precision }) => precision !== undefined)?.precision ?? 'fp32',
    inputChannels: recipes.find(({ inputChannels }) => inputChannels !== undefined)?.inputChannels ?? 3,
    recipeSize: recipes.map(sizeOf).find((size) => size !== null) ?? null,
    recipeBatch: recipes.find(({ batchSize }) => batchSize !== undefined)?.batchSize ?? null,
  };
}

function sizeOf({ imageHeight, imageWidth }: Pick<Recipe, 'imageHeight' | 'imageWidth'>): Size | null {
  return imageHeight === undefined ? null : { height: imageHeight, width: imageWidth ?? imageHeight };
}

function withoutArchitecture(query: ModelQuery, catalog: ModelCatalog): Resolution {
  const { backbone, variant } = query;
  if (backbone === null) {
    const candidates = variant === undefined ? [] : candidatesOfVariant(variant);
    return candidates.length > 0
      ? { kind: 'ambiguous', candidates }
      : { kind: 'unknown', what: 'architecture', name: variant ?? '', nearby: [], reason: null };
  }
  const rows = catalog.rows.filter(
    (row) => row.rank === 0 && backboneFor(row, { ...query, architecture: row.architecture }, catalog) !== undefined,
  );
  const candidates = rows.map(({ architecture }) => ({ architecture, backbone }));
  const [only] = rows;
  if (rows.length === 1 && only !== undefined) {
    return resolveModel({ ...query, architecture: only.architecture }, catalog);
  }
  if (candidates.length > 0) return { kind: 'ambiguous', candidates };
  return { kind: 'unknown', what: 'backbone', name: backbone, nearby: [], reason: null };
}

function candidatesOfVariant(variant: string): readonly { architecture: string; backbone: string }[] {
  if (!/^b[0-7]$/.test(variant)) return [];
  const efficientnet = { architecture: 'unet', backbone: `efficientnet-${variant}` };
  return variant <= 'b5' ? [{ architecture: 'segformer', backbone: `mit-${variant}` }, efficientnet] : [efficientnet];
}

function unknownArchitecture(query: ModelQuery, catalog: ModelCatalog): Resolution {
  const name = query.architecture ?? '';
  const elsewhere = catalog.rows.filter(({ architecture }) => architecture === name);
  if (elsewhere.length > 0) {
    const nearby = elsewhere.map((row) => `${row.implementation} ${name}`);
    return { kind: 'unknown', what: 'combination', name, nearby, reason: null };
  }
  const near = catalog.nearest[name];
  const all = [...new Set(catalog.rows.map(({ architecture }) => architecture))];
  const nearby = near === undefined ? namesLike(name, all).slice(0, NEARBY) : [near];
  return { kind: 'unknown', what: 'architecture', name, nearby, reason: null };
}

function unknownBackbone(query: ModelQuery, rows: readonly ModelRow[], catalog: ModelCatalog): Resolution {
  const name = query.encoder ?? query.backbone ?? '';
  const known = [...new Set(rows.flatMap((row) => catalog.backbonesOf.get(row) ?? []))].filter(
    (other) => !other.endsWith('*'),
  );
  const nearby = familyOf(name, known).slice(0, NEARBY);
  return { kind: 'unknown', what: 'backbone', name, nearby, reason: null };
}

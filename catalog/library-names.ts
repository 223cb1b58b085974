import type { AccuracyRow, AmbiguousDatasetRow, DatasetRow, RecipeRow } from './rows.ts';

export type DatasetMatch = DatasetRow | { readonly ambiguous: readonly DatasetRow[] } | undefined;

const squash = (text: string): string =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/[\s\-_.·]/g, '');

/** Name → data set, in Chinese or English; a name that several share comes back as the choice. */
export function findDatasetIn(
  rows: readonly DatasetRow[],
  ambiguous: readonly AmbiguousDatasetRow[],
  text: string,
): DatasetMatch {
  const key = squash(text);
  const exact = rows.find((row) => squash(row.id) === key || squash(row.name) === key);
  if (exact !== undefined) return exact;
  const shared = ambiguous.find((entry) => squash(entry.term) === key);
  if (shared !== undefined) return { ambiguous: rows.filter((row) => shared.ids.includes(row.id)) };
  const named = rows.filter((row) => [...row.names.en, ...row.names.zh].some((name) => squash(name) === key));
  return named.length > 1 ? { ambiguous: named } : named[0];
}

/** Remembers results by text: the catalogue's names are few and asked for with every recommendation. */
function remembered<T>(compute: (text: string) => T): (text: string) => T {
  const known = new Map<string, T>();
  return (text) => {
    const found = known.get(text);
    if (found !== undefined) return found;
    if (known.size >= MOST_REMEMBERED) known.clear();
    const value = compute(text);
    known.set(text, value);
    return value;
  };
}

/** More than the catalogue holds; a message can bring others, which must not pile up. */
const MOST_REMEMBERED = 4_096;

/** `DeepLabV3+` → `deeplabv3plus`, `U-Net + FCN` → `unet`, `Mask R-CNN FPN` → `maskrcnn`: the canonical names of models. */
export const canonicalMethod = remembered((method) => {
  const bare = method.replace(/\(.*?\)/g, '').trim();
  const first = bare.split(' + ')[0] ?? bare;
  const key = first
    .toLowerCase()
    .replace(/\+\+/g, 'plusplus')
    .replace(/\+/g, 'plus')
    .replace(/[^a-z0-9]/g, '');
  return METHODS.find(([prefix]) => key.startsWith(prefix))?.[1] ?? key;
});

const METHODS = [
  ['maskrcnn', 'maskrcnn'],
  ['unetplusplus', 'unetplusplus'],
  ['segmenter', 'segmenter'],
  ['setr', 'setr'],
  ['nonlocalnet', 'nonlocal'],
  ['pplitesegt', 'ppliteseg'],
  ['pplitesegb', 'ppliteseg'],
] as const;

const BACKBONES: readonly (readonly [RegExp, string])[] = [
  [/^(?:mit-?)?b([0-5])$/, 'mit-b$1'],
  [/^r(?:es)?(?:net)?-?(18|34|50|101|152)(?:b|v1c|-c4|-dc5|-fpn|-d\d+|\b).*$/, 'resnet$1'],
  [/^x101.*$/, 'resnext101'],
  [/^s-?101.*$/, 'resnest101'],
  [/^hrnet(?:v2)?p?-?w(18)-small$/, 'hrnet-w18-small'],
  [/^hrnet(?:v2)?p?-?w(18|32|40|48)$/, 'hrnet-w$1'],
  [/^m(?:obilenet)?-?v2.*$/, 'mobilenet-v2'],
  [/^m(?:obilenet)?-?v3s.*$/, 'mobilenet-v3-small'],
  [/^m(?:obilenet)?-?v3.*$/, 'mobilenet-v3-large'],
  [/^(swin|convnext|vit|mscan|beit)-?(tiny|small|base|large|xl|[tsbl]).*$/, '$1-$2'],
  [/^ddrnet-?23(-slim)?$/, 'ddrnet-23$1'],
  [/^twins-(svt|pcpvt)-([sbl]).*$/, 'twins-$1-$2'],
];

const SIZE_WORDS: Readonly<Record<string, string>> = { tiny: 't', small: 's', base: 'b', large: 'l' };

/** `R-50-D8` → `resnet50`, `HRNetV2p-W48` → `hrnet-w48`, `Swin-T` → `swin-t`: the canonical names of backbones. */
export const canonicalBackbone = remembered((backbone) => {
  const key = backbone
    .toLowerCase()
    .replace(/_/g, '-')
    .replace(/\s*\(.*?\)/g, '')
    .trim();
  for (const [pattern, canonical] of BACKBONES) {
    if (!pattern.test(key)) continue;
    return key.replace(pattern, canonical).replace(/-(tiny|small|base|large)$/, (whole, word: string) => {
      return canonical.startsWith('$1') ? `-${SIZE_WORDS[word] ?? word}` : whole;
    });
  }
  return key;
});

/** `FCN ResNet`, `smp.FPN, smp.Unet and the rest`, `Swin + UPerNet/ViT`: the canonical names inside a recipe's family text. */
const methodsOf = remembered((family): readonly string[] => {
  const words = family
    .replace(/Mask R-CNN/g, 'MaskRCNN')
    .replace(/Semantic FPN/g, 'SemanticFPN')
    .split(/[\s,/()]+/);
  return words
    .map((word) => canonicalMethod(word.replace(/^smp\./, '')))
    .flatMap((name) => [name, name.replace(/\d$/, '')]);
});

/** Recipes of a library for a model family on a data set; without one, the family's in other libraries, then the library's. */
export function recipesIn(
  rows: readonly RecipeRow[],
  wanted: { readonly library: string; readonly architecture: string; readonly dataset: string },
): readonly RecipeRow[] {
  const architecture = squash(wanted.architecture);
  const covers = (row: RecipeRow) => row.families.some((family) => methodsOf(family).includes(architecture));
  const onDataset = rows.filter((row) => row.datasets.includes(wanted.dataset));
  const exact = onDataset.filter((row) => row.library === wanted.library && covers(row));
  if (exact.length > 0) return exact;
  const family = onDataset.filter(covers);
  return family.length > 0 ? family : onDataset.filter((row) => row.library === wanted.library);
}

/** Rows that may be compared with each other: one library, method, data set and metric. */
export function accuracyIn(
  rows: readonly AccuracyRow[],
  wanted: { readonly library: string; readonly architecture: string; readonly dataset?: string },
): readonly AccuracyRow[] {
  const architecture = squash(wanted.architecture);
  return rows.filter(
    (row) =>
      row.library === wanted.library &&
      canonicalMethod(row.method) === architecture &&
      (wanted.dataset === undefined || row.dataset === wanted.dataset),
  );
}

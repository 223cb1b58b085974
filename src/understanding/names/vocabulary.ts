import type { AliasesFile, ModelCatalog, NameMeaning, OptionValue } from '../../../catalog/models.ts';
import { builtInModels } from '../../../catalog/models.ts';
import { buildTrie, type NameTrie } from './name-trie.ts';

/** Everything that names are recognised by; built once from the catalogue. */
export interface NameVocabulary {
  readonly trie: NameTrie;
  /** Names whose letters are forgiven typing mistakes. */
  readonly words: readonly string[];
  /** Wrapper → heads that its names may carry. */
  readonly heads: ReadonlyMap<string, ReadonlySet<string>>;
  readonly absorbs: ReadonlyMap<string, ReadonlySet<string>>;
  readonly datasets: AliasesFile['datasets'];
  /** Words of data sets' names. */
  readonly datasetWords: ReadonlySet<string>;
  /** Networks that can be estimated; other names are known too. */
  readonly estimable: ReadonlySet<string>;
}

export interface SearchLimits {
  readonly vocabulary: NameVocabulary;
  /** Mentions after which the search stops. */
  readonly most: number;
}

let builtIn: NameVocabulary | undefined;

export function defaultVocabulary(): NameVocabulary {
  builtIn ??= buildVocabulary(builtInModels());
  return builtIn;
}

export function buildVocabulary(catalog: ModelCatalog): NameVocabulary {
  const names = [...spellings(catalog.aliases)];
  const heads = new Map<string, ReadonlySet<string>>();
  const absorbs = new Map<string, ReadonlySet<string>>();
  for (const row of catalog.rows) {
    if (row.heads !== undefined) heads.set(row.architecture, new Set(row.heads));
    if (row.absorbs !== undefined) absorbs.set(row.architecture, new Set(row.absorbs));
  }
  const known = new Set(catalog.rows.map(({ architecture }) => architecture));
  const { datasets } = catalog.aliases;
  const datasetWords = new Set(datasets.flatMap(({ say }) => say.split(/[-_ ]/).filter((word) => word.length > 2)));
  const words = names.filter(([, meaning]) => forgivable(meaning, known)).map(([name]) => name);
  return {
    trie: buildTrie(names),
    words: [...new Set(words)],
    heads,
    absorbs,
    datasets,
    datasetWords,
    estimable: known,
  };
}

/** Spelling is forgiven only for what can be estimated: fewer names, fewer ordinary words that look like one. */
function forgivable({ partner, variant, architecture }: NameMeaning, known: ReadonlySet<string>): boolean {
  if (partner !== undefined || variant !== undefined) return false;
  return architecture === undefined || known.has(architecture);
}

/** Every way to type a name, with what it means. */
export function* spellings(aliases: AliasesFile): Iterable<readonly [string, NameMeaning]> {
  for (const { is, say, v } of aliases.names) {
    for (const [variant, typed] of Object.entries(v ?? { '': [''] })) {
      const meaning = withVariant(is, variant);
      for (const name of say) {
        for (const way of typed) yield [name.replaceAll('{v}', way), meaning] as const;
      }
    }
  }
}

function withVariant(is: NameMeaning, variant: string): NameMeaning {
  const fill = (text: string): string => text.replaceAll('{v}', variant);
  return {
    ...is,
    ...(is.architecture === undefined ? {} : { architecture: fill(is.architecture) }),
    ...(is.backbone === undefined ? {} : { backbone: fill(is.backbone) }),
    ...(is.variant === undefined ? {} : { variant: fill(is.variant) }),
    ...(is.options === undefined ? {} : { options: filledOptions(is.options, fill) }),
  };
}

function filledOptions(
  options: Readonly<Record<string, OptionValue>>,
  fill: (text: string) => string,
): Record<string, OptionValue> {
  const filled = Object.entries(options).map(([name, value]) => {
    if (typeof value !== 'string' || !value.includes('{v}')) return [name, value] as const;
    const text = fill(value);
    return [name, /^\d+$/.test(text) ? Number(text) : text] as const;
  });
  return Object.fromEntries(filled);
}

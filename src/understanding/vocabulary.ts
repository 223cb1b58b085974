import type { Catalog } from '../../catalog/index.ts';
import { matchesOf } from './matches.ts';
import type { Span } from './reading.ts';

/** Names of one kind, found in text by their letters and digits; separators between them are free. */
export interface NameIndex<T> {
  find(text: string): readonly (Span & { readonly value: T; readonly key: string })[];
}

const TOKENS = /昇腾|[a-z]+|\d+/g;
const MAX_TOKENS = 6;

export function squashName(text: string): string {
  return text.toLowerCase().replace(/[\s\-_./()]/g, '');
}

interface Token extends Span {
  readonly text: string;
}

/** Runs of letters and of digits; the times sign of "8xv100" stands apart from the name. */
function tokenize(text: string): readonly Token[] {
  const tokens: Token[] = [];
  for (const match of matchesOf(TOKENS, text)) {
    const [run] = match;
    const start = match.index;
    const end = start + run.length;
    const timesName = run.length > 1 && run.startsWith('x') && /\d/.test(text[start - 1] ?? '');
    if (!timesName) tokens.push({ text: run, start, end });
    else tokens.push({ text: 'x', start, end: start + 1 }, { text: run.slice(1), start: start + 1, end });
  }
  return tokens;
}

/** "a 10 GB card" is no A10: a short letter and its digits, or digits and one letter, stand together. */
function joins(text: string, left: Token, right: Token): boolean {
  const gap = text.slice(left.end, right.start);
  if (gap === '' || gap === '-' || gap === '_') return true;
  if (!/^(?:[\s\-_/.]|\s?\(|\s-)$/.test(gap)) return false;
  const letters = /^[a-z]/.test(left.text) ? left.text : right.text;
  return letters.length >= 2 && !(letters.length === 2 && /^[a-z]{2}$/.test(letters) && /^\d+$/.test(right.text));
}

function startsWord(text: string, token: Token): boolean {
  const previous = text[token.start - 1] ?? ' ';
  if (!/[a-z0-9]/.test(previous)) return true;
  return previous === 'x' && /(?:^|\D)\d{1,2}x$/.test(text.slice(Math.max(0, token.start - 4), token.start));
}

function endsWord(text: string, end: number): boolean {
  return !/[a-z0-9]/.test(text[end] ?? ' ') || /^(?:s(?![a-z0-9])|x\d{1,2}(?!\d))/.test(text.slice(end, end + 4));
}

export function indexNames<T>(entries: readonly (readonly [name: string, value: T])[]): NameIndex<T> {
  const byKey = new Map(entries.map(([name, value]) => [squashName(name), value]));
  const firsts = new Set(entries.map(([name]) => tokenize(name.toLowerCase())[0]?.text ?? ''));
  const longest = (text: string, tokens: readonly Token[], at: number) => {
    let key = '';
    let found: { readonly key: string; readonly value: T; readonly next: number } | null = null;
    for (let i = at; i < Math.min(tokens.length, at + MAX_TOKENS); i += 1) {
      const token = tokens[i];
      const previous = tokens[i - 1];
      if (token === undefined || (i > at && previous !== undefined && !joins(text, previous, token))) break;
      key += token.text;
      const singular = key.endsWith('s') && !byKey.has(key) ? key.slice(0, -1) : key;
      const value = byKey.get(singular);
      if (value !== undefined && endsWord(text, token.end)) found = { key: singular, value, next: i + 1 };
    }
    return found;
  };
  return {
    find(text) {
      const tokens = tokenize(text);
      const mentions: (Span & { value: T; key: string })[] = [];
      for (let at = 0; at < tokens.length; ) {
        const token = tokens[at];
        const found =
          token !== undefined &&
          (firsts.has(token.text) || (token.text.endsWith('s') && firsts.has(token.text.slice(0, -1)))) &&
          startsWord(text, token)
            ? longest(text, tokens, at)
            : null;
        const last = found === null ? undefined : tokens[found.next - 1];
        if (found !== null && token !== undefined && last !== undefined) {
          mentions.push({ start: token.start, end: last.end, value: found.value, key: found.key });
        }
        at = found?.next ?? at + 1;
      }
      return mentions;
    },
  };
}

export interface GpuName {
  /** As answers print it: `A10`, `RTX 3090`, `V100`. */
  readonly name: string;
  /** Has a notebook part of the same name. */
  readonly laptop: boolean;
}

export interface DatasetName {
  readonly id: string | null;
  /** Null where the name leaves it open. */
  readonly numClasses: number | null;
}

/** The catalogue's names as understanding needs them. */
export interface Vocabulary {
  readonly gpus: NameIndex<GpuName>;
  readonly datasets: NameIndex<DatasetName>;
  /** Data sets by Chinese names. */
  readonly chineseDatasets: { readonly pattern: RegExp; readonly byName: ReadonlyMap<string, DatasetName> };
  /** `gn7i` → card of the family. */
  readonly families: ReadonlyMap<string, string>;
}

const MEMORY_IN_NAME = /[\s-]\d{1,3}\s?G(?:B)?\b|[\s-](?:16|32|40|80)$/gi;

function shortName(label: string): string {
  return label
    .replace(MEMORY_IN_NAME, '')
    .replace(/\sSXM\d?$/, '')
    .replace(' class', '')
    .trim();
}

function gpuNames(catalog: Catalog): NameIndex<GpuName> {
  const rows = catalog.gpus.flatMap((row) => {
    const value = { name: shortName(row.label), laptop: (row.laptopVariants ?? []).length > 0 };
    const names = [row.label, ...row.aliases].filter((name) => name.replace(MEMORY_IN_NAME, '') === name);
    return names.flatMap((name): readonly (readonly [string, GpuName])[] => [
      [name, value],
      [`nvidia ${name}`, value],
    ]);
  });
  const byName = new Map(catalog.gpus.map((row) => [row.name, row]));
  const ambiguous = catalog.ambiguousGpus.map((entry): readonly [string, GpuName] => {
    const row = byName.get(entry.default ?? '');
    const series = /^\d{4}\b/.test(entry.typed) ? `RTX ${entry.typed}` : entry.typed;
    return [
      entry.typed,
      { name: row === undefined ? series : shortName(row.label), laptop: (row?.laptopVariants ?? []).length > 0 },
    ];
  });
  const vendored = ambiguous.flatMap(([typed, value]): readonly (readonly [string, GpuName])[] =>
    ['nvidia', 'tesla', 'rtx', 'geforce rtx'].map((vendor) => [`${vendor} ${typed}`, value]),
  );
  const geforce = rows.flatMap(([name, value]): readonly (readonly [string, GpuName])[] =>
    /^[RG]TX /i.test(name)
      ? [
          [`geforce ${name}`, value],
          [`nvidia geforce ${name}`, value],
        ]
      : [[`tesla ${name}`, value]],
  );
  return indexNames([...vendored, ...geforce, ...rows, ...ambiguous]);
}

/** Everyday words that are also data sets: they count only beside "data set". */
const EVERYDAY = new Set([
  'cs',
  'drive',
  'stare',
  'chase',
  'lip',
  'crack',
  'flair',
  'glas',
  'refuge',
  'gta',
  'vistas',
  'synapse',
  'isic',
  'saliency',
  'opticdisc',
  'inria',
  'shenzhen',
  'oem',
  'anomalydetection',
  'gid',
  'hrf',
  'idd',
  'cvc',
  'supervisely',
  'busi',
  'context60',
  'context59',
]);

function datasetNames(catalog: Catalog): Pick<Vocabulary, 'datasets' | 'chineseDatasets'> {
  const rows = catalog.datasets.map((row) => ({ row, value: { id: row.id, numClasses: row.numClasses } }));
  const byId = new Map(rows.map(({ row, value }) => [row.id, value]));
  const shared = catalog.ambiguousDatasets.map(({ term, ids }): readonly [string, DatasetName] => {
    const classes = new Set(ids.map((id) => byId.get(id)?.numClasses ?? null));
    const [only] = classes;
    return [term, { id: null, numClasses: classes.size === 1 ? (only ?? null) : null }];
  });
  const latin = rows.flatMap(({ row, value }) =>
    [row.id, row.name, ...row.names.en].map((name): readonly [string, DatasetName] => [name, value]),
  );
  const chinese = [
    ...rows.flatMap(({ row, value }) => row.names.zh.map((name): readonly [string, DatasetName] => [name, value])),
    ...shared,
  ].filter(([name]) => /^[\u4e00-\u9fff]{2,}$/.test(name));
  const byName = new Map(chinese);
  const alternatives = [...byName.keys()].sort((a, b) => b.length - a.length);
  return {
    datasets: indexNames(
      [...latin, ...shared].filter(([name]) => /^[\x20-\x7e]+$/.test(name) && !EVERYDAY.has(squashName(name))),
    ),
    chineseDatasets: { byName, pattern: new RegExp(alternatives.join('|') || '(?!)', 'g') },
  };
}

function buildVocabulary(catalog: Catalog): Vocabulary {
  const cards = new Map(catalog.gpus.map((row) => [row.name, shortName(row.label)]));
  return {
    gpus: gpuNames(catalog),
    ...datasetNames(catalog),
    families: new Map(catalog.instances.map((row) => [row.family, cards.get(row.gpu) ?? row.gpu])),
  };
}

const BUILT = new WeakMap<Catalog, Vocabulary>();

/** Built once per catalogue. */
export function vocabularyOf(catalog: Catalog): Vocabulary {
  const known = BUILT.get(catalog);
  if (known !== undefined) return known;
  const built = buildVocabulary(catalog);
  BUILT.set(catalog, built);
  return built;
}

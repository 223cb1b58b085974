import { readdirSync } from 'node:fs';

import { toGpuSpec } from '../../catalog/gpu-names.ts';
import { estimate } from '../../src/estimator/estimate.ts';
import { secondsPerIteration } from '../../src/estimator/timing.ts';
import { trace } from '../../src/estimator/trace.ts';
import {
  macroMean,
  quantile,
  type Scored,
  scoreRows,
  sharedCatalog,
  type TruthRow,
  truthRows,
  workloadOf,
} from './truth.ts';

const FIXTURES = new URL('../fixtures/traces/', import.meta.url);

/** Fixtures whose name starts with one of `prefixes`, in alphabetical order. */
function fixtures(...prefixes: readonly string[]): readonly string[] {
  return readdirSync(FIXTURES)
    .filter((name) => name.endsWith('.json') && prefixes.some((prefix) => name.startsWith(prefix)))
    .map((name) => name.slice(0, -'.json'.length))
    .sort();
}

type Line = readonly (string | number)[];

function table(head: Line, lines: readonly Line[]): string {
  const row = (cells: Line): string => `| ${cells.join(' | ')} |`;
  const rule = head.map((_, index) => (index === 0 ? '---' : '--:'));
  return [row(head), row(rule), ...lines.map(row)].join('\n');
}

/** A share as a percentage; a zero is told from something small. */
function percent(share: number, digits = 2): string {
  if (share === 0) return '0';
  const shown = (100 * share).toFixed(digits);
  return Number(shown) === 0 ? `< ${(10 ** -digits).toFixed(digits)}` : shown;
}

const errors = (scored: readonly Scored[]): number[] => scored.map(({ error }) => error);
const mean = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / Math.max(1, values.length);
const worst = (values: readonly number[]): number => Math.max(0, ...values);

const FIGURES = ['saved', 'peakForward', 'peakBackward', 'allocatedPeak'];

/** Mean and worst error of each figure, and on how many rows all of them are exact to the byte. */
function figures(scored: readonly Scored[]): Line {
  const cells = FIGURES.map((figure) => {
    const values = errors(scored.filter((one) => one.figure === figure));
    return worst(values) === 0 ? 'exact' : `${percent(mean(values))} / ${percent(worst(values))}`;
  });
  const wrong = new Set(
    scored.filter(({ figure, error }) => FIGURES.includes(figure) && error > 0).map(({ row }) => row),
  );
  const rows = rowsOf(scored);
  return [...cells, `${rows - wrong.size} of ${rows}`];
}

const HEAD = ['saved', 'forward', 'backward', 'allocated peak', 'rows exact to the byte'];

function groupBy<T>(items: readonly T[], key: (item: T) => string): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const group = groups.get(key(item));
    if (group === undefined) groups.set(key(item), [item]);
    else group.push(item);
  }
  return groups;
}

/** Traced sources; the files of parameter counts hold no bytes. */
function traced(): Map<string, Scored[]> {
  const names = fixtures('traces-', 'own-').filter((name) => truthRows(name)[0]?.expect['saved'] !== undefined);
  return new Map(names.map((name) => [name, scoreRows(truthRows(name))]));
}

function traceTables(): string {
  const sources = traced();
  const bySource = [...sources].map(([name, scored]) => [
    `\`${name}\``,
    new Set(scored.map(({ row }) => row.family)).size,
    ...figures(scored),
  ]);
  const families = [...groupBy([...sources.values()].flat(), ({ row }) => spelling(row.family))].sort();
  const near = families.filter(([, scored]) => !isExact(scored));
  const exact = families.filter(([, scored]) => isExact(scored));
  return [
    '### Traces of official code, by source',
    table(['source', 'families', ...HEAD], bySource),
    '### Traces of official code, by family',
    'Every row exact to the byte (number of rows):',
    exactList(exact.map(([, scored]) => scored)),
    table(
      ['other families', ...HEAD],
      near.map(([, scored]) => [familyName(scored), ...figures(scored)]),
    ),
  ].join('\n\n');
}

/** `MMSeg DeepLabV3+` and `mmseg deeplabv3plus` are one family. */
const spelling = (family: string): string =>
  family
    .toLowerCase()
    .replaceAll('+', 'plus')
    .replaceAll(/[^a-z0-9 ]/g, '');

/** One line a library. */
function exactList(families: readonly (readonly Scored[])[]): string {
  const libraries = groupBy(families, (scored) => familyName(scored).split(' ')[0] ?? '');
  return [...libraries]
    .map(([library, list]) => {
      const names = list.map((scored) => `${familyName(scored).slice(library.length + 1)} (${rowsOf(scored)})`);
      return `- ${library}: ${names.join(', ')}`;
    })
    .join('\n');
}

const rowsOf = (scored: readonly Scored[]): number => new Set(scored.map(({ row }) => row)).size;
const isExact = (scored: readonly Scored[]): boolean =>
  scored.every(({ figure, error }) => !FIGURES.includes(figure) || error === 0);

/** Fixtures spell a family with and without capitals. */
function familyName(scored: readonly Scored[]): string {
  return [...new Set(scored.map(({ row }) => row.family))].sort()[0] ?? '';
}

function exactParameters(rows: readonly TruthRow[]): number {
  return rows.filter(({ input, expect }) => {
    const { t } = trace(workloadOf(input));
    return t.parameterCount === expect['parameters'] && t.trainableCount === expect['trainableParameters'];
  }).length;
}

function parameterTable(): string {
  const files = fixtures('parameters', 'own-').filter((name) => truthRows(name)[0]?.expect['saved'] === undefined);
  const lines = files.flatMap((name) => {
    const rows = truthRows(name);
    return [[`\`${name}\``, rows.length, exactParameters(rows)]];
  });
  return ['### Parameter counts', table(['source', 'models', 'exact'], lines)].join('\n\n');
}

function measuredTable(): string {
  const rows = truthRows('measured-mmseg');
  const scored = scoreRows(rows);
  const line = (name: string, list: readonly Scored[]): Line => {
    const covered = list.filter(({ row, error }) => error <= estimate(workloadOf(row.input)).uncertainty.relative);
    const values = errors(list);
    return [
      name,
      list.length,
      percent(quantile(values, 0.5)),
      percent(mean(values)),
      percent(quantile(values, 0.9)),
      percent(worst(values)),
      `${covered.length} of ${list.length}`,
    ];
  };
  const families = [...groupBy(scored, ({ row }) => row.family)];
  return [
    '### Measured trainings (`measured-mmseg`)',
    table(
      ['family', 'rows', 'median', 'mean', 'p90', 'worst', 'within the stated uncertainty'],
      [...families.map(([name, list]) => line(name, list)), line('**all**', scored)],
    ),
    `Mean of the families' means: ${percent(macroMean(scored))} %.`,
  ].join('\n\n');
}

interface Timed {
  readonly row: TruthRow;
  readonly log: number;
  readonly inside: boolean;
}

function timed(row: TruthRow): readonly Timed[] {
  const match = sharedCatalog().findGpu(String(row.input['gpu']));
  const want = row.expect['secondsPerIteration'];
  if (match === undefined || 'ambiguous' in match || typeof want !== 'number') return [];
  const [low, high] = secondsPerIteration(estimate(workloadOf(row.input)), toGpuSpec(match));
  const slack = 1 + (row.tolerance?.['secondsPerIteration'] ?? 0);
  const log = Math.abs(Math.log(Math.sqrt(low * high) / want));
  return [{ row, log, inside: low / slack <= want && want <= high * slack }];
}

function timeTable(): string {
  const all = truthRows('time').flatMap(timed);
  const line = (name: string, list: readonly Timed[]): Line => {
    const logs = list.map(({ log }) => log);
    const inside = list.filter((one) => one.inside).length;
    return [
      name,
      list.length,
      percent(quantile(logs, 0.5), 1),
      percent(quantile(logs, 0.9), 1),
      `${inside} of ${list.length}`,
    ];
  };
  return [
    '### Seconds per iteration (`time`)',
    table(
      ['source', 'rows', 'median', 'p90', 'within the stated range'],
      [...[...groupBy(all, ({ row }) => row.family)].map(([name, list]) => line(name, list)), line('**all**', all)],
    ),
  ].join('\n\n');
}

const BEGIN = '<!-- tables: begin -->';
const END = '<!-- tables: end -->';

/** `page` with its tables made again from the fixtures. */
export function withTables(page: string): string {
  const [before, rest] = page.split(BEGIN);
  const after = rest?.split(END)[1];
  if (before === undefined || after === undefined) throw new RangeError(`the page has no ${BEGIN} … ${END}`);
  const tables = [traceTables(), parameterTable(), measuredTable(), timeTable()].join('\n\n');
  return `${before}${BEGIN}\n\n${tables}\n\n${END}${after}`;
}

import { readFileSync } from 'node:fs';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';

export type Row = Readonly<Record<string, unknown>>;

/** A field in which catalogue and source differ; a row that only one of them has differs in `(row)`. */
export interface Difference {
  readonly row: string;
  readonly field: string;
  readonly source: unknown;
  readonly catalogue: unknown;
}

/** A difference that is meant, and why. */
export interface MeantDifference extends Difference {
  readonly reason: string;
}

const table = z.object({ columns: z.array(z.string()), rows: z.array(z.array(z.unknown())) });
const sourceFile = z.looseObject({ tables: z.record(z.string(), table) });
const document = z.record(z.string(), z.unknown());

function read(path: string): unknown {
  return JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8'));
}

/** What stands at the top of a file of the catalogue, as written there. */
export function catalogueHead(file: string): Row {
  return document.parse(read(`../../catalog/${file}`));
}

/** Everything beside the tables of a file of collected facts. */
export function sourceHead(file: string): Row {
  return sourceFile.parse(read(`../fixtures/catalog-sources/${file}`));
}

/** The rows of one table of collected facts, by column; a cell without a value is left out. */
export function sourceTable(file: string, name: string): readonly Row[] {
  const { columns, rows } = table.parse(sourceFile.parse(read(`../fixtures/catalog-sources/${file}`)).tables[name]);
  return rows.map((cells) => {
    if (cells.length !== columns.length) throw new Error(`${file}, ${name}: ${JSON.stringify(cells[0])} is cut short`);
    return stated(Object.fromEntries(columns.map((column, index) => [column, cells[index]])));
  });
}

/** Without the fields that state nothing. */
export function stated(row: object): Row {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null && value !== undefined));
}

/**
 * Compares the catalogue's rows with what its sources make of them, field by field and both ways.
 *
 * @throws Error when two rows of a list have one key.
 */
export function differences(
  catalogue: readonly object[],
  source: readonly Row[],
  keyOf: (row: Row) => string,
): readonly Difference[] {
  const ours = byKey(catalogue.map(stated), keyOf);
  const theirs = byKey(source.map(stated), keyOf);
  return [...new Set([...theirs.keys(), ...ours.keys()])].flatMap((row) => {
    const [here, there] = [ours.get(row), theirs.get(row)];
    if (here === undefined || there === undefined) {
      return [{ row, field: '(row)', source: there !== undefined, catalogue: here !== undefined }];
    }
    return [...new Set([...Object.keys(there), ...Object.keys(here)])]
      .filter((field) => !isDeepStrictEqual(here[field], there[field]))
      .map((field) => ({ row, field, source: there[field] ?? null, catalogue: here[field] ?? null }));
  });
}

function byKey(rows: readonly Row[], keyOf: (row: Row) => string): ReadonlyMap<string, Row> {
  const map = new Map(rows.map((row) => [keyOf(row), row]));
  if (map.size !== rows.length) throw new Error('two rows with one key');
  return map;
}

/** The differences of a table of meant ones, without the reasons. */
export function withoutReasons(meant: readonly MeantDifference[]): readonly Difference[] {
  return meant.map(({ reason: _reason, ...difference }) => difference);
}

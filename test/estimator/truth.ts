import { readFileSync } from 'node:fs';
import { z } from 'zod';

import { type Catalog, loadCatalog } from '../../catalog/index.ts';
import { estimateLineSchema } from '../../src/cli/workload-line.ts';
import { estimate } from '../../src/estimator/estimate.ts';
import type { Estimate } from '../../src/estimator/estimate-result.ts';
import type { Workload } from '../../src/estimator/workload.ts';
import { parseFields } from '../../src/workload/fields.ts';
import { workloadFromLine } from '../../src/workload/from-line.ts';

const rowSchema = z.object({
  id: z.string(),
  family: z.string(),
  input: z.record(z.string(), z.unknown()),
  expect: z.record(z.string(), z.number().nullable()),
  tolerance: z.record(z.string(), z.number()).optional(),
});

export type TruthRow = z.infer<typeof rowSchema>;

/** Rows of a file in `test/fixtures/traces`: traces of official code, measured trainings, parameter counts. */
export function truthRows(name: string): readonly TruthRow[] {
  const text = readFileSync(new URL(`../fixtures/traces/${name}.json`, import.meta.url), 'utf8');
  return z.object({ rows: z.array(rowSchema) }).parse(JSON.parse(text)).rows;
}

let catalog: Catalog | undefined;

export function sharedCatalog(): Catalog {
  catalog ??= loadCatalog();
  return catalog;
}

/** The workload of a line, as the command line reads it. */
export function workloadOf(input: Readonly<Record<string, unknown>>): Workload {
  return workloadFromLine(parseFields(estimateLineSchema, { id: 'row', ...input }), sharedCatalog()).workload;
}

const COUNTS = new Set(['parameters', 'trainableParameters', 'forwardMacs']);

/** A figure of the output by its name. Only this one is computed: reserved memory takes a hundred times longer than the peak. */
export function figureOf(result: Estimate, name: string): number {
  return z.number().parse(Reflect.get(COUNTS.has(name) ? result : result.bytes, name));
}

export interface Scored {
  readonly row: TruthRow;
  readonly figure: string;
  /** Relative, after the row's own tolerance. */
  readonly error: number;
  readonly signed: number;
}

/** Errors of every expected figure of every row. */
export function scoreRows(rows: readonly TruthRow[]): Scored[] {
  return rows.flatMap((row) => {
    const result = estimate(workloadOf(row.input));
    return Object.entries(row.expect).flatMap(([figure, want]) => {
      if (want === null) return [];
      const signed = (figureOf(result, figure) - want) / Math.max(1, want);
      return [{ row, figure, signed, error: Math.max(0, Math.abs(signed) - (row.tolerance?.[figure] ?? 0)) }];
    });
  });
}

/** Mean error of each family, averaged over families. */
export function macroMean(scored: readonly Scored[]): number {
  const families = groupByFamily(scored);
  const means = [...families.values()].map((errors) => errors.reduce((sum, error) => sum + error, 0) / errors.length);
  return means.reduce((sum, mean) => sum + mean, 0) / Math.max(1, means.length);
}

function groupByFamily(scored: readonly Scored[]): Map<string, number[]> {
  const families = new Map<string, number[]>();
  for (const { row, error } of scored) families.set(row.family, [...(families.get(row.family) ?? []), error]);
  return families;
}

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(share * sorted.length))] ?? Number.NaN;
}

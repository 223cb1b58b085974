import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { AppError } from '../src/errors.ts';

/** How the rows of one list are told apart; the operator's row with the same key replaces the built-in one. */
export interface ListSpec<Schema extends z.ZodType> {
  /** File below the catalogue folder, e.g. `prices/alibaba.json`. */
  readonly file: string;
  readonly list: string;
  readonly schema: Schema;
  readonly key: (row: z.infer<Schema>) => string;
}

export type Folders = readonly [builtIn: string, ...overlays: string[]];

const document = z.record(z.string(), z.unknown());
const rowList = z.array(z.unknown());

interface Place {
  readonly file: string;
  readonly row: string;
  readonly field: string;
}

/** An operator reads this: which file, which row, which field, and what is wrong with it. */
export function invalidCatalog(place: Place, problem: string, cause?: unknown): AppError {
  const where = [place.file, place.row, place.field].filter((part) => part !== '').join(', ');
  return new AppError('invalid-catalog', `catalogue: ${where}: ${problem}`, {
    ...(cause === undefined ? {} : { cause }),
    details: { file: place.file, row: place.row, field: place.field },
  });
}

/** Freezes a value and everything below it. */
export function deepFreeze<T>(value: T): T {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  for (const item of Object.values(value)) deepFreeze(item);
  return Object.freeze(value);
}

/** The parsed document of a folder, or undefined where the folder does not have the file. */
export function readDocument(folder: string, file: string): Record<string, unknown> | undefined {
  const path = join(folder, file);
  if (!existsSync(path)) return undefined;
  try {
    return document.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw invalidCatalog({ file: path, row: '', field: '' }, 'not a JSON object', error);
  }
}

/**
 * Holds the lists of an overlay's file against the built-in ones: one under another name would change nothing.
 *
 * @throws AppError `invalid-catalog` naming file and list.
 */
export function checkLists(builtIn: string, overlay: string, file: string): void {
  const known = Object.keys(readDocument(builtIn, file) ?? {});
  const unknown = Object.keys(readDocument(overlay, file) ?? {}).find((list) => !known.includes(list));
  if (unknown === undefined) return;
  throw invalidCatalog({ file: join(overlay, file), row: '', field: unknown }, `not one of ${known.join(', ')}`);
}

const identity = z.object({
  name: z.string().optional(),
  id: z.string().optional(),
  instanceType: z.string().optional(),
  region: z.string().optional(),
});

function describeRow(row: unknown, index: number): string {
  const known = identity.safeParse(row);
  const names = known.success ? Object.values(known.data).filter((name) => name !== undefined) : [];
  return names.length === 0 ? `row ${index + 1}` : `row ${index + 1} (${names.join(' ')})`;
}

function parseRow<Schema extends z.ZodType>(
  spec: ListSpec<Schema>,
  path: string,
  entry: readonly [number, unknown],
): z.infer<Schema> {
  const parsed = spec.schema.safeParse(entry[1]);
  if (parsed.success) return deepFreeze(parsed.data);
  const issue = parsed.error.issues[0];
  const field = issue === undefined ? '' : [...issue.path, ...unknownKeys(issue)].map(String).join('.');
  throw invalidCatalog(
    { file: path, row: describeRow(entry[1], entry[0]), field },
    issue?.message ?? 'invalid',
    parsed.error,
  );
}

function unknownKeys(issue: z.core.$ZodIssue): readonly string[] {
  return issue.code === 'unrecognized_keys' ? issue.keys : [];
}

/**
 * Reads one list from the built-in folder and lays each overlay over it row by row.
 *
 * @throws AppError `invalid-catalog` naming file, row and field.
 */
export function readList<Schema extends z.ZodType>(
  folders: Folders,
  spec: ListSpec<Schema>,
): readonly z.infer<Schema>[] {
  const merged = new Map<string, z.infer<Schema>>();
  for (const folder of folders) {
    const path = join(folder, spec.file);
    const rows = readDocument(folder, spec.file)?.[spec.list] ?? [];
    const parsed = rowList.safeParse(rows);
    if (!parsed.success) throw invalidCatalog({ file: path, row: '', field: spec.list }, 'not a list of rows');
    const seen = new Set<string>();
    for (const entry of parsed.data.entries()) {
      const row = parseRow(spec, path, entry);
      const key = spec.key(row);
      if (seen.has(key))
        throw invalidCatalog({ file: path, row: describeRow(row, entry[0]), field: '' }, 'given twice');
      seen.add(key);
      merged.set(key, row);
    }
  }
  return Object.freeze([...merged.values()]);
}

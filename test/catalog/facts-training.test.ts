import { describe, expect, test } from 'vitest';
import { loadCatalog } from '../../catalog/index.ts';
import { catalogueHead, differences, type Row, sourceHead, sourceTable } from './source-tables.ts';

const catalog = loadCatalog();
const byId = (row: Row): string => String(row['id']);

/** Lists that the catalogue carries as collected, with the file's day on every row. */
const LISTS = [
  { name: 'datasets', rows: catalog.datasets, count: 66, head: ['fields', 'sources', 'ambiguous'] },
  { name: 'recipes', rows: catalog.recipes, count: 83, head: ['fields', 'sources', 'normalRun', 'scalingRules'] },
  { name: 'accuracy', rows: catalog.accuracy, count: 785, head: ['fields', 'sources'] },
] as const;

describe.each(LISTS)('$name are those of the sources', ({ name, rows, count, head }) => {
  const file = `${name}.json`;
  const collected = sourceHead(file);
  const source = sourceTable(file, name).map((row) => ({ ...row, checkedOn: collected['checkedOn'] }));

  test('every field of every row, none missing, none extra', () => {
    expect(differences(rows, source, byId)).toEqual([]);
    expect(source).toHaveLength(count);
  });

  test('in the order of the collection, which answers keep', () => {
    expect(rows.map(({ id }) => id)).toEqual(source.map(byId));
  });

  test('what stands above the rows', () => {
    const written = catalogueHead(file);
    expect(written['checkedOn']).toBe('2026-11-30');
    for (const field of ['checkedOn', ...head]) expect(written[field], field).toEqual(collected[field]);
  });
});

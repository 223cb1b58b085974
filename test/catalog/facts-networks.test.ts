import { describe, expect, test } from 'vitest';
import aliases from '../../catalog/aliases.json' with { type: 'json' };
import { loadCatalog } from '../../catalog/index.ts';
import models from '../../catalog/models.json' with { type: 'json' };
import { builtInModels } from '../../catalog/models.ts';
import { spellings } from '../../src/understanding/names/vocabulary.ts';
import { differences, type Row, sourceTable, stated } from './source-tables.ts';

const catalog = builtInModels();
const id = (row: Row): string => `${row['implementation']}/${row['architecture']}`;
const rowsOf = (name: string): readonly Row[] => sourceTable('networks.json', name);
const entries = (table: object, key: string, value: string): readonly Row[] =>
  Object.entries(table).map(([name, held]) => ({ [key]: name, [value]: held }));

describe('networks are what the libraries build', () => {
  test('backbones, constructor defaults, optimizer, loss, attention, fixed input size', () => {
    expect(differences(catalog.rows, rowsOf('networks'), id)).toEqual([]);
    expect(catalog.rows).toHaveLength(93);
  });

  test('variants that a recipe builds', () => {
    expect(catalog.recipes.map(stated)).toEqual(rowsOf('recipes'));
    expect(catalog.recipes).toHaveLength(20);
  });

  test('combinations that a library refuses', () => {
    expect(catalog.refused.map(stated)).toEqual(rowsOf('refused'));
  });

  test('groups of backbones, names of the libraries, nearest networks', () => {
    const { backbones, libraryNames, nearest } = models;
    expect(differences(entries(backbones, 'group', 'backbones'), rowsOf('groups'), (row) => `${row['group']}`)).toEqual(
      [],
    );
    expect(entries(libraryNames, 'library', 'names')).toEqual(rowsOf('libraryNames'));
    expect(differences(entries(nearest, 'name', 'nearest'), rowsOf('nearest'), (row) => `${row['name']}`)).toEqual([]);
  });

  test('reference scripts keep the logits while they step where their loop names them', () => {
    const held = new Set(catalog.rows.filter((row) => row.outputHeld).map((row) => row.implementation));
    expect([...held]).toEqual(['smp', 'torchvision', 'milesial', 'original']);
    const dropped = catalog.rows.filter((row) => held.has(row.implementation) && !row.outputHeld);
    expect(dropped.map(id)).toEqual(['torchvision/maskrcnn']);
  });
});

describe('names people type', () => {
  test('every spelling and its meaning, in the order of the table', () => {
    const expected = sourceTable('spellings.json', 'spellings').flatMap(({ means, typed }) =>
      (Array.isArray(typed) ? typed : []).map((name) => [name, means]),
    );
    expect([...spellings(catalog.aliases)]).toEqual(expected);
  });

  test('words for data sets and their classes', () => {
    const collected = sourceTable('spellings.json', 'datasets');
    expect(differences(aliases.datasets, collected, (row) => `${row['say']}`)).toEqual([]);
    expect(aliases.datasets.map((row) => row.say)).toEqual(collected.map((row) => row['say']));
    expect(aliases.checkedOn).toBe('2026-11-30');
  });

  test('carry the classes of the data set they name, where one count is usual', () => {
    const { datasets } = loadCatalog();
    const unlike = aliases.datasets.filter(({ dataset, numClasses }) => {
      const row = datasets.find((candidate) => candidate.id === dataset);
      return dataset !== null && row?.numClasses !== numClasses;
    });
    // NYUv2 is trained with 40 or with 13 classes: its name alone decides neither.
    expect(unlike.map(({ say, numClasses }) => [say, numClasses])).toEqual([['nyu', null]]);
  });
});

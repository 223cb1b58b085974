import { describe, expect, test } from 'vitest';
import aliases from '../../catalog/aliases.json' with { type: 'json' };
import { loadCatalog } from '../../catalog/index.ts';
import models from '../../catalog/models.json' with { type: 'json' };
import { builtInModels } from '../../catalog/models.ts';
import { spellings } from '../../src/understanding/names/vocabulary.ts';

/*
 * Networks were read from the libraries' code and names from people's messages: neither has a table of its own to compare
 * with. The fixtures hold what was read, a line each; `vitest run test/catalog/facts-networks -u` writes them anew, and the
 * reviewer of a change reads in them what it does.
 */
const FIXTURES = '../fixtures/catalog-sources';
const catalog = builtInModels();
const lines = (rows: Iterable<unknown>): string => `${Array.from(rows, (row) => JSON.stringify(row)).join('\n')}\n`;

describe('networks are what the libraries build', () => {
  test('backbones, constructor defaults, optimizer, loss, attention, fixed input size', async () => {
    await expect(lines(catalog.rows)).toMatchFileSnapshot(`${FIXTURES}/networks.jsonl`);
  });

  test('variants of recipes, refused combinations, groups of backbones, names of libraries, nearest networks', async () => {
    const { backbones, libraryNames, nearest } = models;
    const kept = [
      ...catalog.recipes,
      ...catalog.refused,
      ...Object.entries(backbones),
      ...Object.values(libraryNames).flatMap((names) => Object.entries(names)),
      ...Object.entries(nearest),
    ];
    await expect(lines(kept)).toMatchFileSnapshot(`${FIXTURES}/networks-variants.jsonl`);
  });

  test('a library’s reference script keeps the logits while it steps, or it does not', () => {
    const id = (row: (typeof catalog.rows)[number]): string => `${row.implementation}/${row.architecture}`;
    const keeps = ['smp', 'torchvision', 'milesial', 'original', 'monai'];
    const wrong = catalog.rows.filter((row) => row.outputHeld !== keeps.includes(row.implementation));
    expect(wrong.map(id)).toEqual(['torchvision/maskrcnn']);
  });
});

describe('names people type', () => {
  test('every spelling and its meaning, in the order of the table', async () => {
    await expect(lines(spellings(catalog.aliases))).toMatchFileSnapshot(`${FIXTURES}/spellings.jsonl`);
  });

  test('words for data sets and their classes', async () => {
    const { source, checkedOn, datasets } = aliases;
    await expect(lines([{ source, checkedOn }, ...datasets])).toMatchFileSnapshot(
      `${FIXTURES}/spellings-datasets.jsonl`,
    );
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

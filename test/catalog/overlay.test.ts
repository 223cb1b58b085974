import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { loadCatalog } from '../../catalog/index.ts';
import { createPriceBook } from '../../catalog/price-book.ts';
import { AppError } from '../../src/errors.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'catalog-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(file: string, content: unknown): void {
  mkdirSync(dirname(join(folder, file)), { recursive: true });
  writeFileSync(join(folder, file), typeof content === 'string' ? content : JSON.stringify(content));
}

function failureOf(action: () => unknown): AppError {
  try {
    action();
  } catch (error) {
    if (error instanceof AppError) return error;
    throw error;
  }
  throw new Error('nothing was thrown');
}

const price = {
  instanceType: 'ecs.gn7i-c8g1.2xlarge',
  region: 'cn-hangzhou',
  currency: 'CNY',
  amountPerHour: 8.5,
  source: 'contract',
  checkedOn: '2026-11-01',
};

describe("an operator's folder", () => {
  test('replaces rows of the same key and leaves the others', () => {
    put('prices/alibaba.json', { rows: [price] });
    const { prices } = loadCatalog(folder);
    const book = createPriceBook(prices);
    expect(book.find('ecs.gn7i-c8g1.2xlarge', 'cn-hangzhou')).toMatchObject({ amountPerHour: 8.5, source: 'contract' });
    expect(book.find('ecs.gn7i-c8g1.2xlarge', 'cn-shanghai')?.amountPerHour).toBeCloseTo(9.53, 2);
    expect(prices.rows).toHaveLength(693);
  });

  test('adds a card that instances may carry', () => {
    const built = loadCatalog();
    const card = {
      ...built.gpuByName('NVIDIA A10'),
      name: 'NVIDIA A10X',
      label: 'A10X',
      aliases: ['A10X'],
      smiNames: [],
    };
    put('gpus.json', { rows: [card] });
    const match = loadCatalog(folder).findGpu('a10x');
    expect(match === undefined || 'ambiguous' in match ? null : match.name).toBe('NVIDIA A10X');
  });

  test('a folder without files changes nothing', () => {
    expect(loadCatalog(folder).gpus).toEqual(loadCatalog().gpus);
  });
});

describe('a bad row is an error that an operator can act on', () => {
  test('wrong value: file, row and field', () => {
    put('prices/alibaba.json', { rows: [price, { ...price, region: 'cn-beijing', amountPerHour: -1 }] });
    const error = failureOf(() => loadCatalog(folder));
    expect(error.code).toBe('invalid-catalog');
    expect(error.details).toMatchObject({ field: 'amountPerHour' });
    expect(error.message).toContain(join(folder, 'prices/alibaba.json'));
    expect(error.message).toContain('row 2 (ecs.gn7i-c8g1.2xlarge cn-beijing)');
  });

  test('a misspelt field is named', () => {
    put('prices/alibaba.json', { rows: [{ ...price, ammountPerHour: 1 }] });
    expect(failureOf(() => loadCatalog(folder)).details['field']).toBe('ammountPerHour');
  });

  test('a row given twice', () => {
    put('prices/alibaba.json', { rows: [price, price] });
    expect(failureOf(() => loadCatalog(folder)).message).toContain('given twice');
  });

  test('an alias that already means another card', () => {
    const card = {
      ...loadCatalog().gpuByName('NVIDIA A10'),
      name: 'NVIDIA A10X',
      label: 'A10X',
      aliases: ['T4'],
      smiNames: [],
    };
    put('gpus.json', { rows: [card] });
    expect(failureOf(() => loadCatalog(folder)).message).toContain('"T4" already means');
  });

  test('a proposable type with a card that nobody knows', () => {
    const type = { ...loadCatalog().instance('ecs.gn7i-c8g1.2xlarge'), gpu: 'NVIDIA Z1' };
    put('instances/alibaba.json', { rows: [type] });
    expect(failureOf(() => loadCatalog(folder)).details).toMatchObject({ row: 'ecs.gn7i-c8g1.2xlarge', field: 'gpu' });
  });

  test('not JSON, not an object, not a list, no folder', () => {
    put('gpus.json', '{"rows": [');
    expect(failureOf(() => loadCatalog(folder)).code).toBe('invalid-catalog');
    put('gpus.json', '[]');
    expect(failureOf(() => loadCatalog(folder)).code).toBe('invalid-catalog');
    put('gpus.json', { rows: {} });
    expect(failureOf(() => loadCatalog(folder)).details['field']).toBe('rows');
    expect(failureOf(() => loadCatalog(join(folder, 'missing'))).message).toContain('does not exist');
  });

  test('a list under another name, a file in place of the folder', () => {
    put('datasets.json', { datasets: [] });
    expect(failureOf(() => loadCatalog(folder)).message).toMatch(/datasets\.json, datasets: not one of .*rows/);
    const file = join(folder, 'datasets.json');
    expect(failureOf(() => loadCatalog(file)).message).toContain('does not exist');
  });

  test('a lazily read file fails when it is first used', () => {
    put('datasets.json', { rows: [{ id: 'mine' }] });
    const catalog = loadCatalog(folder);
    expect(failureOf(() => catalog.datasets).details['row']).toBe('row 1 (mine)');
  });
});

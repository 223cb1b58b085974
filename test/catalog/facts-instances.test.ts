import { describe, expect, test } from 'vitest';
import { loadCatalog } from '../../catalog/index.ts';
import { catalogueHead, differences, type Row, sourceHead, sourceTable } from './source-tables.ts';

const FILE = 'alibaba-instances.json';
const { instances } = loadCatalog();

/** Day of the newest dated source of a type that the API's list of 2026-01-31 lacks. */
function checkedOn(sources: unknown): string {
  const keys = Array.isArray(sources) ? sources : [];
  if (keys.includes('ecs-api')) return '2026-01-31';
  return keys.includes('navigator') ? '2026-08-22' : '2026-07-23';
}

function measured(cells: unknown): Row | undefined {
  if (!Array.isArray(cells)) return undefined;
  const [productName, memoryTotalMiB, memoryReservedMiB, driver, day] = cells;
  return { productName, memoryTotalMiB, memoryReservedMiB, driver, checkedOn: day };
}

const asCatalogue = (row: Row): Row => ({
  instanceType: row['instanceType'],
  family: row['family'],
  mode: row['mode'],
  vcpu: row['vcpu'],
  memoryGiB: row['memoryGiB'],
  gpu: row['gpuModel'],
  gpuVendor: row['gpuVendor'],
  gpuConfidence: row['gpuModelConfidence'],
  gpuApiLabel: row['gpuSpecApiLabel'],
  gpuCount: row['gpuCount'],
  gpuMemoryGB: row['gpuMemoryGBPerGpu'],
  networkGbps: row['networkGbps'],
  erdma: row['erdma'],
  nvlink: row['nvlink'],
  docStatus: row['docStatus'],
  activeOnInternationalSite: row['seenActiveAug2026Intl'],
  measured: measured(row['measured']),
  source: row['source'],
  checkedOn: checkedOn(row['source']),
});

describe('instance types are those of the sources', () => {
  const source = sourceTable(FILE, 'instances');

  test('every field of every type, none missing, none extra', () => {
    expect(differences(instances, source.map(asCatalogue), (row) => String(row['instanceType']))).toEqual([]);
    expect(source).toHaveLength(238);
  });

  test('types that nvidia-smi was read on', () => {
    expect(instances.filter((row) => row.measured !== null)).toHaveLength(33);
  });

  test('the file explains its sources as the collection does', () => {
    const head = catalogueHead('instances/alibaba.json');
    expect(head['sources']).toEqual(sourceHead(FILE)['sources']);
    expect(head).toMatchObject({ vendor: 'alibaba', checkedOn: '2026-01-31' });
    expect(head['licence']).toBe('CC BY-SA 4.0 (see catalog/SOURCES.md)');
  });
});

import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import type { InstanceRow, PriceRow } from '../rows.ts';
import type { ApiInstanceType } from './ecs-inventory.ts';

const PRICES = 'prices/alibaba.json';
const INSTANCES = 'instances/alibaba.json';

const object = z.record(z.string(), z.unknown());
const keyed = z.looseObject({ instanceType: z.string(), region: z.string().optional() });

interface Keyed {
  readonly instanceType: string;
  readonly region?: string | undefined;
}

type Document = Record<string, unknown>;

function readDocument(path: string): Document {
  return object.parse(JSON.parse(readFileSync(path, 'utf8')));
}

const isRowList = (value: unknown): value is readonly unknown[] =>
  Array.isArray(value) && value.length > 0 && typeof value[0] === 'object';

/** One row a line, so that a refresh shows what changed; swapped in at once, so that a reader never sees half of it. */
function writeDocument(path: string, document: Document): void {
  const members = Object.entries(document).map(([key, value]) => {
    const rows = isRowList(value)
      ? `[\n${value.map((row) => `  ${JSON.stringify(row)}`).join(',\n')}\n ]`
      : JSON.stringify(value);
    return ` ${JSON.stringify(key)}: ${rows}`;
  });
  const fresh = `${path}.${process.pid}.new`;
  writeFileSync(fresh, `{\n${members.join(',\n')}\n}\n`);
  renameSync(fresh, path);
}

function mergeRows(document: Document, rows: readonly Keyed[]) {
  const keyOf = (row: Keyed) => `${row.region ?? ''} ${row.instanceType}`;
  const known = z.array(keyed).parse(document['rows'] ?? []);
  const merged = new Map<string, unknown>(known.map((row) => [keyOf(row), row]));
  for (const row of rows) merged.set(keyOf(row), row);
  return [...merged.values()];
}

export interface WrittenRows {
  readonly written: number;
  readonly file: string;
}

/** Replaces the rows that a live source gave, keeps the others with their own dates. */
export function writePrices(
  folder: string,
  rows: readonly PriceRow[],
  source: { key: string; text: string },
): WrittenRows {
  const path = join(folder, PRICES);
  const document = readDocument(path);
  const sources = { ...object.parse(document['sources'] ?? {}), [source.key]: source.text };
  const newest = rows
    .map((row) => row.checkedOn)
    .sort()
    .at(-1);
  // Spot prices hold for minutes; a file keeps list prices.
  const listed = rows.map(({ spotPerHour: _, ...row }) => row);
  writeDocument(path, {
    ...document,
    checkedOn: newest ?? document['checkedOn'],
    sources,
    rows: mergeRows(document, listed),
  });
  return { written: rows.length, file: PRICES };
}

const VGPU_FAMILY = /^(sgn|vgn)|vws/;
const UNDOCUMENTED = 'in API catalogue; no public family page found';

function modeOf(family: string): InstanceRow['mode'] {
  if (VGPU_FAMILY.test(family)) return 'vgpu';
  return /^(ebm|scc)/.test(family) ? 'bare-metal' : 'passthrough';
}

/** A type seen for the first time: kept as unknown, never proposed until somebody reads its documentation. */
function newRow(type: ApiInstanceType, today: string): InstanceRow {
  const family = type.InstanceTypeFamily.replace(/^ecs\./, '');
  return {
    instanceType: type.InstanceTypeId,
    family,
    mode: modeOf(family),
    vcpu: type.CpuCoreCount,
    memoryGiB: type.MemorySize,
    gpu: type.GPUSpec ?? 'unknown',
    gpuVendor: 'unknown',
    gpuConfidence: 'api-label',
    gpuApiLabel: type.GPUSpec ?? 'unknown',
    gpuCount: Math.max(1, type.GPUAmount ?? 1),
    gpuMemoryGB: type.GPUMemorySize === undefined || type.GPUMemorySize === 0 ? null : type.GPUMemorySize,
    networkGbps: 0,
    erdma: (type.EriQuantity ?? 0) > 0,
    nvlink: null,
    docStatus: UNDOCUMENTED,
    activeOnInternationalSite: null,
    measured: null,
    source: ['ecs-api'],
    checkedOn: today,
  };
}

/** Renews what the API says about known types and adds new ones as unknown. */
export function writeInstances(folder: string, types: readonly ApiInstanceType[], today: string): WrittenRows {
  const path = join(folder, INSTANCES);
  const document = readDocument(path);
  const known = new Map(
    z
      .array(keyed)
      .parse(document['rows'])
      .map((row) => [row.instanceType, row]),
  );
  const rows = types.map((type) => {
    const row = known.get(type.InstanceTypeId);
    const renewed = { vcpu: type.CpuCoreCount, memoryGiB: type.MemorySize, checkedOn: today };
    return row === undefined ? newRow(type, today) : { ...row, ...renewed };
  });
  writeDocument(path, {
    ...document,
    checkedOn: today,
    rows: mergeRows(document, rows),
  });
  return { written: rows.length, file: INSTANCES };
}

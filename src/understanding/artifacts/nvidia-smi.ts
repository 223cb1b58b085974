import { erase, type Found, find, type Reading, take } from '../reading.ts';
import type { Artifact } from '../understanding.ts';

type GpuRow = NonNullable<Artifact['gpus']>[number];

const CELL = /(\d{1,7})\s?mib\s?\/\s?(\d{1,7})\s?mib/g;
/** `|   0  NVIDIA A10          On   | 00000000:00:07.0 Off |` */
const HEAD = /^[|\s]*(\d{1,3})\s{1,6}([a-z][^|\n]{2,40}?)\s+(?:on|off|n\/a)?\s*\|/gm;
/** `0, NVIDIA A10, 13201 MiB, 22731 MiB`: --query-gpu in CSV form. */
const CSV = /^\s*(\d{1,3}), ?([a-z][^,\n]{2,40}), ?(\d{1,7}) ?mib, ?(\d{1,7}) ?mib/gm;
/** `[0] NVIDIA GeForce RTX 3090 | 71'C, 98 % | 21234 / 24576 MB | user(21200M)`: gpustat. */
const GPUSTAT = /^\s*\[(\d{1,3})\] ([a-z][^|\n]{2,40}?) ?\|[^|\n]{0,40}\| {0,8}(\d{1,7}) ?\/ ?(\d{1,7}) ?mi?b[^\n]*/gm;
const TABLE_LINE = /^[ \t]*[|+][^\n]*[|+][ \t]*$/gm;
/** Processes of the table: not the cards. */
const PROCESS_ROW = /^\|\s+\d+\s+(?:n\/a\s+n\/a\s+)?\d+\s+[cg]/;

interface Place {
  readonly order: number;
  readonly heads: readonly Found[];
}

/** A group of a match in the case in which it was pasted. */
function casedIn({ cased }: Reading, { start, all }: Found, group: string): string {
  const at = start + all.indexOf(group);
  return cased.slice(at, at + group.length);
}

/** A name that the table cut off ("NVIDIA GeForce ...") tells nothing about the model. */
function nameOf(text: string): string | undefined {
  const name = text.trim();
  return name.includes('..') ? undefined : name;
}

function rowFor(reading: Reading, cell: Found, { order, heads }: Place): GpuRow {
  const head = heads.filter(({ start }) => start < cell.start).at(-1);
  const name = head === undefined ? undefined : nameOf(casedIn(reading, head, head.groups[1] ?? ''));
  return {
    index: head === undefined ? order : Number(head.groups[0]),
    ...(name === undefined ? {} : { name }),
    usedMiB: Number(cell.groups[0]),
    totalMiB: Number(cell.groups[1]),
  };
}

function readTable(reading: Reading): readonly GpuRow[] {
  const cells = find(reading, CELL);
  if (cells.length === 0) return [];
  const heads = find(reading, HEAD).filter(({ all }) => !PROCESS_ROW.test(all));
  const rows = cells.map((cell, order) => rowFor(reading, cell, { order, heads }));
  erase(reading, cells);
  take(reading, TABLE_LINE);
  return rows;
}

/** Cards of a pasted nvidia-smi table, of single cells, of its CSV form, or of gpustat. */
export function readNvidiaSmi(reading: Reading): readonly GpuRow[] {
  const rows = readTable(reading);
  if (rows.length > 0) return rows;
  return [...take(reading, CSV), ...take(reading, GPUSTAT)].map((found): GpuRow => {
    const [index, name = '', used, total] = found.groups;
    return {
      index: Number(index),
      name: casedIn(reading, found, name).trim(),
      usedMiB: Number(used),
      totalMiB: Number(total),
    };
  });
}

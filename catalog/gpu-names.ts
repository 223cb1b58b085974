import type { GpuSpec } from '../src/estimator/estimate-result.ts';
import type { AmbiguousGpuRow, GpuRow } from './rows.ts';

/** One row, several that the words do not tell apart (ask), or none. */
export type GpuMatch = GpuRow | { readonly ambiguous: readonly GpuRow[] } | undefined;

export interface GpuIndex {
  find(text: string, memoryGiB?: number): GpuMatch;
  /** As nvidia-smi prints it, e.g. `Tesla V100-SXM2-32GB`. */
  byName(name: string): GpuRow | undefined;
}

/** Label and reported memory differ by ECC, driver reserve and GB against GiB: up to an eighth (GTX 1650: 3.6 of 4). */
const MEMORY_TOLERANCE = 0.15;
/** Share of the label that a card of unknown usable memory is planned with: the L20's 45459 of 49152 MiB (gpus.json). */
const USABLE_SHARE = 0.925;

/** Lower case without vendor words, spaces, hyphens, underscores and brackets; digits stay as they are. */
export function normalizeGpuName(text: string): string {
  return text
    .normalize('NFKC')
    .toLowerCase()
    .replace(/nvidia|geforce|tesla|显卡|gpu/g, '')
    .replace(/[\s\-_()[\]（）]/g, '')
    .replace(/卡$/, '');
}

const LAPTOP = /laptop|notebook|max-?q|mobile|笔记本|移动版/gi;
/** "t4 16g" and "v10032g": the memory may have two, three or one digits. */
const TRAILING_MEMORY = [2, 3, 1].map((digits) => new RegExp(`^(.+?)(\\d{${digits}})g(?:i?b)?$`));

const matchesMemory = (row: GpuRow, memoryGiB: number): boolean =>
  Math.abs(row.nominalMemoryGB - memoryGiB) <= MEMORY_TOLERANCE * row.nominalMemoryGB;

/** "RTX 3060 12GB" → "RTX 3060": what a version with another memory is called. */
export function withoutMemory(label: string): string {
  return label.replace(/ \d+GB$/, '');
}

/** The desktop row with the notebook part's memory; its speed is not known, so those figures are dropped. */
function laptopRow(row: GpuRow, memoryGiB: number | undefined): GpuRow | undefined {
  const sizes = (row.laptopVariants ?? []).flatMap((variant) => (variant.memoryGB === null ? [] : [variant.memoryGB]));
  const fitting = sizes.filter(
    (size) => memoryGiB === undefined || Math.abs(size - memoryGiB) <= MEMORY_TOLERANCE * size,
  );
  const nominalMemoryGB = fitting[0];
  if (nominalMemoryGB === undefined) return undefined;
  const share = row.usableMiB === null ? USABLE_SHARE : row.usableMiB / (row.nominalMemoryGB * 1024);
  const usableMiB = Math.floor(nominalMemoryGB * 1024 * Math.min(1, share));
  const unknown = { memoryBandwidthGBps: null, fp32Tflops: null, tf32Tflops: null, fp16TensorTflops: null };
  return { ...row, ...unknown, label: `${withoutMemory(row.label)} Laptop`, nominalMemoryGB, usableMiB };
}

/** `2080ti` is also written with RTX or, wrongly, GTX before it. */
function spellings(text: string): readonly string[] {
  const key = normalizeGpuName(text);
  return [key, key.replace(/^[rg]tx/, ''), `rtx${key}`, `gtx${key}`];
}

/** Index over names, labels, aliases and the table of ambiguous names. */
export function indexGpus(rows: readonly GpuRow[], ambiguous: readonly AmbiguousGpuRow[]): GpuIndex {
  const byFullName = new Map(rows.map((row) => [row.name, row]));
  const byKey = new Map<string, Set<GpuRow>>();
  const add = (text: string, row: GpuRow) => {
    const key = normalizeGpuName(text);
    const known = byKey.get(key);
    if (known === undefined) byKey.set(key, new Set([row]));
    else known.add(row);
  };
  for (const row of rows) for (const text of [row.name, row.label, ...row.aliases, ...row.smiNames]) add(text, row);
  const asked = new Map(ambiguous.map((entry) => [normalizeGpuName(entry.typed), entry]));

  const settle = (candidates: readonly GpuRow[], fallback: GpuRow | undefined, memoryGiB?: number): GpuMatch => {
    const fitting = memoryGiB === undefined ? candidates : candidates.filter((row) => matchesMemory(row, memoryGiB));
    if (fitting.length === 1) return fitting[0];
    if (fallback !== undefined && fitting.includes(fallback)) return fallback;
    if (fitting.length > 1) return { ambiguous: fitting };
    return candidates.length > 1 ? { ambiguous: candidates } : undefined;
  };

  const lookUp = (key: string, memoryGiB?: number): GpuMatch => {
    const entry = asked.get(key) ?? asked.get(key.replace(/^[rg]tx/, ''));
    if (entry !== undefined) {
      const candidates = entry.candidates.flatMap((name) => byFullName.get(name) ?? []);
      const fallback = entry.default === null ? undefined : byFullName.get(entry.default);
      if (candidates.length === 1 && memoryGiB === undefined && fallback === undefined)
        return { ambiguous: candidates };
      return settle(candidates, fallback, memoryGiB);
    }
    const hits = byKey.get(key);
    return hits === undefined ? undefined : settle([...hits], undefined, memoryGiB);
  };

  const findDesktop = (text: string, memoryGiB?: number): GpuMatch => {
    for (const key of spellings(text)) {
      const match = lookUp(key, memoryGiB);
      if (match !== undefined) return match;
    }
    if (memoryGiB !== undefined) return undefined;
    for (const pattern of TRAILING_MEMORY) {
      const [, name, memory] = pattern.exec(normalizeGpuName(text)) ?? [];
      const match = name === undefined ? undefined : findDesktop(name, Number(memory));
      if (match !== undefined) return match;
    }
    return undefined;
  };

  return {
    byName: (name) => byFullName.get(name),
    find(text, memoryGiB) {
      if (text.search(LAPTOP) < 0) return findDesktop(text, memoryGiB);
      const desktop = findDesktop(text.replace(LAPTOP, ''));
      return desktop === undefined || 'ambiguous' in desktop ? undefined : laptopRow(desktop, memoryGiB);
    },
  };
}

/** True when the row holds what a time estimate needs. */
export function isTimeable(row: GpuRow): boolean {
  return row.memoryBandwidthGBps !== null && row.fp32Tflops !== null;
}

/** Hardware figures for the estimator. Time them only when `isTimeable`; unknown figures are 0. */
export function toGpuSpec(row: GpuRow): GpuSpec {
  return {
    name: row.label,
    architecture: row.architecture,
    usableMiB: row.usableMiB ?? Math.floor(row.nominalMemoryGB * 1024 * USABLE_SHARE),
    memoryBandwidthGBps: row.memoryBandwidthGBps ?? 0,
    fp32Tflops: row.fp32Tflops ?? 0,
    tf32Tflops: row.tf32Tflops,
    fp16TensorTflops: row.fp16TensorTflops,
    bf16: row.bf16,
    nvlinkGBps: row.nvlinkPairGBps,
  };
}

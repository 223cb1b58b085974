import { normalizeGpuName } from './gpu-names.ts';
import { invalidCatalog } from './load.ts';
import type { AmbiguousGpuRow, GpuRow, InstanceRow } from './rows.ts';

/** A machine that may be proposed for training: a whole card passed through, in a family the documentation lists. */
export function isProposable(row: InstanceRow): boolean {
  return (
    row.mode === 'passthrough' &&
    row.docStatus.startsWith('listed') &&
    !row.docStatus.startsWith('listed; invitational')
  );
}

/** @throws AppError `invalid-catalog` when a name means two cards without standing in the table of ambiguous names. */
export function checkGpuNames(file: string, gpus: readonly GpuRow[], ambiguous: readonly AmbiguousGpuRow[]): void {
  const known = new Set(gpus.map((row) => row.name));
  const asked = new Set(ambiguous.map((entry) => normalizeGpuName(entry.typed)));
  for (const entry of ambiguous) {
    const missing = [...entry.candidates, ...(entry.default === null ? [] : [entry.default])].find(
      (name) => !known.has(name),
    );
    if (missing === undefined) continue;
    throw invalidCatalog({ file, row: entry.typed, field: 'candidates' }, `"${missing}" is no row of this file`);
  }
  const owner = new Map<string, string>();
  for (const row of gpus) {
    for (const alias of [row.name, row.label, ...row.aliases]) {
      const key = normalizeGpuName(alias);
      const other = owner.get(key);
      if (other !== undefined && other !== row.name && !asked.has(key)) {
        throw invalidCatalog({ file, row: row.name, field: 'aliases' }, `"${alias}" already means ${other}`);
      }
      owner.set(key, row.name);
    }
  }
}

/** @throws AppError `invalid-catalog` when a proposable type carries a card that no GPU row describes. */
export function checkInstances(file: string, instances: readonly InstanceRow[], gpus: readonly GpuRow[]): void {
  const known = new Set(gpus.map((row) => row.name));
  for (const row of instances) {
    if (!isProposable(row)) continue;
    const place = { file, row: row.instanceType, field: 'gpu' };
    if (!known.has(row.gpu)) throw invalidCatalog(place, `"${row.gpu}" is no row of gpus.json`);
    if (!Number.isInteger(row.gpuCount)) throw invalidCatalog({ ...place, field: 'gpuCount' }, 'a whole number');
  }
}

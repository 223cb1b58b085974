import { toGpuSpec, withoutMemory } from '../../catalog/gpu-names.ts';
import type { Catalog } from '../../catalog/index.ts';
import type { GpuRow } from '../../catalog/rows.ts';
import type { GpuSpec } from '../estimator/estimate-result.ts';
import { type Card, cardOf } from './choice/card.ts';
import type { OwnGpu } from './request.ts';

/** Beyond this difference from the label a stated memory is another version of the card (re-chipped, notebook, sliced). */
const SAME_CARD = 0.15;

export function isSameMemory(nominalGB: number, statedGiB: number): boolean {
  return Math.abs(nominalGB - statedGiB) <= SAME_CARD * nominalGB;
}

/** The smaller of the rows that a name may mean: advice that holds on it holds on the other too. */
function smallestOf(rows: readonly GpuRow[]): GpuRow | undefined {
  return [...rows].sort((left, right) => left.nominalMemoryGB - right.nominalMemoryGB)[0];
}

function rowOf(catalog: Catalog, name: string, memoryGiB?: number): GpuRow | undefined {
  const match = catalog.findGpu(name, memoryGiB);
  if (match === undefined) return undefined;
  return 'ambiguous' in match ? smallestOf(match.ambiguous) : match;
}

/**
 * The card to judge: by name (the stated memory picks among versions), or by memory alone.
 * Undefined when neither says enough.
 */
export function ownCard(catalog: Catalog, own: OwnGpu): Card | undefined {
  const { name, memoryGiB } = own;
  const row = name === undefined ? undefined : rowOf(catalog, name, memoryGiB);
  if (row !== undefined && (memoryGiB === undefined || isSameMemory(row.nominalMemoryGB, memoryGiB))) {
    return cardOf(row);
  }
  if (memoryGiB === undefined) return undefined;
  const sibling = name === undefined ? undefined : rowOf(catalog, name);
  if (sibling !== undefined) {
    const label = `${withoutMemory(sibling.label)} ${memoryGiB}GB`;
    const spec = { ...toGpuSpec(sibling), name: label, usableMiB: usableOf(catalog, memoryGiB) };
    return { spec, timeable: false, row: sibling };
  }
  return memoryCard(catalog, name ?? `${memoryGiB} GB`, memoryGiB);
}

function memoryCard(catalog: Catalog, name: string, memoryGiB: number): Card {
  const spec: GpuSpec = {
    name,
    // TF32 and BF16 are common to every card of this decade, and neither changes what fits by much.
    architecture: 'Ampere',
    usableMiB: usableOf(catalog, memoryGiB),
    memoryBandwidthGBps: 0,
    fp32Tflops: 0,
    tf32Tflops: null,
    fp16TensorTflops: null,
    bf16: true,
    nvlinkGBps: 0,
  };
  return { spec, timeable: false, row: null };
}

/**
 * Usable memory behind a label: the least that any card of the catalogue with that label leaves to torch. A fraction
 * ("10.76") is what torch itself printed and stands as it is.
 */
function usableOf(catalog: Catalog, memoryGiB: number): number {
  if (!Number.isInteger(memoryGiB)) return Math.floor(memoryGiB * 1024);
  const usable = (rows: readonly GpuRow[]) => rows.flatMap((row) => (row.usableMiB === null ? [] : [row]));
  const sameLabel = usable(catalog.gpus).filter((row) => row.nominalMemoryGB === memoryGiB);
  const shares = (sameLabel.length > 0 ? sameLabel : usable(catalog.gpus)).map(
    (row) => (row.usableMiB ?? 0) / (row.nominalMemoryGB * 1024),
  );
  return Math.floor(memoryGiB * 1024 * Math.min(1, ...shares));
}

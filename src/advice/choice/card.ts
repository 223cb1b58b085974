import { isTimeable, toGpuSpec } from '../../../catalog/gpu-names.ts';
import type { GpuRow } from '../../../catalog/rows.ts';
import type { GpuSpec } from '../../estimator/estimate-result.ts';
import type { Workload } from '../../estimator/workload.ts';
import type { Fit } from '../recommendation.ts';

export type Tier = 'A' | 'B' | 'C';

/** The guides' 方案 A, B and C by label memory: up to 16, 24 to 48, 80 GB and more. */
export function tierOf(row: GpuRow): Tier {
  if (row.nominalMemoryGB <= 16) return 'A';
  return row.nominalMemoryGB <= 48 ? 'B' : 'C';
}

/** A card to judge: a catalogue row, or only memory. */
export interface Card {
  readonly spec: GpuSpec;
  readonly timeable: boolean;
  readonly row: GpuRow | null;
}

const cards = new WeakMap<GpuRow, Card>();

/** The card of a catalogue row; the same object each time. */
export function cardOf(row: GpuRow): Card {
  const known = cards.get(row);
  if (known !== undefined) return known;
  const card = { spec: toGpuSpec(row), timeable: isTimeable(row), row };
  cards.set(row, card);
  return card;
}

/** The entry that tips and limits are about, with the workload as it runs there. */
export interface Chosen {
  readonly fit: Fit;
  readonly card: Card;
  readonly workload: Workload;
}

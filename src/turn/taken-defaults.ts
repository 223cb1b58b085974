import type { Catalog } from '../../catalog/index.ts';
import type { DialogState } from '../dialog/dialog-state.ts';
import { AppError } from '../errors.ts';
import type { SlotChange, Slots } from '../understanding/understanding.ts';
import { workloadFromSlots } from '../workload/from-slots.ts';

/** A default that "batch 翻倍" is relative to is held from then on: only what is held can be multiplied. */
export function withTakenDefaults(state: DialogState, changes: readonly SlotChange[], catalog: Catalog): DialogState {
  const { slots, waived, answered } = state;
  const batch = slots.batchSize === undefined && isScaled(changes, 'batchSize');
  const size = slots.imageHeight === undefined && isScaled(changes, 'imageSize');
  const taken =
    (batch && (answered || waived.includes('batchSize'))) || (size && (answered || waived.includes('imageHeight')));
  const run = taken && slots.model !== undefined ? runOf(slots, catalog) : undefined;
  if (run === undefined) return state;
  const { batchSize, imageHeight, imageWidth } = run;
  return {
    ...state,
    slots: { ...slots, ...(batch ? { batchSize } : {}), ...(size ? { imageHeight, imageWidth } : {}) },
  };
}

function isScaled(changes: readonly SlotChange[], slot: 'batchSize' | 'imageSize'): boolean {
  return changes.some((change) => change.slot === slot && 'multiply' in change);
}

/** Undefined where the network is not known: the turn says so itself. */
function runOf(slots: Slots, catalog: Catalog) {
  try {
    return workloadFromSlots(slots, catalog).workload;
  } catch (error) {
    if (error instanceof AppError) return undefined;
    throw error;
  }
}

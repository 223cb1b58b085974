import { contiguousStrides } from './layout.ts';
import type { Grad, Node, Param, Region, Storage } from './storage.ts';

/** Memory from outside that nobody kept is gone: a replay cannot bring it back. */
export function hold(storage: Storage, region: Region): void {
  if (storage.birth < region.firstOperation && storage.holders === 0) return;
  storage.holders += 1;
}

/** A part of other memory that is laid out like the weight (sides of 1 do not matter). */
export function isDenseSlice(param: Param, grad: Grad): boolean {
  const { strides } = grad;
  if (grad.whole) return false;
  if (strides === null) return true;
  const wanted = contiguousStrides(param.shape);
  return param.shape.every((side, axis) => side === 1 || strides[axis] === wanted[axis]);
}

/** The node of a region that backward reaches last; −1 when it reaches none. */
export function firstReachable(nodes: readonly Node[], region: Region): number {
  for (let index = region.firstNode; index < region.lastNode; index += 1) {
    if (nodes[index]?.reachable === true) return index;
  }
  return -1;
}

/**
 * Adds the holders that exist after a replay; returns the last operation that it runs: torch stops when the last saved
 * tensor is packed, which for an operation that saves only what it reads is before it runs.
 */
export function adopt(nodes: readonly Node[], region: Region): number {
  let stop = region.firstOperation - 1;
  const inner = new Set<Region>();
  for (let index = region.firstNode; index < region.lastNode; index += 1) {
    const node = nodes[index];
    if (node === undefined || !node.reachable || node.region === null) continue;
    if (node.region === region) {
      for (const storage of node.saved) hold(storage, region);
      if (node.saved.length > 0) stop = node.saved.some((storage) => storage.birth === node.at) ? node.at : node.at - 1;
    } else if (node.region.parent === region) inner.add(node.region);
  }
  for (const child of inner) {
    for (const input of child.inputs) hold(input, region);
    stop = Math.max(stop, child.lastOperation);
  }
  return stop;
}

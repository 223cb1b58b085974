import { BackwardWalk } from './tape/backward.ts';
import { type AllocationLog, noPeak, type Peak } from './tape/backward-types.ts';
import type { Node, Storage, Tensor } from './tape/storage.ts';
import { Param } from './tape/storage.ts';
import type { Tape } from './tape/tape.ts';

/** What one iteration does to memory; bytes above `base`. */
export interface Replay {
  readonly forward: Peak;
  readonly backward: Peak;
  /** Alive after the loss was computed. */
  readonly saved: number;
  /** Gradients of all parameters that receive one. */
  readonly gradientBytes: number;
  /** Alive after backward beside the gradients: outputs that the loop keeps, what the library caches. */
  readonly remaining: number;
}

/** How gradients meet and stay, and who wants to hear about it. */
export interface ReplayOptions {
  readonly fanInCopies: boolean;
  readonly residentGradients: boolean;
  /** The card takes workspaces for wide fp32 convolutions. */
  readonly convWorkspace?: boolean;
  readonly log?: AllocationLog;
  /** Called between the passes, when `holders` of the storages say what is kept. */
  readonly afterForward?: () => void;
}

/** One iteration on cards of both kinds. */
export interface Replays {
  readonly plain: Replay;
  /** On cards that take workspaces for wide fp32 convolutions. */
  readonly withWorkspace: Replay;
}

/** Runs lifetimes over a finished forward tape. A tape may be replayed again, with other options too. */
export function replay(t: Tape, loss: Tensor, options: ReplayOptions): Replay {
  const { plain, withWorkspace } = replayBoth(t, loss, options);
  return options.convWorkspace === true ? withWorkspace : plain;
}

/** One linear scan, then the backward walk from `loss`: convolution workspaces change no lifetime, so one replay answers for cards of both kinds. */
export function replayBoth(t: Tape, loss: Tensor, options: Omit<ReplayOptions, 'convWorkspace'>): Replays {
  settle(t, loss);
  const [forward, workspaceForward] = scanForward(t);
  const saved = heldBytes(t);
  options.afterForward?.();
  const walk = new BackwardWalk(t, saved, { ...options, stopAt: -1 });
  if (loss.node !== null) walk.run(loss.node);
  const { peak, workspacePeak, gradientBytes } = walk;
  const shared = { saved, gradientBytes, remaining: remainingBytes(t, loss) };
  return {
    plain: { forward, backward: peak, ...shared },
    withWorkspace: { forward: workspaceForward, backward: workspacePeak, ...shared },
  };
}

function remainingBytes(t: Tape, loss: Tensor): number {
  let bytes = 0;
  for (const storage of new Set(t.held)) if (storage !== loss.storage) bytes += storage.bytes;
  return bytes;
}

/** Validation: nothing is kept. */
export function replayWithoutGradient(t: Tape): Peak {
  t.exitAutocast();
  return scanForward(t)[0];
}

/** A second walk that stops at the peak, to see what is alive there. */
export function walkTo(t: Tape, loss: Tensor, options: ReplayOptions & { stopAt: number }): BackwardWalk {
  settle(t, loss);
  const walk = new BackwardWalk(t, heldBytes(t), options);
  if (loss.node !== null) walk.run(loss.node);
  return walk;
}

/** Brings the tape to the end of its forward pass, whether it was walked before or not. */
export function settle(t: Tape, loss: Tensor): void {
  if (t.settled) rewind(t);
  else {
    t.exitAutocast();
    t.held.push(loss.storage);
  }
  if (loss.node !== null) markReachable(t, loss.node);
  if (!t.settled) extendDeadGraphs(t);
  t.settled = true;
  settleHolders(t);
}

function rewind(t: Tape): void {
  for (const node of t.nodes) {
    node.grads = undefined;
    if (node.region !== null) resetRegions(node);
  }
  for (const param of t.params) {
    param.pending = 0;
    param.grad = undefined;
  }
}

function resetRegions(node: Node): void {
  for (let { region } = node; region !== null; region = region.parent) {
    region.replayed = false;
    if (region.reentrant !== null) region.reentrant.gradients.length = 0;
  }
}

/** Nodes are in an order in which every user comes after what it uses, so one sweep finds what the loss depends on. */
function markReachable(t: Tape, root: Node): void {
  root.reachable = true;
  for (let index = root.index; index >= 0; index -= 1) {
    const node = t.nodes[index];
    if (node?.reachable !== true) continue;
    for (const input of node.inputs) {
      if (input.node !== null) input.node.reachable = true;
      else if (input.param?.trainable === true) input.param.pending += 1;
    }
  }
}

/** Who holds what at the end of the forward pass. */
function settleHolders(t: Tape): void {
  for (const storage of t.storages) storage.holders = 0;
  for (const storage of t.held) storage.holders += 1;
  const regions = new Set<NonNullable<Node['region']>>();
  for (let index = t.nodes.length - 1; index >= 0; index -= 1) {
    const node = t.nodes[index];
    if (node?.reachable !== true) continue;
    if (node.region === null) for (const storage of node.saved) storage.holders += 1;
    else {
      let { region } = node;
      while (region.parent !== null) region = region.parent;
      regions.add(region);
    }
  }
  for (const region of regions) for (const input of region.inputs) input.holders += 1;
}

function extendDeadGraphs(t: Tape): void {
  for (let index = t.nodes.length - 1; index >= 0; index -= 1) {
    const node = t.nodes[index];
    if (node?.reachable === false) extendDeadGraph(node);
  }
}

/** A graph that the loss does not depend on lives as long as the tensor that ends it; a checkpointed one keeps its inputs only. */
function extendDeadGraph(node: Node): void {
  let death = node.lastUser;
  for (const output of node.outputs) death = Math.max(death, output.storage.death);
  let { region } = node;
  while (region !== null && region.parent !== null) region = region.parent;
  for (const storage of region?.inputs ?? node.saved) if (storage.death < death) storage.death = death;
  for (const { edge } of node.inputs) {
    if (edge !== null && !(edge instanceof Param) && edge.lastUser < death) edge.lastUser = death;
  }
}

function heldBytes(t: Tape): number {
  let bytes = 0;
  for (const storage of t.storages) if (storage.holders > 0) bytes += storage.bytes;
  return bytes;
}

/** Peaks of the forward pass without and with convolution workspaces. */
function scanForward(t: Tape): readonly [Peak, Peak] {
  const delta = new Float64Array(t.now + 3);
  for (const storage of t.storages) {
    delta[storage.birth] = (delta[storage.birth] ?? 0) + storage.bytes;
    if (storage.holders === 0) delta[storage.death + 1] = (delta[storage.death + 1] ?? 0) - storage.bytes;
  }
  const kernel = t.kernels.reader();
  const workspace = t.workspaces.reader();
  const peaks = [noPeak(), noPeak()] as const;
  const [plain, withWorkspace] = peaks;
  let current = 0;
  for (let operation = 0; operation <= t.now; operation += 1) {
    current += delta[operation] ?? 0;
    if (current > plain.bytes) plain.bytes = current;
    const total = current + kernel(operation);
    if (total > plain.withKernels) note(plain, t, { operation, total });
    const most = total + workspace(operation);
    if (most > withWorkspace.withKernels) note(withWorkspace, t, { operation, total: most });
  }
  withWorkspace.bytes = plain.bytes;
  return peaks;
}

function note(peak: Peak, t: Tape, { operation, total }: { operation: number; total: number }): void {
  peak.withKernels = total;
  peak.operation = t.operationNames[operation] ?? '';
  peak.scope = t.operationScopes[operation] ?? 0;
  peak.mark = operation;
}

/** Bytes inside the kernel of a forward operation. */
export function kernelBytesAt(t: Tape, operation: number, convWorkspace: boolean): number {
  return t.kernels.at(operation) + (convWorkspace ? t.workspaces.at(operation) : 0);
}

/** Storages alive during a forward operation. */
export function aliveAt(t: Tape, operation: number): Storage[] {
  return t.storages.filter(
    (storage) => storage.birth <= operation && (storage.holders > 0 || storage.death >= operation),
  );
}

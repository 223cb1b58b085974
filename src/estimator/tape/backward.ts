import { adopt, firstReachable, hold, isDenseSlice } from './backward-rules.ts';
import { type BackwardOptions, noPeak, type Peak } from './backward-types.ts';
import { flattenGradient, matrixRule } from './rules.ts';
import {
  type DType,
  elements,
  type Grad,
  GradBuffer,
  type GradientWalk,
  itemSize,
  type Node,
  Param,
  type Region,
  roundToBlock,
  type Storage,
} from './storage.ts';
import type { Tape } from './tape.ts';

class Stop extends Error {}

/** Walks the graph in reverse order of creation, the way the autograd engine does on one device. */
export class BackwardWalk implements GradientWalk {
  readonly peak: Peak = noPeak();
  /** The same on a card that takes convolution workspaces: one walk answers for both kinds of card. */
  readonly workspacePeak: Peak = noPeak();
  readonly buffers = new Set<GradBuffer>();
  /** Live bytes above `base` right now. */
  liveBytes: number;
  /** Bytes of parameter gradients that exist at the end. */
  gradientBytes = 0;
  private marks = 0;
  private node: Node | null = null;
  /** Gradients that the current rule handed on; the lists are reused from node to node. */
  private readonly emittedInputs: number[] = [];
  private readonly emittedGrads: Grad[] = [];
  private emitted = 0;
  private readonly tape: Tape;
  private readonly options: BackwardOptions;

  /** @param start live bytes above `base` after the forward pass. */
  constructor(tape: Tape, start: number, options: BackwardOptions) {
    this.tape = tape;
    this.liveBytes = start;
    this.options = options;
  }

  /** Runs from the loss; false when stopped at `stopAt`. */
  run(root: Node): boolean {
    try {
      const held = root.outputs.map(({ shape, dtype }) => this.fresh(shape, dtype));
      root.grads = [...held];
      for (const grad of held) this.share(grad);
      this.processAll();
      for (const grad of held) this.release(grad.buffer);
      return true;
    } catch (error) {
      if (error instanceof Stop) return false;
      throw error;
    }
  }

  private processAll(): void {
    const { nodes } = this.tape;
    for (let index = nodes.length - 1; index >= 0; index -= 1) {
      const node = nodes[index];
      if (node?.reachable === true) this.process(node);
    }
  }

  private process(node: Node): void {
    const { grads, region } = node;
    this.node = node;
    if (region !== null && (node.saved.length > 0 || region.reentrant !== null)) {
      if (node.rule === matrixRule && grads !== undefined) flattenGradient(this, node, grads);
      this.replay(region, grads);
    }
    if (grads !== undefined) {
      node.rule(this, node, grads);
      this.mark();
      node.grads = undefined;
      for (const grad of grads) if (grad !== undefined) this.release(grad.buffer);
    }
    for (const storage of node.saved) this.releaseStorage(storage);
    const reentrant = region !== null && region.reentrant !== null;
    if (!reentrant) this.leaveRegion(node);
    this.deliverAll(node);
    if (reentrant) this.leaveRegion(node);
  }

  private deliverAll(node: Node): void {
    for (let at = 0; at < this.emitted; at += 1) {
      const grad = this.emittedGrads[at];
      if (grad !== undefined) this.deliver(node, this.emittedInputs[at] ?? 0, grad);
    }
    this.emitted = 0;
  }

  private deliver(node: Node, index: number, grad: Grad): void {
    const input = node.inputs[index];
    const edge = input?.edge ?? null;
    if (input === undefined || edge === null) {
      this.release(grad.buffer);
      return;
    }
    if (edge instanceof Param) {
      edge.grad = edge.grad === undefined ? grad : this.sum(edge.grad, grad, input);
      edge.pending -= 1;
      if (edge.pending === 0) this.accumulate(edge);
      return;
    }
    edge.grads ??= edge.outputs.length === 1 ? [undefined] : edge.outputs.map(() => undefined);
    const present = edge.grads[input.slot];
    edge.grads[input.slot] = present === undefined ? grad : this.sum(present, grad, input);
  }

  /** Gradients that meet at a branch. */
  private sum(present: Grad, grad: Grad, input: { shape: readonly number[]; dtype: DType }): Grad {
    if (!this.options.fanInCopies && present.buffer.refs === 1 && present.whole) {
      this.mark();
      this.release(grad.buffer);
      return present;
    }
    const total = this.fresh(input.shape, input.dtype, present.strides);
    this.mark();
    this.release(present.buffer);
    this.release(grad.buffer);
    return total;
  }

  private accumulate(param: Param): void {
    const { grad } = param;
    param.grad = undefined;
    param.receivesGradient = true;
    if (grad !== undefined && !this.options.residentGradients && isDenseSlice(param, grad)) {
      this.keepSlice(grad.buffer);
      return;
    }
    this.gradientBytes += param.storage.bytes;
    if (grad === undefined) return;
    if (this.options.residentGradients) {
      this.release(grad.buffer);
      return;
    }
    if (grad.buffer.refs === 1 && grad.whole) {
      grad.buffer.parameter = true;
      return;
    }
    this.fresh(param.shape, 'float').buffer.parameter = true;
    this.mark();
    this.release(grad.buffer);
  }

  /** A dense slice becomes the gradient as it is, and all the memory it lies in stays with it (AccumulateGrad). */
  private keepSlice(buffer: GradBuffer): void {
    if (!buffer.parameter) this.gradientBytes += buffer.bytes;
    buffer.parameter = true;
  }

  fresh(shape: readonly number[], dtype: DType, strides: readonly number[] | null = null): Grad {
    const buffer = this.buffer(roundToBlock(elements(shape) * itemSize(dtype)));
    return { buffer, strides, whole: true };
  }

  transient(bytes: number): GradBuffer {
    return this.buffer(roundToBlock(bytes));
  }

  private buffer(bytes: number): GradBuffer {
    const buffer = new GradBuffer(bytes, this.node?.scope ?? 0);
    this.liveBytes += bytes;
    if (this.options.stopAt >= 0) this.buffers.add(buffer);
    this.options.log?.allocated(buffer);
    if (this.liveBytes > this.peak.bytes) this.mark();
    return buffer;
  }

  share(grad: Grad, view?: { strides: readonly number[] | null; whole: boolean }): Grad {
    grad.buffer.refs += 1;
    return view === undefined ? grad : { buffer: grad.buffer, strides: view.strides, whole: view.whole };
  }

  release(buffer: GradBuffer): void {
    buffer.refs -= 1;
    if (buffer.refs > 0) return;
    this.liveBytes -= buffer.bytes;
    if (this.options.stopAt >= 0) this.buffers.delete(buffer);
    this.options.log?.freed(buffer);
  }

  kernelBytes(bytes: number): void {
    this.mark(bytes);
  }

  workspaceBytes(bytes: number): void {
    const total = this.liveBytes + bytes;
    if (total > this.workspacePeak.withKernels) this.note(this.workspacePeak, total);
    this.countMark();
  }

  emit(index: number, grad: Grad): void {
    this.emittedInputs[this.emitted] = index;
    this.emittedGrads[this.emitted] = grad;
    this.emitted += 1;
  }

  drop(grad: Grad, by?: Grad): void {
    const grads = this.node?.grads;
    const at = grads?.indexOf(grad) ?? -1;
    if (grads === undefined || at < 0) return;
    grads[at] = by;
    this.release(grad.buffer);
  }

  private mark(kernel = 0): void {
    const { liveBytes, peak, workspacePeak } = this;
    if (liveBytes > peak.bytes) {
      peak.bytes = liveBytes;
      workspacePeak.bytes = liveBytes;
    }
    const total = liveBytes + kernel;
    if (total > peak.withKernels) this.note(peak, total);
    if (total > workspacePeak.withKernels) this.note(workspacePeak, total);
    this.countMark();
  }

  private note(peak: Peak, total: number): void {
    peak.withKernels = total;
    peak.operation = this.node?.name ?? '';
    peak.scope = this.node?.scope ?? 0;
    peak.mark = this.marks;
  }

  private countMark(): void {
    if (this.marks === this.options.stopAt) throw new Stop();
    this.marks += 1;
  }

  private releaseStorage(storage: Storage): void {
    if (storage.resident || storage.holders === 0) return;
    storage.holders -= 1;
    if (storage.holders > 0) return;
    this.liveBytes -= storage.bytes;
    this.options.log?.freed(storage);
  }

  /** Inputs of a region are kept until its last node is done. */
  private leaveRegion(node: Node): void {
    let { region } = node;
    while (region !== null && node.index === firstReachable(this.tape.nodes, region)) {
      for (const input of region.inputs) this.releaseStorage(input);
      this.leaveReentrant(region);
      region = region.parent;
    }
  }

  private leaveReentrant({ reentrant }: Region): void {
    if (reentrant === null) return;
    if (reentrant.output !== null) this.releaseStorage(reentrant.output);
    for (const gradient of reentrant.gradients.splice(0)) this.release(gradient);
  }

  /** Runs the operations of a region again; what its nodes saved is alive afterwards. */
  private replay(region: Region, grads: Node['grads']): void {
    if (region.replayed) return;
    if (region.parent !== null) this.replay(region.parent, grads);
    region.replayed = true;
    const stop = adopt(this.tape.nodes, region);
    if (region.reentrant !== null) this.holdReentrant(region.reentrant, region, grads);
    this.rerun(region, region.reentrant === null ? stop : region.lastOperation);
  }

  private holdReentrant(held: NonNullable<Region['reentrant']>, region: Region, grads: Node['grads']): void {
    if (held.output !== null) hold(held.output, region);
    for (const grad of grads ?? []) {
      if (grad === undefined) continue;
      held.gradients.push(this.share(grad).buffer);
    }
  }

  /** Births and deaths of a replayed region, operation by operation. */
  private rerun(region: Region, stop: number): void {
    const { firstOperation, firstStorage, lastStorage } = region;
    const dying: Storage[][] = Array.from({ length: stop - firstOperation + 2 }, () => []);
    let next = firstStorage;
    for (let operation = firstOperation; operation <= stop; operation += 1) {
      for (; next < lastStorage && this.tape.storages[next]?.birth === operation; next += 1) {
        const storage = this.tape.storages[next];
        if (storage === undefined) continue;
        this.liveBytes += storage.bytes;
        this.options.log?.allocated(storage);
        if (storage.holders === 0) dying[Math.min(storage.death, stop) - firstOperation]?.push(storage);
      }
      if (this.liveBytes > this.peak.bytes) this.mark();
      for (const storage of dying[operation - firstOperation] ?? []) {
        this.liveBytes -= storage.bytes;
        this.options.log?.freed(storage);
      }
    }
  }
}

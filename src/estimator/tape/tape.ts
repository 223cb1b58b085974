import { type ModuleWeights, WeightCursor } from './module-weights.ts';
import { childScope, newRegion, Scope } from './scopes.ts';
import {
  type DType,
  elements,
  itemSize,
  Node,
  type Operation,
  type Output,
  Param,
  type Region,
  roundToBlock,
  Storage,
  storageBytes,
  Tensor,
} from './storage.ts';
import type { TapeOptions, WorkAmount, WorkKind } from './tape-types.ts';
import { KernelMemory, WorkLog } from './work-log.ts';

/**
 * Runs a network symbolically: every operation makes storages and, when a gradient flows through it, a node.
 * Network code never frees anything; lifetimes follow from `touch` (last use), `call` (a module holds its arguments
 * until it returns) and `keep` (a local variable lives to here).
 */
export class Tape {
  readonly options: TapeOptions;
  readonly storages: Storage[] = [];
  readonly nodes: Node[] = [];
  readonly params: Param[] = [];
  readonly scopes: Scope[] = [new Scope(null, '')];
  readonly operationNames: string[] = [];
  readonly operationScopes: number[] = [];
  readonly works = new WorkLog();
  /** Kernel-internal bytes by operation, outside of what traces count. */
  readonly kernels = new KernelMemory();
  /** The same of convolution workspaces, which only some cards take. */
  readonly workspaces = new KernelMemory();
  /** Which of the two 16-bit types autocast uses has changed what was recorded. */
  readsHalfType = false;
  parameterCount = 0;
  trainableCount = 0;
  parameterBytes = 0;
  bufferBytes = 0;
  inputBytes = 0;
  targetBytes = 0;
  /** Tensors that the training loop keeps through backward. */
  readonly held: Storage[] = [];
  /** Index of the operation executed last. */
  now = -1;
  /** Lifetimes at the end of the forward pass are known: they stay when it is replayed again. */
  settled = false;
  /** Whether a gradient flows back through the current operation. */
  private tracked = false;
  private scope = 0;
  private frozenDepth = 0;
  private autocastDepth: number;
  private region: Region | null = null;
  private readonly casts: Storage[] = [];
  private reuse: WeightCursor | null = null;

  constructor(options: TapeOptions) {
    this.options = options;
    this.autocastDepth = options.autocast === null ? 0 : 1;
  }

  get training(): boolean {
    return this.options.training;
  }

  get autocast(): boolean {
    return this.autocastDepth > 0;
  }

  /** Whether parameters made now are not trained. */
  get frozen(): boolean {
    return this.frozenDepth > 0;
  }

  /** Weight of the given shape; frozen inside `freeze`. */
  param(...shape: number[]): Tensor {
    const known = this.reuse?.next();
    if (known !== undefined) return known;
    const count = elements(shape);
    const trainable = this.frozenDepth === 0;
    const storage = new Storage(roundToBlock(4 * count), -1, this.scope, true);
    this.parameterCount += count;
    if (trainable) this.trainableCount += count;
    this.parameterBytes += storage.bytes;
    const param = new Param(storage, shape, trainable);
    this.params.push(param);
    return this.made(new Tensor({ storage, shape, dtype: 'float', strides: null }, param));
  }

  /** Runs modules whose weights live in `weights`: the first run makes them, every later run uses them again. */
  again<T>(weights: ModuleWeights, body: () => T): T {
    const outer = this.reuse;
    this.reuse = new WeightCursor(weights);
    const result = body();
    this.reuse = outer;
    return result;
  }

  private made(tensor: Tensor): Tensor {
    this.reuse?.add(tensor);
    return tensor;
  }

  /** Non-trained state of a module (running statistics, index tables). */
  buffer(shape: readonly number[], dtype: DType = 'float'): Tensor {
    const known = this.reuse?.next();
    if (known !== undefined) return known;
    const storage = new Storage(storageBytes(shape, dtype), -1, this.scope, true);
    this.bufferBytes += storage.bytes;
    return this.made(new Tensor({ storage, shape, dtype, strides: null }));
  }

  /** Running mean and variance of a BatchNorm, and its counter: memory that no operation of the tape reads. */
  runningStatistics(channels: number): void {
    if (this.reuse === null) {
      this.bufferBytes += 2 * roundToBlock(4 * channels) + roundToBlock(itemSize('long'));
      return;
    }
    this.buffer([channels]);
    this.buffer([channels]);
    this.buffer([], 'long');
  }

  input(shape: readonly number[], dtype: DType = 'float'): Tensor {
    const storage = new Storage(storageBytes(shape, dtype), -1, 0, true);
    this.inputBytes += storage.bytes;
    return new Tensor({ storage, shape, dtype, strides: null });
  }

  target(shape: readonly number[], dtype: DType): Tensor {
    const storage = new Storage(storageBytes(shape, dtype), -1, 0, true);
    this.targetBytes += storage.bytes;
    return new Tensor({ storage, shape, dtype, strides: null });
  }

  /** Parameters made inside are not trained. */
  freeze<T>(frozen: boolean, body: () => T): T {
    if (!frozen) return body();
    this.frozenDepth += 1;
    const result = body();
    this.frozenDepth -= 1;
    return result;
  }

  /** A module call: names what is made inside, and holds `args` until it returns, as `nn.Module.__call__` does. */
  call<T>(name: string, args: Tensor | readonly Tensor[], body: () => T): T {
    const outer = this.scope;
    if (name !== '') this.scope = childScope(this.scopes, outer, name);
    const result = body();
    this.scope = outer;
    if (args instanceof Tensor) args.storage.death = this.now;
    else for (const arg of args) arg.storage.death = this.now;
    return result;
  }

  /** Names what is made inside without holding anything. */
  within<T>(name: string, body: () => T): T {
    const outer = this.scope;
    this.scope = childScope(this.scopes, outer, name);
    const result = body();
    this.scope = outer;
    return result;
  }

  /** Local variables that are not reassigned before this point of the original code. */
  keep(...locals: readonly Tensor[]): void {
    for (const local of locals) local.storage.death = this.now;
  }

  /** The training loop keeps these tensors alive through backward. */
  hold(...tensors: readonly Tensor[]): void {
    for (const tensor of tensors) this.held.push(tensor.storage);
  }

  /** Leaves autocast for `body` (explicit `autocast(enabled=False)` in the original code). */
  withoutAutocast<T>(body: () => T): T {
    const depth = this.autocastDepth;
    this.autocastDepth = 0;
    const result = body();
    this.autocastDepth = depth;
    return result;
  }

  /** Starts an operation that reads `inputs`. */
  begin(name: string, inputs: readonly Tensor[]): void {
    this.now += 1;
    this.operationNames.push(name);
    this.operationScopes.push(this.scope);
    this.tracked = false;
    for (const input of inputs) {
      input.storage.death = this.now;
      if (input.requiresGrad) this.tracked = true;
    }
  }

  /** Memory made by the current operation. */
  allocate(shape: readonly number[], dtype: DType): Storage {
    return this.allocateBytes(elements(shape) * itemSize(dtype));
  }

  allocateBytes(bytes: number): Storage {
    const storage = new Storage(roundToBlock(bytes), this.now, this.scope, false);
    this.storages.push(storage);
    return storage;
  }

  /** Records the work of the current operation, for timing and the count of multiply-accumulates. */
  work(kind: WorkKind, half: boolean, amount: WorkAmount): void {
    const products = (amount.products ?? (this.tracked ? 1 : 0)) + (this.region === null ? 0 : 1);
    this.works.add(kind, half, { macs: amount.macs, bytes: amount.bytes, products });
  }

  /** Turns an output into a tensor, with a node when a gradient flows back through the operation. */
  result(output: Output, recorded: Operation): Tensor {
    const tensor = new Tensor(output);
    if (this.tracks(recorded.inputs)) tensor.node = this.node([tensor], recorded);
    return tensor;
  }

  /** Several outputs of one operation (split, unbind). */
  results(outputs: readonly Output[], recorded: Operation): Tensor[] {
    const tensors = outputs.map((output) => new Tensor(output));
    if (!this.tracks(recorded.inputs)) return tensors;
    const node = this.node(tensors, recorded);
    tensors.forEach((tensor, slot) => {
      tensor.node = node;
      tensor.slot = slot;
    });
    return tensors;
  }

  private tracks(inputs: readonly Tensor[]): boolean {
    if (!this.options.training) return false;
    for (const input of inputs) if (input.requiresGrad) return true;
    return false;
  }

  private node(outputs: readonly Tensor[], recorded: Operation): Node {
    const { now: at, scope, region, nodes } = this;
    const node = new Node(recorded, outputs, { at, scope, region, index: nodes.length });
    nodes.push(node);
    return node;
  }

  /** Remembers a 16-bit weight copy until autocast exits. */
  cacheCast(param: Param, cast: Tensor): void {
    param.cast = cast;
    this.casts.push(cast.storage);
  }

  /**
   * Gradient checkpointing, non-reentrant: nothing made inside is kept, only `inputs`; backward replays it.
   * Regions may nest: an inner one is replayed after its parent.
   */
  checkpoint<T>(enabled: boolean, inputs: readonly Tensor[], body: () => T): T {
    if (!enabled || !this.options.training) return body();
    return this.inRegion(this.openRegion(inputs, null), body);
  }

  /** Checkpointing in torch's reentrant form, the default of `torch.utils.checkpoint` that mmcv's `with_cp` uses. */
  checkpointReentrant(enabled: boolean, inputs: readonly Tensor[], body: () => Tensor): Tensor {
    if (!enabled || !this.options.training) return body();
    const reentrant: NonNullable<Region['reentrant']> = { output: null, gradients: [] };
    const result = this.inRegion(this.openRegion(inputs, reentrant), body);
    reentrant.output = result.storage;
    return result;
  }

  private openRegion(inputs: readonly Tensor[], reentrant: Region['reentrant']): Region {
    const place = { operation: this.now, storage: this.storages.length, node: this.nodes.length };
    return newRegion(this.region, place, { inputs, reentrant });
  }

  private inRegion<T>(region: Region, body: () => T): T {
    this.region = region;
    const result = body();
    this.region = region.parent;
    region.lastOperation = this.now;
    region.lastStorage = this.storages.length;
    region.lastNode = this.nodes.length;
    for (const input of region.inputs) input.death = this.now;
    return result;
  }

  /** End of the forward pass: autocast exits and drops its weight copies. */
  exitAutocast(): void {
    for (const cast of this.casts) cast.death = this.now;
  }
}

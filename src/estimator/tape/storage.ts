/** Element types that matter for memory; bfloat16 counts as `half`. */
export type DType = 'float' | 'half' | 'long' | 'byte';

/** Bytes per element. */
export function itemSize(dtype: DType): number {
  switch (dtype) {
    case 'float':
      return 4;
    case 'half':
      return 2;
    case 'long':
      return 8;
    case 'byte':
      return 1;
  }
}

/** The CUDA caching allocator hands out multiples of 512 B (kMinBlockSize, c10/cuda/CUDACachingAllocator.cpp, read 2026-11). */
const BLOCK = 512;

export function roundToBlock(bytes: number): number {
  return Math.ceil(bytes / BLOCK) * BLOCK;
}

export function elements(shape: readonly number[]): number {
  let product = 1;
  for (let axis = 0; axis < shape.length; axis += 1) product *= shape[axis] ?? 1;
  return product;
}

export function storageBytes(shape: readonly number[], dtype: DType): number {
  return roundToBlock(elements(shape) * itemSize(dtype));
}

/** Memory of one or several tensors. Lives from operation `birth` to operation `death`, longer if autograd keeps it. */
export class Storage {
  /** Whole blocks: a small integer, where bytes beyond 2 GiB would make every storage carry a boxed number. */
  private readonly blocks: number;
  readonly birth: number;
  /** Index of the last operation during which something refers to it. */
  death: number;
  /** Module in which it was made (index into `Tape.scopes`). */
  readonly scope: number;
  /** Holders that outlive the forward pass: saved by a node, kept by a checkpoint, held by the training loop. */
  holders = 0;
  /** Weights, buffers, input, target: alive for the whole iteration and counted in `base`. */
  readonly resident: boolean;

  /** @param bytes a multiple of the block size. */
  constructor(bytes: number, birth: number, scope: number, resident: boolean) {
    this.blocks = bytes / BLOCK;
    this.birth = birth;
    this.death = birth;
    this.scope = scope;
    this.resident = resident;
  }

  get bytes(): number {
    return this.blocks * BLOCK;
  }
}

/** A trainable or frozen weight. */
export class Param {
  readonly storage: Storage;
  readonly shape: readonly number[];
  readonly trainable: boolean;
  /** Gradient parts that have arrived in this backward pass. */
  grad: Grad | undefined;
  /** How many nodes still have to deliver to it. */
  pending = 0;
  receivesGradient = false;
  /** 16-bit copy kept by autocast until it exits. */
  cast: Tensor | undefined;

  constructor(storage: Storage, shape: readonly number[], trainable: boolean) {
    this.storage = storage;
    this.shape = shape;
    this.trainable = trainable;
  }
}

/** Memory of gradients, shared by views of it. */
export class GradBuffer {
  private readonly blocks: number;
  readonly scope: number;
  refs = 1;
  /** The finished gradient of a parameter, not one on its way. */
  parameter = false;

  /** @param bytes a multiple of the block size. */
  constructor(bytes: number, scope: number) {
    this.blocks = bytes / BLOCK;
    this.scope = scope;
  }

  get bytes(): number {
    return this.blocks * BLOCK;
  }
}

/** A gradient on its way: `strides` null means row-major; `whole` is false for a slice or an expanded scalar. */
export interface Grad {
  readonly buffer: GradBuffer;
  readonly strides: readonly number[] | null;
  readonly whole: boolean;
}

/** A view on a storage, and the place in the autograd graph that it came from. */
export class Tensor {
  readonly storage: Storage;
  readonly shape: readonly number[];
  /** Number of elements. */
  readonly count: number;
  /** Null: row-major without gaps. */
  readonly strides: readonly number[] | null;
  readonly dtype: DType;
  readonly param: Param | null;
  /** The operation that made it, when a gradient flows back through it. */
  node: Node | null = null;
  /** Which output of `node` it is. */
  slot = 0;

  constructor(output: Output, param: Param | null = null) {
    this.storage = output.storage;
    this.shape = output.shape;
    this.count = elements(output.shape);
    this.dtype = output.dtype;
    this.strides = output.strides ?? null;
    this.param = param;
  }

  get requiresGrad(): boolean {
    return this.node !== null || this.param?.trainable === true;
  }

  /** Where the gradient of this tensor goes; null when it needs none. */
  get edge(): Node | Param | null {
    if (this.node !== null) return this.node;
    return this.param?.trainable === true ? this.param : null;
  }
}

/** The output of an operation before it becomes a tensor; without `strides` it is row-major. */
export interface Output {
  readonly storage: Storage;
  readonly shape: readonly number[];
  readonly dtype: DType;
  readonly strides?: readonly number[] | null;
}

/** Region that is replayed in backward instead of being kept. */
export interface Region {
  readonly parent: Region | null;
  readonly firstOperation: number;
  readonly firstStorage: number;
  readonly firstNode: number;
  lastOperation: number;
  lastStorage: number;
  lastNode: number;
  readonly inputs: readonly Storage[];
  replayed: boolean;
  /** What torch's reentrant form holds until the region is done: its result, and the gradient that came in. */
  readonly reentrant: { output: Storage | null; gradients: GradBuffer[] } | null;
}

/** One recorded operation of the autograd graph; nodes are processed in reverse order of creation. */
export class Node {
  readonly name: string;
  /** Tensors read by the operation; `edge` says where their gradients go. */
  readonly inputs: readonly Tensor[];
  readonly saved: readonly Storage[];
  readonly rule: BackwardRule;
  readonly outputs: readonly Tensor[];
  /** Operation index of the forward call. */
  readonly at: number;
  readonly scope: number;
  readonly region: Region | null;
  /** Position in `Tape.nodes`. */
  readonly index: number;
  grads: (Grad | undefined)[] | undefined;
  reachable = false;
  /** Outside of the loss's graph: last operation during which a later node of that graph is alive. */
  lastUser = 0;

  constructor(
    operation: Operation,
    outputs: readonly Tensor[],
    place: Pick<Node, 'at' | 'scope' | 'region' | 'index'>,
  ) {
    this.name = operation.name;
    this.inputs = operation.inputs;
    this.saved = operation.saved;
    this.rule = operation.rule;
    this.outputs = outputs;
    this.at = place.at;
    this.scope = place.scope;
    this.region = place.region;
    this.index = place.index;
  }
}

/** What an operation tells the graph. */
export interface Operation {
  readonly name: string;
  readonly inputs: readonly Tensor[];
  readonly saved: readonly Storage[];
  readonly rule: BackwardRule;
}

/** Computes the gradients of a node's inputs; see `backward.ts` for what it may call. */
export type BackwardRule = (walk: GradientWalk, node: Node, grads: readonly (Grad | undefined)[]) => void;

/** What a backward rule may do. */
export interface GradientWalk {
  /** New gradient memory for `shape`; counts towards the peak at once. */
  fresh(shape: readonly number[], dtype: DType, strides?: readonly number[] | null): Grad;
  /** Another reference to the same memory (a view, or the gradient itself). */
  share(grad: Grad, view?: { strides: readonly number[] | null; whole: boolean }): Grad;
  /** Memory that lives only inside the node. */
  transient(bytes: number): GradBuffer;
  release(buffer: GradBuffer): void;
  /** Kernel-internal bytes that exist now: counted only in `allocatedPeak`. */
  kernelBytes(bytes: number): void;
  /** The same of a convolution workspace, where the replay counts them. */
  workspaceBytes(bytes: number): void;
  /** Hands the gradient of input `index` on. */
  emit(index: number, grad: Grad): void;
  /** Frees the incoming gradient before the node ends (a clone has replaced it, which may take its place). */
  drop(grad: Grad, by?: Grad): void;
}

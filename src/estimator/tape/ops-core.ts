import { broadcastShape, preservedStrides, sameShape } from './layout.ts';
import { passRule, pointwiseRule } from './rules.ts';
import {
  type BackwardRule,
  type DType,
  type Grad,
  type GradientWalk,
  itemSize,
  type Node,
  type Storage,
  Tensor,
} from './storage.ts';
import type { Tape } from './tape.ts';

export function byteSize(x: Tensor): number {
  return x.count * itemSize(x.dtype);
}

/** Copy in another type; a node of its own. Frozen or non-leaf tensors are cast each time, trained weights once. */
export function cast(t: Tape, x: Tensor, dtype: DType): Tensor {
  if (x.dtype === dtype) return x;
  const cacheable = dtype === 'half' && x.param?.trainable === true && t.autocast;
  if (cacheable && x.param?.cast !== undefined) return x.param.cast;
  t.begin('to', [x]);
  const strides = preservedStrides(x.shape, x.strides);
  const storage = t.allocate(x.shape, dtype);
  t.work('pointwise', false, { macs: 0, bytes: byteSize(x) + storage.bytes });
  const out = t.result(
    { storage, shape: x.shape, dtype, strides },
    { name: 'to', inputs: [x], saved: [], rule: pointwiseRule },
  );
  if (cacheable && x.param !== null) t.cacheCast(x.param, out);
  return out;
}

/** Autocast's 16-bit list. */
export function toHalf(t: Tape, x: Tensor): Tensor {
  return t.autocast && x.dtype === 'float' ? cast(t, x, 'half') : x;
}

/** Autocast's fp32 list. */
export function toFloat(t: Tape, x: Tensor): Tensor {
  return t.autocast && x.dtype === 'half' ? cast(t, x, 'float') : x;
}

/** Backward products of a convolution or matrix product: one for each operand that needs a gradient. */
export function productsOf(a: Tensor, b: Tensor): number {
  return (a.requiresGrad ? 1 : 0) + (b.requiresGrad ? 1 : 0);
}

/** Which tensors a unary pointwise operation keeps for backward. */
export type Keeps = 'output' | 'input' | 'clone' | 'nothing';

export interface UnaryOptions {
  readonly keeps: Keeps;
  readonly inPlace?: boolean;
  /** How the gradient is made, if not as one fresh tensor. */
  readonly rule?: BackwardRule;
}

/** Pointwise function of one tensor. In-place forms reuse the storage; those that keep the input clone it first. */
export function unary(t: Tape, x: Tensor, name: string, options: UnaryOptions): Tensor {
  const { keeps, inPlace = false, rule = pointwiseRule } = options;
  t.begin(name, [x]);
  const tracked = t.training && x.requiresGrad;
  const clone = keeps === 'clone' && tracked ? t.allocate(x.shape, x.dtype) : undefined;
  const strides = preservedStrides(x.shape, x.strides);
  const storage = inPlace ? x.storage : t.allocate(x.shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  const saved = keeps === 'output' ? [storage] : keeps === 'input' ? [x.storage] : clone === undefined ? [] : [clone];
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype, strides: inPlace ? x.strides : strides },
    { name, inputs: [x], saved, rule },
  );
}

/** Multiplication or addition with a number: keeps nothing. */
export function scale(t: Tape, x: Tensor, options: { inPlace?: boolean } = {}): Tensor {
  return unary(t, x, 'mul', { keeps: 'nothing', inPlace: options.inPlace ?? false });
}

/** Adding a number: the gradient itself goes on. */
export function shift(t: Tape, x: Tensor): Tensor {
  return unaryPass(t, x, 'add');
}

export function unaryPass(t: Tape, x: Tensor, name: string): Tensor {
  t.begin(name, [x]);
  const storage = t.allocate(x.shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype, strides: preservedStrides(x.shape, x.strides) },
    { name, inputs: [x], saved: [], rule: passRule },
  );
}

/** Type of a result; a scalar tensor does not widen one with axes. */
export function promoted(a: Tensor, b: Tensor): DType {
  if (a.shape.length > 0 && b.shape.length === 0) return a.dtype;
  if (b.shape.length > 0 && a.shape.length === 0) return b.dtype;
  return a.dtype === 'float' || b.dtype === 'float' ? 'float' : a.dtype;
}

function binaryStrides(a: Tensor, b: Tensor, shape: readonly number[]): readonly number[] | null {
  if (sameShape(a.shape, shape)) return preservedStrides(shape, a.strides);
  if (sameShape(b.shape, shape)) return preservedStrides(shape, b.strides);
  return null;
}

/** `a + b` (or a − b) with broadcasting and type promotion; keeps nothing. */
export function add(t: Tape, a: Tensor, b: Tensor): Tensor {
  t.begin('add', [a, b]);
  const shape = broadcastShape(a.shape, b.shape);
  const dtype = promoted(a, b);
  const storage = t.allocate(shape, dtype);
  t.work('pointwise', dtype === 'half', { macs: 0, bytes: byteSize(a) + byteSize(b) + storage.bytes });
  return t.result(
    { storage, shape, dtype, strides: binaryStrides(a, b, shape) },
    { name: 'add', inputs: [a, b], saved: [], rule: passRule },
  );
}

/** `a += b`: no new storage; the result keeps the type of `a`. */
export function addInPlace(t: Tape, a: Tensor, b: Tensor): Tensor {
  t.begin('add_', [a, b]);
  t.work('pointwise', a.dtype === 'half', { macs: 0, bytes: 2 * byteSize(a) + byteSize(b) });
  return t.result(
    { storage: a.storage, shape: a.shape, dtype: a.dtype, strides: a.strides },
    { name: 'add_', inputs: [a, b], saved: [], rule: passRule },
  );
}

const productRule: BackwardRule = (walk, node) => {
  const output = node.outputs[0];
  if (output === undefined) return;
  const products = node.inputs.map((input) =>
    input.edge === null ? undefined : walk.fresh(output.shape, output.dtype),
  );
  products.forEach((product, index) => {
    if (product !== undefined) emitFitted(walk, node, { index, product });
  });
};

function emitFitted(walk: GradientWalk, node: Node, { index, product }: { index: number; product: Grad }): void {
  const input = node.inputs[index];
  const output = node.outputs[0];
  if (input === undefined || output === undefined) return;
  let grad = product;
  if (!sameShape(input.shape, output.shape)) {
    const reduced = walk.fresh(input.shape, output.dtype);
    walk.release(grad.buffer);
    grad = reduced;
  }
  if (input.dtype !== output.dtype) {
    const narrowed = walk.fresh(input.shape, input.dtype);
    walk.release(grad.buffer);
    grad = narrowed;
  }
  walk.emit(index, grad);
}

/** What an in-place product overwrites is copied first when the other operand's gradient needs it. */
function copyOf(t: Tape, x: Tensor): Storage {
  t.begin('clone', [x]);
  return t.allocate(x.shape, x.dtype);
}

/** What a product keeps: each operand that the gradient of the other needs. */
export function keptOperands(a: Tensor, b: Tensor, left: Storage = a.storage): readonly Storage[] {
  if (!b.requiresGrad) return a.requiresGrad ? [b.storage] : [];
  return a.requiresGrad ? [left, b.storage] : [left];
}

/** `a * b` (or a / b): keeps each operand that the other's gradient needs. */
export function multiply(t: Tape, a: Tensor, b: Tensor, options: { inPlace?: boolean; name?: string } = {}): Tensor {
  const { inPlace = false, name = 'mul' } = options;
  const original = inPlace && t.training && b.requiresGrad ? copyOf(t, a) : a.storage;
  t.begin(name, [a, b]);
  const shape = broadcastShape(a.shape, b.shape);
  const dtype = inPlace ? a.dtype : promoted(a, b);
  const storage = inPlace ? a.storage : t.allocate(shape, dtype);
  t.work('pointwise', dtype === 'half', { macs: 0, bytes: byteSize(a) + byteSize(b) + storage.bytes });
  const saved = keptOperands(a, b, original);
  return t.result(
    { storage, shape, dtype, strides: inPlace ? a.strides : binaryStrides(a, b, shape) },
    { name, inputs: [a, b], saved, rule: productRule },
  );
}

/** Data that carries no gradient, made by one operation (random masks, indices, index arithmetic). */
export function constant(t: Tape, name: string, shape: readonly number[], dtype: DType): Tensor {
  t.begin(name, []);
  return new Tensor({ storage: t.allocate(shape, dtype), shape, dtype });
}

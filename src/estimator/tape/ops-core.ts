import { broadcastShape, preservedStrides, sameShape, viewStrides } from './layout.ts';
import {
  emitFresh,
  emitReduced,
  incoming,
  needsGradient,
  passRule,
  permuteRule,
  permuteStrides,
  pointwiseRule,
  viewRule,
} from './rules.ts';
import {
  type BackwardRule,
  type DType,
  elements,
  type Grad,
  type GradientWalk,
  itemSize,
  type Node,
  type Storage,
  Tensor,
} from './storage.ts';
import type { Tape } from './tape.ts';

export function byteSize(x: Tensor): number {
  return elements(x.shape) * itemSize(x.dtype);
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
export function productsOf(operands: readonly Tensor[]): number {
  return operands.reduce((count, operand) => (operand.requiresGrad ? count + 1 : count), 0);
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

function unaryPass(t: Tape, x: Tensor, name: string): Tensor {
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

/** `a * b` (or a / b): keeps each operand that the other's gradient needs. */
export function multiply(t: Tape, a: Tensor, b: Tensor, options: { inPlace?: boolean; name?: string } = {}): Tensor {
  const { inPlace = false, name = 'mul' } = options;
  const original = inPlace && t.training && b.requiresGrad ? copyOf(t, a) : a.storage;
  t.begin(name, [a, b]);
  const shape = broadcastShape(a.shape, b.shape);
  const dtype = inPlace ? a.dtype : promoted(a, b);
  const storage = inPlace ? a.storage : t.allocate(shape, dtype);
  t.work('pointwise', dtype === 'half', { macs: 0, bytes: byteSize(a) + byteSize(b) + storage.bytes });
  const saved = [];
  if (b.requiresGrad) saved.push(original);
  if (a.requiresGrad) saved.push(b.storage);
  return t.result(
    { storage, shape, dtype, strides: inPlace ? a.strides : binaryStrides(a, b, shape) },
    { name, inputs: [a, b], saved, rule: productRule },
  );
}

/** View with another shape: no storage, unless the layout forces a copy. One side may be −1. */
export function reshape(t: Tape, x: Tensor, target: readonly number[]): Tensor {
  const shape = inferShape(x.shape, target);
  if (sameShape(shape, x.shape)) return x;
  const strides = viewStrides(x.shape, x.strides, shape);
  if (strides === undefined) return reshape(t, contiguous(t, x), shape);
  return t.result(
    { storage: x.storage, shape, dtype: x.dtype, strides },
    { name: 'view', inputs: [x], saved: [], rule: viewRule },
  );
}

function inferShape(shape: readonly number[], target: readonly number[]): readonly number[] {
  if (!target.includes(-1)) return target;
  const known = target.reduce((product, side) => (side === -1 ? product : product * side), 1);
  return target.map((side) => (side === -1 ? elements(shape) / known : side));
}

/** Merges the axes from `start` to `end`. */
export function flatten(t: Tape, x: Tensor, start: number, end = x.shape.length - 1): Tensor {
  const merged = elements(x.shape.slice(start, end + 1));
  return reshape(t, x, [...x.shape.slice(0, start), merged, ...x.shape.slice(end + 1)]);
}

export function permute(t: Tape, x: Tensor, order: readonly number[]): Tensor {
  const shape = order.map((axis) => x.shape[axis] ?? 1);
  const strides = permuteStrides(x.shape, x.strides, order);
  const inverse = new Array<number>(order.length);
  order.forEach((axis, index) => {
    inverse[axis] = index;
  });
  return t.result(
    { storage: x.storage, shape, dtype: x.dtype, strides },
    { name: 'permute', inputs: [x], saved: [], rule: permuteRule(inverse) },
  );
}

/** Swaps two axes; negative ones count from the end. */
export function transpose(t: Tape, x: Tensor, first: number, second: number): Tensor {
  const rank = x.shape.length;
  const a = (first + rank) % rank;
  const b = (second + rank) % rank;
  return permute(
    t,
    x,
    x.shape.map((_, axis) => (axis === a ? b : axis === b ? a : axis)),
  );
}

/** A row-major copy; the tensor itself when it is row-major already. */
export function contiguous(t: Tape, x: Tensor): Tensor {
  return x.strides === null ? x : clone(t, x);
}

/** A row-major copy in any case. */
export function clone(t: Tape, x: Tensor): Tensor {
  t.begin('clone', [x]);
  const storage = t.allocate(x.shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype },
    { name: 'clone', inputs: [x], saved: [], rule: passRule },
  );
}

/** `x.clone()`: a copy that keeps the order of axes. */
export function copy(t: Tape, x: Tensor): Tensor {
  return unaryPass(t, x, 'clone');
}

/** Broadcast view without memory; backward sums. */
export function expand(t: Tape, x: Tensor, shape: readonly number[]): Tensor {
  if (sameShape(shape, x.shape)) return x;
  const offset = shape.length - x.shape.length;
  const old =
    x.strides ??
    permuteStrides(
      x.shape,
      null,
      x.shape.map((_, axis) => axis),
    ) ??
    fullStrides(x.shape);
  const strides = shape.map((side, axis) => {
    const source = x.shape[axis - offset] ?? 1;
    return axis < offset || (source === 1 && side !== 1) ? 0 : (old[axis - offset] ?? 0);
  });
  const rule: BackwardRule = (walk, node) => emitReduced(walk, node, 0);
  return t.result(
    { storage: x.storage, shape, dtype: x.dtype, strides },
    { name: 'expand', inputs: [x], saved: [], rule },
  );
}

export function fullStrides(shape: readonly number[]): number[] {
  const strides = new Array<number>(shape.length);
  let step = 1;
  for (let axis = shape.length - 1; axis >= 0; axis -= 1) {
    strides[axis] = step;
    step *= shape[axis] ?? 1;
  }
  return strides;
}

/** Joins along `axis`; backward hands out slices of one gradient. */
export function concat(t: Tape, parts: readonly Tensor[], axis: number): Tensor {
  t.begin('cat', parts);
  const first = parts[0]?.shape ?? [];
  const at = (axis + first.length) % first.length;
  const shape = first.map((side, index) =>
    index === at ? parts.reduce((sum, part) => sum + (part.shape[at] ?? 0), 0) : side,
  );
  const dtype = parts.some((part) => part.dtype === 'float') ? 'float' : (parts[0]?.dtype ?? 'float');
  const storage = t.allocate(shape, dtype);
  t.work('pointwise', dtype === 'half', { macs: 0, bytes: 2 * storage.bytes });
  return t.result({ storage, shape, dtype }, { name: 'cat', inputs: parts, saved: [], rule: sliceRule });
}

const sliceRule: BackwardRule = (walk, node, grads) => {
  const grad = incoming(grads);
  const output = node.outputs[0];
  if (grad === undefined || output === undefined) return;
  const strides = grad.strides ?? fullStrides(output.shape);
  node.inputs.forEach((input, index) => {
    if (input.edge === null) return;
    if (input.dtype === output.dtype) walk.emit(index, walk.share(grad, { strides, whole: false }));
    else walk.emit(index, walk.fresh(input.shape, input.dtype, preservedStrides(input.shape, strides)));
  });
};

/** `x[..., start:end, ...]`: a view; backward pads with zeros into a full-size gradient. */
export function slice(t: Tape, x: Tensor, axis: number, length: number): Tensor {
  const at = (axis + x.shape.length) % x.shape.length;
  if (x.shape[at] === length) return x;
  const shape = x.shape.map((side, index) => (index === at ? length : side));
  const strides = x.strides ?? fullStrides(x.shape);
  return t.result(
    { storage: x.storage, shape, dtype: x.dtype, strides },
    { name: 'slice', inputs: [x], saved: [], rule: padRule },
  );
}

const padRule: BackwardRule = (walk, node) => emitFresh(walk, node, 0);

/** `x[index]` along the first axes (`dropped` of them): a view without those axes; backward fills a full-size gradient. */
export function select(t: Tape, x: Tensor, axis = 0): Tensor {
  const at = (axis + x.shape.length) % x.shape.length;
  const shape = x.shape.filter((_, index) => index !== at);
  const strides = (x.strides ?? fullStrides(x.shape)).filter((_, index) => index !== at);
  return t.result(
    {
      storage: x.storage,
      shape,
      dtype: x.dtype,
      strides: permuteStrides(
        shape,
        strides,
        shape.map((_, i) => i),
      ),
    },
    { name: 'select', inputs: [x], saved: [], rule: padRule },
  );
}

/** All slices along `axis` as views; backward stacks them into one gradient. */
export function unbind(t: Tape, x: Tensor, axis = 0): Tensor[] {
  const at = (axis + x.shape.length) % x.shape.length;
  const shape = x.shape.filter((_, index) => index !== at);
  const strides = (x.strides ?? fullStrides(x.shape)).filter((_, index) => index !== at);
  const view = {
    storage: x.storage,
    shape,
    dtype: x.dtype,
    strides: permuteStrides(
      shape,
      strides,
      shape.map((_, i) => i),
    ),
  };
  return t.results(new Array(x.shape[at] ?? 0).fill(view), {
    name: 'unbind',
    inputs: [x],
    saved: [],
    rule: gatherRule,
  });
}

/** Equal parts along `axis` as views (chunk, split); backward joins them into one gradient. */
export function split(t: Tape, x: Tensor, axis: number, sizes: readonly number[]): Tensor[] {
  const at = (axis + x.shape.length) % x.shape.length;
  const strides = x.strides ?? fullStrides(x.shape);
  const outputs = sizes.map((size) => {
    const shape = x.shape.map((side, index) => (index === at ? size : side));
    return {
      storage: x.storage,
      shape,
      dtype: x.dtype,
      strides: permuteStrides(
        shape,
        strides,
        shape.map((_, i) => i),
      ),
    };
  });
  return t.results(outputs, { name: 'split', inputs: [x], saved: [], rule: gatherRule });
}

/** Outputs that got no gradient are filled with zeros first. */
const gatherRule: BackwardRule = (walk, node, grads) => {
  const input = node.inputs[0];
  if (input === undefined || input.edge === null) return;
  const zeros: Grad[] = [];
  node.outputs.forEach((output, slot) => {
    if (grads[slot] === undefined) zeros.push(walk.fresh(output.shape, output.dtype));
  });
  walk.emit(0, walk.fresh(input.shape, input.dtype));
  for (const zero of zeros) walk.release(zero.buffer);
};

/** Stacks along a new axis. */
export function stack(t: Tape, parts: readonly Tensor[], axis = 0): Tensor {
  t.begin('stack', parts);
  const first = parts[0]?.shape ?? [];
  const shape = [...first.slice(0, axis), parts.length, ...first.slice(axis)];
  const dtype = parts.some((part) => part.dtype === 'float') ? 'float' : (parts[0]?.dtype ?? 'float');
  const storage = t.allocate(shape, dtype);
  t.work('pointwise', dtype === 'half', { macs: 0, bytes: 2 * storage.bytes });
  return t.result({ storage, shape, dtype }, { name: 'stack', inputs: parts, saved: [], rule: sliceRule });
}

/** `roll`: a rearranged copy that keeps nothing. */
export function roll(t: Tape, x: Tensor): Tensor {
  t.begin('roll', [x]);
  const storage = t.allocate(x.shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  return t.result(
    { storage, shape: x.shape, dtype: x.dtype },
    { name: 'roll', inputs: [x], saved: [], rule: (walk, node) => emitFresh(walk, node, 0) },
  );
}

/** Constant padding of the last two (or given) axes: a larger copy; a padding of 0 is still a copy. */
export function pad(t: Tape, x: Tensor, shape: readonly number[]): Tensor {
  t.begin('pad', [x]);
  const storage = t.allocate(shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: byteSize(x) + storage.bytes });
  const same = sameShape(shape, x.shape);
  const rule: BackwardRule = (walk, node, grads) => {
    const grad = incoming(grads);
    if (grad === undefined || !needsGradient(node, 0)) return;
    if (same) walk.emit(0, walk.share(grad));
    else emitFresh(walk, node, 0);
  };
  return t.result({ storage, shape, dtype: x.dtype }, { name: 'pad', inputs: [x], saved: [], rule });
}

/** Data that carries no gradient, made by one operation (random masks, indices, index arithmetic). */
export function constant(t: Tape, name: string, shape: readonly number[], dtype: DType): Tensor {
  t.begin(name, []);
  return new Tensor(t.allocate(shape, dtype), shape, dtype);
}

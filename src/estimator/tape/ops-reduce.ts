import { broadcastShape, preservedStrides, sameShape } from './layout.ts';
import { byteSize, promoted, toFloat } from './ops-core.ts';
import { emitFresh, emitReduced, incoming, needsGradient, passRule } from './rules.ts';
import { type BackwardRule, elements, type Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

/** The gradient goes on for the minuend; the subtrahend's is negated first, into new memory. */
const differenceRule: BackwardRule = (walk, node, grads) => {
  const grad = incoming(grads);
  const output = node.outputs[0];
  const [minuend, subtrahend] = node.inputs;
  if (grad === undefined || output === undefined || minuend === undefined || subtrahend === undefined) return;
  if (needsGradient(node, 0)) {
    if (!sameShape(minuend.shape, output.shape)) emitReduced(walk, node, 0);
    else if (minuend.dtype === output.dtype) walk.emit(0, walk.share(grad));
    else emitFresh(walk, node, 0);
  }
  if (!needsGradient(node, 1)) return;
  if (sameShape(subtrahend.shape, output.shape) && subtrahend.dtype === output.dtype) {
    emitFresh(walk, node, 1);
    return;
  }
  const negated = walk.fresh(output.shape, output.dtype);
  if (sameShape(subtrahend.shape, output.shape)) emitFresh(walk, node, 1);
  else emitReduced(walk, node, 1);
  walk.release(negated.buffer);
};

/** `a - b` with broadcasting and type promotion; keeps nothing. */
export function subtract(t: Tape, a: Tensor, b: Tensor): Tensor {
  t.begin('sub', [a, b]);
  const shape = broadcastShape(a.shape, b.shape);
  const dtype = promoted(a, b);
  const storage = t.allocate(shape, dtype);
  t.work('pointwise', dtype === 'half', { macs: 0, bytes: byteSize(a) + byteSize(b) + storage.bytes });
  const strides = sameShape(a.shape, shape) ? preservedStrides(shape, a.strides) : null;
  return t.result({ storage, shape, dtype, strides }, { name: 'sub', inputs: [a, b], saved: [], rule: differenceRule });
}

/** Maximum over the last axis, which stays with one element: keeps int64 indices; backward scatters into zeros. */
export function maxOverLast(t: Tape, x: Tensor): Tensor {
  const shape = [...x.shape.slice(0, -1), 1];
  t.begin('max', [x]);
  const storage = t.allocate(shape, x.dtype);
  const indices = t.allocate(shape, 'long');
  t.work('reduction', x.dtype === 'half', { macs: 0, bytes: byteSize(x) });
  const rule: BackwardRule = (walk, node) => {
    if (!needsGradient(node, 0)) return;
    const zeros = walk.fresh(x.shape, x.dtype);
    emitFresh(walk, node, 0);
    walk.release(zeros.buffer);
  };
  return t.result({ storage, shape, dtype: x.dtype }, { name: 'max', inputs: [x], saved: [indices], rule });
}

const reducedRule: BackwardRule = (walk, node) => emitReduced(walk, node, 0);

/** Copies of `x` along new or existing axes (`Tensor.repeat`): backward sums; of one copy the gradient goes on as it is. */
export function repeat(t: Tape, x: Tensor, times: readonly number[]): Tensor {
  const shape = x.shape.map((side, axis) => side * (times[axis] ?? 1));
  t.begin('repeat', [x]);
  const storage = t.allocate(shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: elements(shape) });
  const rule = sameShape(shape, x.shape) ? passRule : reducedRule;
  return t.result({ storage, shape, dtype: x.dtype }, { name: 'repeat', inputs: [x], saved: [], rule });
}

/**
 * `a += b` where `a` is a rearranged view: backward copies the gradient into the layout of the viewed memory, then
 * clones it for the operation (CopySlices, torch/csrc/autograd/functions/tensor.cpp, read 2026-11).
 */
export function addIntoView(t: Tape, a: Tensor, b: Tensor): Tensor {
  t.begin('add_', [a, b]);
  t.work('pointwise', a.dtype === 'half', { macs: 0, bytes: 2 * byteSize(a) + byteSize(b) });
  const rule: BackwardRule = (walk, node, grads) => {
    const grad = incoming(grads);
    if (grad === undefined) return;
    const relaid = grad.strides === a.strides ? undefined : walk.fresh(a.shape, a.dtype, a.strides);
    if (relaid !== undefined) walk.drop(grad);
    walk.emit(0, walk.fresh(a.shape, a.dtype, a.strides));
    const copied = walk.fresh(a.shape, a.dtype);
    if (needsGradient(node, 1)) walk.emit(1, copied);
    else walk.release(copied.buffer);
    if (relaid !== undefined) walk.release(relaid.buffer);
  };
  return t.result(
    { storage: a.storage, shape: a.shape, dtype: a.dtype, strides: a.strides },
    { name: 'add_', inputs: [a, b], saved: [], rule },
  );
}

/** `x ** 2` (fp32 list): keeps its input; backward makes the derivative in two steps before the product. */
export function square(t: Tape, x: Tensor): Tensor {
  const input = toFloat(t, x);
  t.begin('pow', [x, input]);
  const storage = t.allocate(input.shape, input.dtype);
  t.work('pointwise', input.dtype === 'half', { macs: 0, bytes: 2 * byteSize(input) });
  const rule: BackwardRule = (walk, node) => {
    const power = walk.fresh(x.shape, input.dtype);
    const derivative = walk.fresh(x.shape, input.dtype);
    emitFresh(walk, node, 0);
    walk.release(power.buffer);
    walk.release(derivative.buffer);
  };
  return t.result(
    { storage, shape: input.shape, dtype: input.dtype, strides: preservedStrides(input.shape, input.strides) },
    { name: 'pow', inputs: [input], saved: [input.storage], rule },
  );
}

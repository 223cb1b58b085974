import { contiguousStrides, preservedStrides, sameShape, viewStrides } from './layout.ts';
import type { BackwardRule, Grad, GradientWalk, Node } from './storage.ts';

/** First output's gradient; rules run only when one arrived. */
export function incoming(grads: readonly (Grad | undefined)[]): Grad | undefined {
  return grads[0];
}

export function needsGradient(node: Node, index: number): boolean {
  const edge = node.inputs[index]?.edge;
  return edge !== null && edge !== undefined;
}

/** One fresh row-major gradient per input that needs one: convolutions, normalisations, pooling, resampling. */
export const freshRule: BackwardRule = (walk, node) => {
  for (let index = 0; index < node.inputs.length; index += 1) emitFresh(walk, node, index);
};

export function emitFresh(walk: GradientWalk, node: Node, index: number): void {
  const input = node.inputs[index];
  if (input !== undefined && input.edge !== null) walk.emit(index, walk.fresh(input.shape, input.dtype));
}

/** One fresh gradient laid out like the incoming one: pointwise operations. */
export const pointwiseRule: BackwardRule = (walk, node, grads) => {
  const grad = incoming(grads);
  const output = node.outputs[0];
  for (let index = 0; index < node.inputs.length; index += 1) {
    const input = node.inputs[index];
    if (input === undefined || input.edge === null) continue;
    const alike = grad !== undefined && output !== undefined && sameShape(input.shape, output.shape);
    const strides = alike && grad.whole ? preservedStrides(input.shape, grad.strides) : null;
    walk.emit(index, walk.fresh(input.shape, input.dtype, strides));
  }
};

/** The gradient itself goes on (add, clone); narrower inputs get a cast, broadcast ones a sum. */
export const passRule: BackwardRule = (walk, node, grads) => {
  const grad = incoming(grads);
  const output = node.outputs[0];
  if (grad === undefined || output === undefined) return;
  for (let index = 0; index < node.inputs.length; index += 1) {
    const input = node.inputs[index];
    if (input === undefined || input.edge === null) continue;
    if (sameShape(input.shape, output.shape) && input.dtype === output.dtype) walk.emit(index, walk.share(grad));
    else if (sameShape(input.shape, output.shape)) walk.emit(index, walk.fresh(input.shape, input.dtype, grad.strides));
    else emitReduced(walk, node, index);
  }
};

/** Sum over broadcast axes, then a cast where the input is narrower. */
export function emitReduced(walk: GradientWalk, node: Node, index: number): void {
  const input = node.inputs[index];
  const output = node.outputs[0];
  if (input === undefined || input.edge === null || output === undefined) return;
  if (input.dtype === output.dtype) {
    walk.emit(index, walk.fresh(input.shape, input.dtype));
    return;
  }
  const sum = walk.fresh(input.shape, output.dtype);
  walk.emit(index, walk.fresh(input.shape, input.dtype));
  walk.release(sum.buffer);
}

/** View: the gradient is viewed back, or copied where its layout does not allow it. */
export const viewRule: BackwardRule = (walk, node, grads) => {
  const grad = incoming(grads);
  const input = node.inputs[0];
  const output = node.outputs[0];
  if (grad === undefined || input === undefined || output === undefined) return;
  const strides = viewStrides(output.shape, grad.strides, input.shape);
  if (strides === undefined) walk.emit(0, walk.fresh(input.shape, input.dtype));
  else walk.emit(0, walk.share(grad, { strides, whole: grad.whole }));
};

/** A permuted view; `inverse[i]` is the axis of the output that was axis i of the input. */
export function permuteRule(inverse: readonly number[]): BackwardRule {
  return (walk, node, grads) => {
    const grad = incoming(grads);
    const output = node.outputs[0];
    const input = node.inputs[0];
    if (grad === undefined || output === undefined || input === undefined) return;
    walk.emit(0, walk.share(grad, { strides: permuteStrides(output.shape, grad.strides, inverse), whole: grad.whole }));
  };
}

export function permuteStrides(
  shape: readonly number[],
  strides: readonly number[] | null,
  order: readonly number[],
): readonly number[] | null {
  const full = strides ?? contiguousStrides(shape);
  const moved = new Array<number>(order.length);
  let rowMajor = true;
  let step = 1;
  for (let axis = order.length - 1; axis >= 0; axis -= 1) {
    const from = order[axis] ?? 0;
    const side = shape[from] ?? 1;
    const stride = full[from] ?? 1;
    moved[axis] = stride;
    if (side !== 1 && stride !== step) rowMajor = false;
    step *= side;
  }
  return rowMajor ? null : moved;
}

/** Matrix product of rows: its gradient has been flattened. */
export const matrixRule: BackwardRule = (walk, node, grads) => {
  if (incoming(grads) === undefined) return;
  flattenGradient(walk, node, grads);
  for (let index = 0; index < node.inputs.length; index += 1) emitFresh(walk, node, index);
};

/**
 * The view behind a matrix product merges leading axes: a gradient laid out otherwise is copied, the copy replaces it.
 * That view saves nothing, so in a checkpointed region it comes before the replay.
 */
export function flattenGradient(walk: GradientWalk, node: Node, grads: readonly (Grad | undefined)[]): void {
  const grad = incoming(grads);
  const output = node.outputs[0];
  if (grad === undefined || output === undefined || grad.strides === null) return;
  const columns = output.shape[output.shape.length - 1] ?? 1;
  if (viewStrides(output.shape, grad.strides, [output.count / columns, columns]) !== undefined) return;
  walk.drop(grad, walk.fresh(output.shape, output.dtype));
}

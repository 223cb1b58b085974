import { preservedStrides } from './layout.ts';
import { byteSize } from './ops-core.ts';
import { fullStrides } from './ops-shape.ts';
import { emitFresh, freshRule, incoming, permuteStrides } from './rules.ts';
import type { BackwardRule, Grad, Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

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

/** Constant padding of the last two (or given) axes: a larger copy; a padding of 0 is still a copy, and so is its gradient. */
export function pad(t: Tape, x: Tensor, shape: readonly number[]): Tensor {
  t.begin('pad', [x]);
  const storage = t.allocate(shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: byteSize(x) + storage.bytes });
  return t.result({ storage, shape, dtype: x.dtype }, { name: 'pad', inputs: [x], saved: [], rule: freshRule });
}

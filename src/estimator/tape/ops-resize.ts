import { byteSize, toFloat } from './ops-core.ts';
import { freshRule, incoming } from './rules.ts';
import type { BackwardRule, Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

/** Mean over axes: keeps nothing; backward expands and divides. */
export function mean(t: Tape, x: Tensor, axes: readonly number[], keepAxes: boolean): Tensor {
  return reduce(t, x, { name: 'mean', axes, keepAxes, divides: true });
}

/** Sum over axes: keeps nothing; the gradient is an expanded view. */
export function sum(t: Tape, x: Tensor, axes: readonly number[], keepAxes: boolean): Tensor {
  return reduce(t, toFloat(t, x), { name: 'sum', axes, keepAxes, divides: false });
}

interface Reduction {
  readonly name: string;
  readonly axes: readonly number[];
  readonly keepAxes: boolean;
  readonly divides: boolean;
}

function reduce(t: Tape, x: Tensor, reduction: Reduction): Tensor {
  const rank = x.shape.length;
  const axes = reduction.axes.map((axis) => (axis + rank) % rank);
  const shape = reduction.keepAxes
    ? x.shape.map((side, axis) => (axes.includes(axis) ? 1 : side))
    : x.shape.filter((_, axis) => !axes.includes(axis));
  t.begin(reduction.name, [x]);
  const storage = t.allocate(shape, x.dtype);
  t.work('reduction', x.dtype === 'half', { macs: 0, bytes: byteSize(x) });
  const rule: BackwardRule = reduction.divides ? freshRule : expandRule;
  return t.result({ storage, shape, dtype: x.dtype }, { name: reduction.name, inputs: [x], saved: [], rule });
}

const expandRule: BackwardRule = (walk, node, grads) => {
  const grad = incoming(grads);
  const input = node.inputs[0];
  if (grad === undefined || input === undefined || input.edge === null) return;
  walk.emit(0, walk.share(grad, { strides: new Array<number>(input.shape.length).fill(0), whole: false }));
};

export type ResizeMode = 'bilinear' | 'nearest' | 'bicubic';

/** `F.interpolate` to height × width: in the fp32 list of autocast; keeps nothing; the same size is still a copy. */
export function resize(t: Tape, x: Tensor, size: readonly [number, number], mode: ResizeMode = 'bilinear'): Tensor {
  const input = toFloat(t, x);
  const shape = [x.shape[0] ?? 1, x.shape[1] ?? 1, size[0], size[1]];
  const name = `upsample_${mode}2d`;
  t.begin(name, [x, input]);
  const storage = t.allocate(shape, input.dtype);
  t.work('resample', input.dtype === 'half', { macs: 0, bytes: byteSize(input) + storage.bytes });
  const strides = channelsLast(shape, input);
  return t.result(
    { storage, shape, dtype: input.dtype, strides },
    { name, inputs: [input], saved: [], rule: resizeRule },
  );
}

/** Resampling keeps the order of axes of maps that are laid out channels last (`suggest_memory_format`). */
function channelsLast(
  shape: readonly number[],
  { shape: old, strides }: Pick<Tensor, 'shape' | 'strides'>,
): readonly number[] | null {
  if (strides === null || strides[1] !== 1 || (old[1] ?? 1) === 1) return null;
  const [, channels = 1, height = 1, width = 1] = shape;
  const [batchStep = 0, , rowStep = 0, step = 0] = strides;
  if (step < (old[1] ?? 1) || rowStep < step * (old[3] ?? 1) || batchStep < rowStep * (old[2] ?? 1)) return null;
  return [channels * height * width, 1, channels * width, channels];
}

const resizeRule: BackwardRule = (walk, node, grads) => {
  const grad = incoming(grads);
  const [input] = node.inputs;
  const [output] = node.outputs;
  if (grad === undefined || input === undefined || output === undefined || input.edge === null) return;
  const strides = channelsLast(input.shape, { shape: output.shape, strides: grad.strides });
  walk.emit(0, walk.fresh(input.shape, input.dtype, strides));
};

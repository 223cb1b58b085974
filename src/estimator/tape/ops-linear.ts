import { add, addInPlace, byteSize, keptOperands, productsOf, toHalf } from './ops-core.ts';
import { reshape } from './ops-shape.ts';
import { freshRule, matrixRule } from './rules.ts';
import { elements, type Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

export interface LinearWeights {
  readonly weight: Tensor;
  readonly bias: Tensor | null;
}

export function linearWeights(t: Tape, inFeatures: number, outFeatures: number, bias = true): LinearWeights {
  const weight = t.param(outFeatures, inFeatures);
  return { weight, bias: bias ? t.param(outFeatures) : null };
}

/** `nn.Linear` on …×features. */
export function linear(
  t: Tape,
  x: Tensor,
  out: number,
  options: { bias?: boolean; shared?: LinearWeights } = {},
): Tensor {
  const weights = options.shared ?? linearWeights(t, x.shape[x.shape.length - 1] ?? 1, out, options.bias ?? true);
  return applyLinear(t, x, weights);
}

/**
 * As ATen's `linear`: one fused `addmm` on row-major input with bias; otherwise a matrix product (which copies an
 * input whose leading axes cannot be merged) and an addition.
 */
export function applyLinear(t: Tape, x: Tensor, weights: LinearWeights): Tensor {
  const bias = weights.bias === null ? null : toHalf(t, weights.bias);
  const weight = toHalf(t, weights.weight);
  const input = toHalf(t, x);
  const shape = [...x.shape.slice(0, -1), weight.shape[0] ?? 1];
  if (bias !== null && (input.strides === null || input.shape.length === 2))
    return matrixProduct(t, { x, input, weight, bias, shape });
  const flat = input.shape.length > 2 ? reshape(t, input, [-1, input.shape[input.shape.length - 1] ?? 1]) : input;
  const product = matrixProduct(t, { x, input: flat, weight, bias: null, shape });
  if (bias === null) return product;
  const out = t.options.fanInCopies ? add(t, product, bias) : addInPlace(t, product, bias);
  t.keep(x, input);
  return out;
}

interface Product {
  readonly x: Tensor;
  readonly input: Tensor;
  readonly weight: Tensor;
  readonly bias: Tensor | null;
  readonly shape: readonly number[];
}

function matrixProduct(t: Tape, p: Product): Tensor {
  const name = p.bias === null ? 'mm' : 'addmm';
  const inputs = p.bias === null ? [p.input, p.weight] : [p.input, p.weight, p.bias];
  t.begin(name, p.input === p.x ? inputs : [p.x, ...inputs]);
  const { dtype } = p.input;
  const storage = t.allocate(p.shape, dtype);
  const features = p.weight.shape[1] ?? 1;
  t.work('matmul', dtype === 'half', {
    products: productsOf(p.input, p.weight),
    macs: elements(p.shape) * features,
    bytes: byteSize(p.input) + byteSize(p.weight) + storage.bytes,
  });
  const saved = keptOperands(p.input, p.weight);
  return t.result({ storage, shape: p.shape, dtype }, { name, inputs, saved, rule: matrixRule });
}

/** `a @ b` on equal leading axes: operands that cannot be seen as a batch of matrices are copied first, their casts alive till the end. */
export function matmul(t: Tape, a: Tensor, b: Tensor): Tensor {
  const left = toHalf(t, a);
  const right = toHalf(t, b);
  const rank = left.shape.length;
  const rows = left.shape[rank - 2] ?? 1;
  const inner = left.shape[rank - 1] ?? 1;
  const columns = right.shape[right.shape.length - 1] ?? 1;
  const batch = elements(left.shape.slice(0, -2));
  const first = rank === 3 ? left : reshape(t, left, [batch, rows, inner]);
  const second = right.shape.length === 3 ? right : reshape(t, right, [batch, inner, columns]);
  const product = batchProduct(t, [a, b, left, right], first, second);
  return rank === 3 ? product : reshape(t, product, [...left.shape.slice(0, -2), rows, columns]);
}

/** `torch.bmm` on B×n×k and B×k×m: keeps both operands. */
export function bmm(t: Tape, a: Tensor, b: Tensor): Tensor {
  return batchProduct(t, [a, b], toHalf(t, a), toHalf(t, b));
}

function batchProduct(t: Tape, held: readonly Tensor[], a: Tensor, b: Tensor): Tensor {
  const [batch = 1, rows = 1, inner = 1] = a.shape;
  const columns = b.shape[2] ?? 1;
  t.begin('bmm', [...held, a, b]);
  const shape = [batch, rows, columns];
  const storage = t.allocate(shape, a.dtype);
  t.work('matmul', a.dtype === 'half', {
    products: productsOf(a, b),
    macs: batch * rows * columns * inner,
    bytes: byteSize(a) + byteSize(b) + storage.bytes,
  });
  const saved = keptOperands(a, b);
  return t.result({ storage, shape, dtype: a.dtype }, { name: 'bmm', inputs: [a, b], saved, rule: freshRule });
}

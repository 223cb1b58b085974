import { viewStrides } from './layout.ts';
import { add, addInPlace, byteSize, contiguous, reshape, toHalf, transpose } from './ops-core.ts';
import { emitFresh, freshRule, incoming } from './rules.ts';
import { type BackwardRule, elements, type Tensor } from './storage.ts';
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
  const out = weight.shape[0] ?? 1;
  const shape = [...x.shape.slice(0, -1), out];
  if (bias !== null && (input.strides === null || input.shape.length === 2))
    return matrixProduct(t, { x, input, weight, bias, shape });
  const flat = input.shape.length > 2 ? reshape(t, input, [-1, input.shape[input.shape.length - 1] ?? 1]) : input;
  const product = matrixProduct(t, { x, input: flat, weight, bias: null, shape });
  if (bias === null) return product;
  return t.options.fanInCopies ? add(t, product, bias) : addInPlace(t, product, bias);
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
  t.begin(name, [p.x, ...inputs]);
  const { dtype } = p.input;
  const storage = t.allocate(p.shape, dtype);
  const features = p.weight.shape[1] ?? 1;
  t.work('matmul', dtype === 'half', {
    macs: elements(p.shape) * features,
    bytes: byteSize(p.input) + byteSize(p.weight) + storage.bytes,
  });
  const saved = [];
  if (p.weight.requiresGrad) saved.push(p.input.storage);
  if (p.input.requiresGrad) saved.push(p.weight.storage);
  return t.result({ storage, shape: p.shape, dtype }, { name, inputs, saved, rule: matrixRule });
}

/** A gradient whose leading axes cannot be merged is copied first; the copy replaces it. */
const matrixRule: BackwardRule = (walk, node, grads) => {
  const grad = incoming(grads);
  const output = node.outputs[0];
  if (grad === undefined || output === undefined) return;
  const rows = elements(output.shape) / (output.shape[output.shape.length - 1] ?? 1);
  const flat = [rows, output.shape[output.shape.length - 1] ?? 1];
  const copied =
    viewStrides(output.shape, grad.strides, flat) === undefined ? walk.fresh(output.shape, output.dtype) : undefined;
  if (copied !== undefined) walk.drop(grad);
  for (let index = 0; index < node.inputs.length; index += 1) emitFresh(walk, node, index);
  if (copied !== undefined) walk.release(copied.buffer);
};

/** `a @ b` on equal leading axes: operands that cannot be seen as a batch of matrices are copied first. */
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
  const product = batchProduct(t, [a, b], first, second);
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
    macs: batch * rows * columns * inner,
    bytes: byteSize(a) + byteSize(b) + storage.bytes,
  });
  const saved = [];
  if (b.requiresGrad) saved.push(a.storage);
  if (a.requiresGrad) saved.push(b.storage);
  return t.result({ storage, shape, dtype: a.dtype }, { name: 'bmm', inputs: [a, b], saved, rule: freshRule });
}

export interface FusedAttention {
  readonly q: Tensor;
  readonly k: Tensor;
  readonly v: Tensor;
  /** Additive mask of B×h×N×M or broadcastable, if any; trainable masks get a gradient. */
  readonly mask?: Tensor;
  readonly dropout?: number;
}

/**
 * `F.scaled_dot_product_attention` on B×h×N×d as the sm80 dispatcher chooses: flash for 16 bit without a mask, else
 * memory-efficient. Keeps q, k, v, output, logsumexp and two seeds; the N×M matrix never exists. A mask whose rows are
 * no multiple of 8 is padded, and it is kept (physics.md §7 F10).
 */
export function scaledDotProduct(t: Tape, { q, k, v, mask, dropout = 0 }: FusedAttention): Tensor {
  const query = toHalf(t, q);
  const key = toHalf(t, k);
  const value = toHalf(t, v);
  const bias = mask === undefined ? undefined : padMask(t, toHalf(t, mask));
  const flash = query.dtype === 'half' && bias === undefined;
  const operands = flash ? padHeads(t, [query, key, value]) : [query, key, value];
  return fused(t, { held: [q, k, v], operands, bias, flash, dropout, width: value.shape[3] ?? 1 });
}

/** Flash attention wants a head size that is a multiple of 8. */
function padHeads(t: Tape, operands: readonly Tensor[]): readonly Tensor[] {
  const size = operands[0]?.shape[3] ?? 8;
  if (size % 8 === 0) return operands;
  return operands.map((operand) => {
    const shape = [...operand.shape.slice(0, 3), Math.ceil(size / 8) * 8];
    t.begin('pad', [operand]);
    const storage = t.allocate(shape, operand.dtype);
    return t.result(
      { storage, shape, dtype: operand.dtype },
      { name: 'pad', inputs: [operand], saved: [], rule: freshRule },
    );
  });
}

function padMask(t: Tape, mask: Tensor): Tensor {
  const width = mask.shape[mask.shape.length - 1] ?? 1;
  if (width % 8 === 0 && mask.strides === null) return mask;
  const shape = [...mask.shape.slice(0, -1), Math.ceil(width / 8) * 8];
  t.begin('pad', [mask]);
  const storage = t.allocate(shape, mask.dtype);
  return t.result({ storage, shape, dtype: mask.dtype }, { name: 'pad', inputs: [mask], saved: [], rule: freshRule });
}

interface Fused {
  readonly held: readonly Tensor[];
  readonly operands: readonly Tensor[];
  readonly bias: Tensor | undefined;
  readonly flash: boolean;
  readonly dropout: number;
  readonly width: number;
}

function fused(t: Tape, f: Fused): Tensor {
  const [q, k, v] = f.operands;
  if (q === undefined || k === undefined || v === undefined) return f.held[0] ?? t.input([1]);
  const [batch = 1, heads = 1, queries = 1, size = 1] = q.shape;
  const keys = k.shape[2] ?? 1;
  const name = f.flash ? 'flash_attention' : 'efficient_attention';
  const inputs = f.bias === undefined ? [q, k, v] : [q, k, v, f.bias];
  t.begin(name, [...f.held, ...inputs]);
  const width = v.shape[3] ?? size;
  const shape = [batch, heads, queries, width];
  const storage = t.allocate(shape, q.dtype);
  const rows = f.flash ? queries : Math.ceil(queries / 32) * 32;
  const saved = [
    q.storage,
    k.storage,
    v.storage,
    storage,
    t.allocateBytes(4 * batch * heads * rows),
    t.allocateBytes(8),
    t.allocateBytes(8),
  ];
  if (f.bias !== undefined) saved.push(f.bias.storage);
  t.work('attention', q.dtype === 'half', {
    macs: batch * heads * queries * keys * (size + width),
    bytes: byteSize(q) + byteSize(k) + byteSize(v) + storage.bytes,
  });
  const strides = transposedHeads(shape);
  const output = { storage, shape, dtype: q.dtype, strides };
  return narrowed(t, t.result(output, { name, inputs, saved, rule: freshRule }), f.width);
}

/** The kernels write B×N×h×d and hand out a B×h×N×d view. */
function transposedHeads([batch = 1, heads = 1, queries = 1, size = 1]: readonly number[]): readonly number[] | null {
  if (heads === 1 || queries === 1) return null;
  return batch === 0 ? null : [queries * heads * size, size, heads * size, 1];
}

function narrowed(t: Tape, x: Tensor, width: number): Tensor {
  if (x.shape[3] === width) return x;
  const shape = [...x.shape.slice(0, 3), width];
  return t.result(
    { storage: x.storage, shape, dtype: x.dtype, strides: x.strides ?? [] },
    { name: 'slice', inputs: [x], saved: [], rule: freshRule },
  );
}

/** B×N×C → B×h×N×(C/h) as attention code usually writes it: a view. */
export function splitHeads(t: Tape, x: Tensor, heads: number): Tensor {
  const [batch = 1, tokens = 1, channels = 1] = x.shape;
  return transpose(t, reshape(t, x, [batch, tokens, heads, channels / heads]), 1, 2);
}

/** B×h×N×d → B×N×(h·d): a copy unless the layout already allows it. */
export function mergeHeads(t: Tape, x: Tensor): Tensor {
  const [batch = 1, heads = 1, tokens = 1, size = 1] = x.shape;
  return reshape(t, transpose(t, x, 1, 2), [batch, tokens, heads * size]);
}

export { contiguous };

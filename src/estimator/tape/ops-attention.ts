import { contiguousStrides, normalStrides, preservedStrides } from './layout.ts';
import { byteSize, toHalf } from './ops-core.ts';
import { slice } from './ops-parts.ts';
import { expand } from './ops-shape.ts';
import { emitFresh, freshRule, incoming } from './rules.ts';
import type { BackwardRule, Tensor } from './storage.ts';
import type { Tape } from './tape.ts';

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
 * memory-efficient. Keeps q, k, v, output, logsumexp and two seeds; the N×M matrix never exists. A mask is kept, and
 * padded first where its rows are no multiple of 8 (physics.md §7 F10, torch 2.13).
 */
export function scaledDotProduct(t: Tape, { q, k, v, mask }: FusedAttention): Tensor {
  const query = toHalf(t, q);
  const key = toHalf(t, k);
  const value = toHalf(t, v);
  const bias = mask === undefined ? undefined : alignedMask(t, toHalf(t, mask), query, key);
  const flash = query.dtype === 'half' && bias === undefined;
  const operands = flash ? padHeads(t, [query, key, value]) : [query, key, value];
  return fused(t, { held: [q, k, v], operands, bias, flash, width: value.shape[3] ?? 1 });
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

/** Rows padded to a multiple of 8 and cut again (so that they are aligned), broadcast to the batch as a view. */
function alignedMask(t: Tape, mask: Tensor, query: Tensor, key: Tensor): Tensor {
  const width = mask.shape[mask.shape.length - 1] ?? 1;
  const aligned =
    width % 8 === 0 && mask.strides === null ? mask : slice(t, padRows(t, mask, Math.ceil(width / 8) * 8), -1, width);
  const [batch = 1, heads = 1, queries = 1] = query.shape;
  return expand(t, aligned, [batch, heads, queries, key.shape[2] ?? 1]);
}

function padRows(t: Tape, mask: Tensor, width: number): Tensor {
  const shape = [...mask.shape.slice(0, -1), width];
  t.begin('pad', [mask]);
  const storage = t.allocate(shape, mask.dtype);
  const rule: BackwardRule = (walk, _node, grads) => {
    const grad = incoming(grads);
    if (grad !== undefined)
      walk.emit(0, walk.share(grad, { strides: grad.strides ?? contiguousStrides(shape), whole: false }));
  };
  return t.result({ storage, shape, dtype: mask.dtype }, { name: 'pad', inputs: [mask], saved: [], rule });
}

interface Fused {
  readonly held: readonly Tensor[];
  readonly operands: readonly Tensor[];
  readonly bias: Tensor | undefined;
  readonly flash: boolean;
  readonly width: number;
}

function fused(t: Tape, f: Fused): Tensor {
  const [q, k, v] = f.operands;
  if (q === undefined || k === undefined || v === undefined) throw new RangeError('attention needs q, k and v');
  const [batch = 1, heads = 1, queries = 1, size = 1] = q.shape;
  const keys = k.shape[2] ?? 1;
  const name = f.flash ? 'flash_attention' : 'efficient_attention';
  const inputs = f.bias === undefined ? [q, k, v] : [q, k, v, f.bias];
  t.begin(name, [...f.held, ...inputs]);
  const width = v.shape[3] ?? size;
  const shape = [batch, heads, queries, width];
  const storage = t.allocate(shape, q.dtype);
  const rows = f.flash ? queries : Math.ceil(queries / 32) * 32;
  const logSumExp = t.allocateBytes(4 * batch * heads * rows);
  const saved = [q.storage, k.storage, v.storage, storage, logSumExp, t.allocateBytes(8), t.allocateBytes(8)];
  if (f.bias !== undefined) saved.push(f.bias.storage);
  // Backward recomputes the scores: five products against two.
  t.work('attention', q.dtype === 'half', {
    products: t.training ? 2.5 : 0,
    macs: batch * heads * queries * keys * (size + width),
    bytes: byteSize(q) + byteSize(k) + byteSize(v) + storage.bytes,
  });
  const strides = f.flash ? likeOperand(q) : headsInside(shape);
  const output = { storage, shape, dtype: q.dtype, strides };
  return narrowed(t, t.result(output, { name, inputs, saved, rule: f.flash ? flashRule : attentionRule }), f.width);
}

/** Gradients of q, k and v are laid out B×N×h×d; that of a mask has rows of a multiple of 16. */
const attentionRule: BackwardRule = (walk, node) => {
  for (const [index, input] of node.inputs.entries()) {
    if (input.edge === null) continue;
    if (index < 3) walk.emit(index, walk.fresh(input.shape, input.dtype, headsInside(input.shape)));
    else emitMaskGradient(walk, node, index);
  }
};

const emitMaskGradient = (
  walk: Parameters<BackwardRule>[0],
  node: Parameters<BackwardRule>[1],
  index: number,
): void => {
  const mask = node.inputs[index];
  if (mask === undefined) return;
  const width = mask.shape[mask.shape.length - 1] ?? 1;
  if (width % 16 === 0) {
    emitFresh(walk, node, index);
    return;
  }
  const padded = [...mask.shape.slice(0, -1), Math.ceil(width / 16) * 16];
  walk.emit(index, { ...walk.fresh(padded, mask.dtype, contiguousStrides(padded)), whole: false });
};

/** Flash lays gradients out like the operands. */
const flashRule: BackwardRule = (walk, node) => {
  for (const [index, input] of node.inputs.entries()) {
    if (input.edge !== null) walk.emit(index, walk.fresh(input.shape, input.dtype, likeOperand(input)));
  }
};

/** `empty_like` of the operand seen as B×N×h×d, seen as B×h×N×d again: row-major B×N×h×d from most projections. */
function likeOperand({ shape, strides }: Tensor): readonly number[] | null {
  const [batch = 1, heads = 1, rows = 1, size = 1] = shape;
  const [first = 0, second = 0, third = 0, fourth = 1] = strides ?? [heads * rows * size, rows * size, size, 1];
  const turned = preservedStrides([batch, rows, heads, size], [first, third, second, fourth]);
  if (turned === null) return headsInside(shape);
  const [outer = 0, row = 0, head = 0, inner = 1] = turned;
  return normalStrides(shape, [outer, head, row, inner]);
}

/** The kernels write B×N×h×d and hand out a B×h×N×d view. */
function headsInside([, heads = 1, queries = 1, size = 1]: readonly number[]): readonly number[] | null {
  return heads === 1 || queries === 1 ? null : [queries * heads * size, size, heads * size, 1];
}

function narrowed(t: Tape, x: Tensor, width: number): Tensor {
  return x.shape[3] === width ? x : slice(t, x, 3, width);
}

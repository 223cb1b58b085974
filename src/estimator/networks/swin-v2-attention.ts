import { relu, sigmoid, softmax } from '../tape/ops-activation.ts';
import { add, multiply, scale, unary } from '../tape/ops-core.ts';
import { applyLinear, linear, matmul } from '../tape/ops-linear.ts';
import { concat, unbind } from '../tape/ops-parts.ts';
import { contiguous, permute, reshape, transpose } from '../tape/ops-shape.ts';
import { emitFresh } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { withMask } from './swin.ts';

/** `F.normalize` over the last axis: the norm keeps its input, the quotient both operands. */
function normalized(t: Tape, x: Tensor): Tensor {
  const shape = [...x.shape.slice(0, -1), 1];
  t.begin('vector_norm', [x]);
  const storage = t.allocate(shape, 'float');
  const norm = t.result(
    { storage, shape, dtype: 'float' },
    { name: 'vector_norm', inputs: [x], saved: [x.storage, storage], rule: (walk, node) => emitFresh(walk, node, 0) },
  );
  const clamped = unary(t, norm, 'clamp_min', { keeps: 'input' });
  return multiply(t, x, clamped, { name: 'div' });
}

/** Bias from a small network over log-spaced offsets, 1×h×N×N. */
function continuousBias(t: Tape, heads: number, window: number): Tensor {
  const tokens = window ** 2;
  const offsets = t.buffer([1, 2 * window - 1, 2 * window - 1, 2]);
  const index = t.buffer([tokens, tokens], 'long');
  const hidden = relu(t, linear(t, offsets, 512));
  const table = reshape(t, linear(t, hidden, heads, { bias: false }), [(2 * window - 1) ** 2, heads]);
  t.begin('index', [table, index]);
  const shape = [tokens * tokens, heads];
  const picked = t.result(
    { storage: t.allocate(shape, table.dtype), shape, dtype: table.dtype },
    { name: 'index', inputs: [table], saved: [index.storage], rule: (walk, node) => emitFresh(walk, node, 0) },
  );
  const square = contiguous(t, permute(t, reshape(t, picked, [tokens, tokens, heads]), [2, 0, 1]));
  t.keep(table);
  const bias = scale(t, sigmoid(t, square));
  t.keep(square);
  return reshape(t, bias, [1, heads, tokens, tokens]);
}

/** Scaled cosine attention inside windows, (B·nW)×N×C. Liu et al. 2022 in timm 1.0.31. */
export function cosineAttention(
  t: Tape,
  x: Tensor,
  { heads, window, mask }: { heads: number; window: number; mask: Tensor | undefined },
): Tensor {
  const [batch = 1, tokens = 1, channels = 1] = x.shape;
  return t.call('attn', mask === undefined ? [x] : [x, mask], () => {
    const logitScale = t.param(heads, 1, 1);
    const weight = t.param(3 * channels, channels);
    const bias = concat(t, [t.param(channels), t.buffer([channels]), t.param(channels)], 0);
    const packed = applyLinear(t, x, { weight, bias });
    const qkv = permute(t, reshape(t, packed, [batch, tokens, 3, heads, channels / heads]), [2, 0, 3, 1, 4]);
    const [q = x, k = x, v = x] = unbind(t, qkv);
    const cosine = matmul(t, normalized(t, q), transpose(t, normalized(t, k), -2, -1));
    const factor = unary(t, unary(t, logitScale, 'clamp', { keeps: 'input' }), 'exp', { keeps: 'output' });
    const scaled = multiply(t, cosine, factor);
    const position = continuousBias(t, heads, window);
    const biased = add(t, scaled, position);
    const masked = mask === undefined ? biased : withMask(t, biased, mask);
    const weights = softmax(t, masked);
    const attended = reshape(t, transpose(t, matmul(t, weights, v), 1, 2), [batch, tokens, channels]);
    const out = linear(t, attended, channels);
    t.keep(packed, bias, factor, position, weights);
    return out;
  });
}

import { relu, sigmoid } from '../tape/ops-activation.ts';
import { scaledDotProduct } from '../tape/ops-attention.ts';
import { add, multiply, scale } from '../tape/ops-core.ts';
import { indexed } from '../tape/ops-index.ts';
import { linear } from '../tape/ops-linear.ts';
import { derived } from '../tape/ops-masks.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat, select } from '../tape/ops-parts.ts';
import { repeat } from '../tape/ops-reduce.ts';
import { clone, contiguous, permute, reshape, transpose } from '../tape/ops-shape.ts';
import { emitFresh } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

const WIDTH = 256;
const HEADS = 4;
const LAYERS = 6;
const VOCABULARY = 49_408;

/** Text mapper of OneFormer in transformers 5.24, which only trains: B×texts×77 token ids and 16 learned contexts → B×Q×256. */
export function oneFormerText(t: Tape, ids: Tensor, contexts: number): Tensor {
  const [batch = 1, texts = 1, length = 1] = ids.shape;
  return t.call('text_mapper', ids, () => {
    const encoded = t.call('text_encoder', ids, () => encode(t, ids, { rows: batch * texts, length }));
    const hidden = relu(t, linear(t, encoded, WIDTH), false);
    const queries = reshape(t, linear(t, hidden, WIDTH), [batch, texts, WIDTH]);
    const learned = repeat(t, reshape(t, t.param(contexts, WIDTH), [1, contexts, WIDTH]), [batch, 1, 1]);
    const all = concat(t, [queries, learned], 1);
    t.keep(encoded, queries);
    return all;
  });
}

function encode(t: Tape, ids: Tensor, { rows, length }: { rows: number; length: number }): Tensor {
  const table = t.param(VOCABULARY, WIDTH);
  const positions = t.param(length, WIDTH);
  t.begin('embedding', [table, ids]);
  const shape = [rows, length, WIDTH];
  const storage = t.allocate(shape, 'float');
  const embedded = t.result(
    { storage, shape, dtype: 'float' },
    { name: 'embedding', inputs: [table], saved: [ids.storage], rule: (walk, node) => emitFresh(walk, node, 0) },
  );
  let x = permute(t, add(t, embedded, positions), [1, 0, 2]);
  const start = x;
  t.call('transformer', start, () => {
    for (let layer = 0; layer < LAYERS; layer += 1) x = textLayer(t, x);
  });
  const normalised = layerNorm(t, permute(t, x, [1, 0, 2]));
  const ends = derived(t, 'argmax', [ids], { shape: [rows], dtype: 'long' });
  return indexed(t, normalised, [rows, WIDTH], ends);
}

/** Pre-norm layer on L×B×C without a mask. */
function textLayer(t: Tape, x: Tensor): Tensor {
  return t.call('layers', x, () => {
    const attended = fusedAttention(t, layerNorm(t, x));
    const middle = add(t, x, attended);
    const normalised = layerNorm(t, middle);
    const fed = t.call('mlp', normalised, () => linear(t, quickGelu(t, linear(t, normalised, 4 * WIDTH)), WIDTH));
    const out = add(t, middle, fed);
    t.keep(middle, fed);
    return out;
  });
}

/** `x · σ(1.702 x)`. */
function quickGelu(t: Tape, x: Tensor): Tensor {
  return multiply(t, x, sigmoid(t, scale(t, x)));
}

/** `nn.MultiheadAttention` with `need_weights=False`: the fused kernel. */
function fusedAttention(t: Tape, x: Tensor): Tensor {
  const [length = 1, batch = 1] = x.shape;
  return t.call('self_attn', x, () => {
    const packed = linear(t, x, 3 * WIDTH);
    const apart = clone(t, permute(t, reshape(t, packed, [length, batch, 3, WIDTH]), [2, 0, 1, 3]));
    const head = (): Tensor => {
      const rows = transpose(t, reshape(t, select(t, apart), [length, batch * HEADS, WIDTH / HEADS]), 0, 1);
      return reshape(t, rows, [batch, HEADS, length, WIDTH / HEADS]);
    };
    const [q, k, v] = [head(), head(), head()] as const;
    t.keep(packed);
    const attended = scaledDotProduct(t, { q, k, v });
    const merged = reshape(t, contiguous(t, permute(t, attended, [2, 0, 1, 3])), [length * batch, WIDTH]);
    const out = reshape(t, linear(t, merged, WIDTH), [length, batch, WIDTH]);
    t.keep(apart, merged);
    return out;
  });
}

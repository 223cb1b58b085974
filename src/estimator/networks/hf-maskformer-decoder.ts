import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropout } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { repeat } from '../tape/ops-reduce.ts';
import { contiguous, reshape, transpose } from '../tape/ops-shape.ts';
import type { BackwardRule, Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { AttentionKind } from '../workload.ts';
import { channelsOf } from './blocks.ts';
import { fromHeads, hfAttention, toHeads } from './hf-attention.ts';
import { hfSinePositions } from './hf-sine-positions.ts';

const CHANNELS = 256;
const HEADS = 8;
const LAYERS = 6;
const FEEDFORWARD = 2048;
const DROPOUT = 0.1;

/**
 * Transformer module of MaskFormer in transformers 5.24: six post-norm DETR layers on learned queries over the
 * coarsest map. Gives B×Q×256.
 */
export function maskFormerDecoder(
  t: Tape,
  map: Tensor,
  { queries, attention }: { queries: number; attention: AttentionKind },
): Tensor {
  return t.call('transformer_module', map, () => {
    const table = t.param(queries, CHANNELS);
    const projected = channelsOf(map) === CHANNELS ? map : conv2d(t, map, { out: CHANNELS, kernel: 1, bias: true });
    const [batch = 1, , height = 1, width = 1] = projected.shape;
    const places = repeat(t, reshape(t, table, [1, queries, CHANNELS]), [batch, 1, 1]);
    const start = zerosLike(t, places);
    const tokens = (x: Tensor): Tensor => transpose(t, reshape(t, x, [batch, CHANNELS, height * width]), 1, 2);
    const positions = tokens(hfSinePositions(t, projected, CHANNELS / 2));
    const memory = tokens(projected);
    // The embedding stays in a cache of one entry.
    t.hold(positions);
    let x = start;
    for (let layer = 0; layer < LAYERS; layer += 1) x = decoderLayer(t, x, { places, memory, positions, attention });
    const out = layerNorm(t, x);
    t.keep(places, start, memory, positions);
    return out;
  });
}

const leafRule: BackwardRule = (walk, node, [grad]) => {
  if (grad !== undefined) walk.share(grad);
  for (const storage of node.saved) storage.holders += 1;
};

/** Zeros that the library marks as requiring a gradient, which nobody reads: the graph holds such a leaf and its gradient. */
function zerosLike(t: Tape, x: Tensor): Tensor {
  t.begin('zeros_like', []);
  const storage = t.allocate(x.shape, 'float');
  return t.result(
    { storage, shape: x.shape, dtype: 'float' },
    { name: 'zeros_like', inputs: [x], saved: [storage], rule: leafRule },
  );
}

interface Layer {
  readonly places: Tensor;
  readonly memory: Tensor;
  readonly positions: Tensor;
  readonly attention: AttentionKind;
}

function decoderLayer(t: Tape, x: Tensor, { places, memory, positions, attention }: Layer): Tensor {
  return t.call('layers', [x, places, memory, positions], () => {
    const own = attend(t, { query: x, places, attention, name: 'self_attn' });
    const first = layerNorm(t, add(t, x, dropout(t, own.output, DROPOUT)));
    const cross = attend(t, { query: first, places, attention, name: 'encoder_attn', memory, positions });
    if (own.weights !== undefined) t.keep(own.weights);
    const second = layerNorm(t, add(t, first, dropout(t, cross.output, DROPOUT)));
    const fed = t.call('mlp', second, () => {
      const wide = relu(t, linear(t, second, FEEDFORWARD), false);
      return dropout(t, linear(t, wide, CHANNELS), DROPOUT);
    });
    const out = layerNorm(t, add(t, second, fed));
    t.keep(second, ...(cross.weights === undefined ? [] : [cross.weights]));
    return out;
  });
}

interface Attending {
  readonly query: Tensor;
  readonly places: Tensor;
  readonly attention: AttentionKind;
  readonly name: string;
  /** What is looked at, and its positions; the queries themselves by default. */
  readonly memory?: Tensor;
  readonly positions?: Tensor;
}

function attend(t: Tape, a: Attending): { output: Tensor; weights: Tensor | undefined } {
  const { query, memory = query } = a;
  return t.call(a.name, [query, a.places, memory], () => {
    const asking = add(t, query, a.places);
    const known = a.positions === undefined ? asking : add(t, memory, a.positions);
    const q = toHeads(t, linear(t, asking, CHANNELS), HEADS);
    const k = toHeads(t, linear(t, known, CHANNELS), HEADS);
    const v = toHeads(t, linear(t, memory, CHANNELS), HEADS);
    const { output, weights } = hfAttention(t, { query: q, key: k, value: v, keepsSoftmax: true }, a.attention);
    const projected = linear(t, contiguous(t, fromHeads(t, output)), CHANNELS);
    t.keep(asking, known, q, k, v, output);
    return { output: projected, weights };
  });
}

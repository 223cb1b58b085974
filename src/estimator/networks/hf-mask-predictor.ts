import { ModuleWeights } from '../tape/module-weights.ts';
import { relu, sigmoid } from '../tape/ops-activation.ts';
import { applyLinear, type LinearWeights, linearWeights } from '../tape/ops-linear.ts';
import { derived } from '../tape/ops-masks.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { repeat } from '../tape/ops-reduce.ts';
import { resize } from '../tape/ops-resize.ts';
import { reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { maskLogits } from './mask-embedding.ts';

const CHANNELS = 256;
const HEADS = 8;

/** Queries with a norm, and the masks predicted from them: shared by all layers. */
export interface QueryHead {
  readonly norm: ModuleWeights;
  readonly embedding: readonly LinearWeights[];
}

export function queryHead(t: Tape): QueryHead {
  return { norm: new ModuleWeights(), embedding: [0, 1, 2].map(() => linearWeights(t, CHANNELS, CHANNELS)) };
}

export interface PredictedMasks {
  /** Q×B×C, normalised. */
  readonly queries: Tensor;
  /** B×Q×H/4×W/4. */
  readonly masks: Tensor;
  /** (B·h)×Q×N bytes: where the next layer may not look. */
  readonly blocked: Tensor;
}

/** Mask2FormerMaskPredictor of transformers 5.24 behind the decoder's norm. `size`: of the map the next layer looks at. */
export function predictMasks(
  t: Tape,
  {
    hidden,
    feature,
    size,
    head,
  }: { hidden: Tensor; feature: Tensor; size: readonly [number, number]; head: QueryHead },
): PredictedMasks {
  const queries = t.again(head.norm, () => layerNorm(t, hidden));
  return t.call('mask_predictor', [queries, feature], () => {
    const turned = transpose(t, queries, 0, 1);
    const embedding = t.call('mask_embedder', turned, () =>
      head.embedding.reduce((x, weights, index) => {
        const projected = applyLinear(t, x, weights);
        return index < head.embedding.length - 1 ? relu(t, projected, false) : projected;
      }, turned),
    );
    const masks = maskLogits(t, embedding, feature);
    const probability = sigmoid(t, resize(t, masks, size));
    const [batch = 1, count = 1] = probability.shape;
    const flat = reshape(t, probability, [batch, 1, count, size[0] * size[1]]);
    const spread = repeat(t, flat, [1, HEADS, 1, 1]);
    const blocked = derived(t, 'lt', [spread], { shape: [batch * HEADS, count, size[0] * size[1]], dtype: 'byte' });
    t.keep(embedding, spread);
    return { queries, masks, blocked };
  });
}

/** Queries that would see nothing see everything. */
export function unblocked(t: Tape, blocked: Tensor): Tensor {
  const rows = blocked.shape.slice(0, 2);
  const total = derived(t, 'sum', [blocked], { shape: rows, dtype: 'long' });
  const some = derived(t, 'ne', [total], { shape: rows, dtype: 'byte' });
  return derived(t, 'mul', [blocked, some], { shape: blocked.shape, dtype: 'byte' });
}

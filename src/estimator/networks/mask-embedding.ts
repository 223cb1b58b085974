import { relu } from '../tape/ops-activation.ts';
import { applyLinear, bmm, type LinearWeights, linearWeights } from '../tape/ops-linear.ts';
import { permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';

const CHANNELS = 256;

/** Classifier and mask projection of a mask classifier, shared by all decoder layers. */
export interface MaskPredictor {
  readonly classifier: LinearWeights;
  readonly embedding: readonly LinearWeights[];
}

export function maskPredictor(t: Tape, numClasses: number): MaskPredictor {
  return {
    classifier: linearWeights(t, CHANNELS, numClasses + 1),
    embedding: [0, 1, 2].map(() => linearWeights(t, CHANNELS, CHANNELS)),
  };
}

/** …×256 → …×(K+1). */
export function classScores(t: Tape, tokens: Tensor, predictor: MaskPredictor): Tensor {
  return t.within('cls_embed', () => applyLinear(t, tokens, predictor.classifier));
}

/** Three layers with ReLU between them. */
export function maskEmbedding(t: Tape, tokens: Tensor, predictor: MaskPredictor): Tensor {
  return t.call('mask_embed', tokens, () =>
    predictor.embedding.reduce((x, weights, index) => {
      const projected = applyLinear(t, x, weights);
      return index < predictor.embedding.length - 1 ? relu(t, projected) : projected;
    }, tokens),
  );
}

/** einsum of B×Q×C and B×C×H×W: B×Q×H×W. */
export function maskLogits(t: Tape, embedding: Tensor, feature: Tensor): Tensor {
  const [batch = 1, queries = 1] = embedding.shape;
  const [, channels = 1, height = 1, width = 1] = feature.shape;
  const product = bmm(t, embedding, reshape(t, feature, [batch, channels, height * width]));
  return reshape(t, product, [batch, queries, height, width]);
}

/** einsum of L×B×Q×C and B×C×H×W: L×B×Q×H×W as a view of B×L×Q×H×W. */
export function layeredMaskLogits(t: Tape, embedding: Tensor, feature: Tensor): Tensor {
  const [layers = 1, batch = 1, queries = 1, channels = 1] = embedding.shape;
  const [, , height = 1, width = 1] = feature.shape;
  const turned = reshape(t, permute(t, embedding, [1, 0, 2, 3]), [batch, layers * queries, channels]);
  const product = bmm(t, turned, reshape(t, feature, [batch, channels, height * width]));
  return permute(t, reshape(t, product, [batch, layers, queries, height, width]), [1, 0, 2, 3, 4]);
}

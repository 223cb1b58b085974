import { ModuleWeights } from '../tape/module-weights.ts';
import { add } from '../tape/ops-core.ts';
import { derived } from '../tape/ops-masks.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { select } from '../tape/ops-parts.ts';
import { repeat } from '../tape/ops-reduce.ts';
import { flatten, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import type { PixelDecoding } from './deformable-pixel-decoder.ts';
import { classScores, type MaskPredictor, maskEmbedding, maskLogits, maskPredictor } from './mask-embedding.ts';
import { positionedAttention, reluFeedForward } from './mmcv-transformer.ts';
import { sinePositions } from './sine-positions.ts';

const CHANNELS = 256;
const HEADS = 8;
const FEEDFORWARD = 2048;

export interface MaskPredictions {
  /** Logits of each prediction: B×Q×(K+1). */
  readonly classes: readonly Tensor[];
  /** B×Q×H/4×W/4. */
  readonly masks: readonly Tensor[];
}

export interface DecoderOptions {
  readonly queries: number;
  readonly layers: number;
  readonly numClasses: number;
}

interface Level {
  readonly tokens: Tensor;
  readonly positions: Tensor;
  readonly size: readonly [number, number];
}

/**
 * Transformer decoder of Mask2Former (mmdet 3.3 Mask2FormerHead.forward): queries look only where the last prediction
 * saw their mask, at one level after the other; a prediction before the first and after every layer.
 */
export function maskedAttentionDecoder(t: Tape, pixels: PixelDecoding, options: DecoderOptions): MaskPredictions {
  const { maskFeature, levels } = pixels;
  const [batch = 1] = maskFeature.shape;
  const levelTable = t.param(levels.length, CHANNELS);
  const inputs = levels.map((map) => levelTokens(t, map, levelTable));
  const table = (): Tensor =>
    repeat(t, reshape(t, t.param(options.queries, CHANNELS), [1, options.queries, CHANNELS]), [batch, 1, 1]);
  const predictor = maskPredictor(t, options.numClasses);
  const head = { predictor, norm: new ModuleWeights(), maskFeature };
  let query = table();
  const positions = table();
  let prediction = predict(t, query, head, inputs[0]?.size ?? [1, 1]);
  const all = [prediction];
  for (let layer = 0; layer < options.layers; layer += 1) {
    const level = inputs[layer % inputs.length];
    const next = inputs[(layer + 1) % inputs.length];
    if (level === undefined || next === undefined) throw new RangeError('no levels');
    const blocked = neverAll(t, prediction.blocked);
    const input = query;
    query = t.within(`transformer_decoder.layers.${layer}`, () =>
      decoderLayer(t, input, { level, positions, blocked }),
    );
    prediction = predict(t, query, head, next.size);
    t.keep(blocked);
    all.push(prediction);
  }
  t.keep(...inputs.flatMap((input) => [input.tokens, input.positions]), ...levels);
  t.keep(query, positions, maskFeature, prediction.blocked, ...all.flatMap((one) => [one.classes, one.masks]));
  return { classes: all.map((one) => one.classes), masks: all.map((one) => one.masks) };
}

function levelTokens(t: Tape, map: Tensor, levelTable: Tensor): Level {
  const [batch = 1, , height = 1, width = 1] = map.shape;
  const level = reshape(t, select(t, levelTable), [1, 1, CHANNELS]);
  const tokens = add(t, permute(t, flatten(t, map, 2), [0, 2, 1]), level);
  const mask = derived(t, 'new_zeros', [], { shape: [batch, height, width], dtype: 'byte' });
  const positions = permute(t, flatten(t, sinePositions(t, mask, CHANNELS / 2), 2), [0, 2, 1]);
  return { tokens, positions, size: sizeOf(map) };
}

interface Prediction {
  readonly classes: Tensor;
  readonly masks: Tensor;
  /** (B·h)×Q×N bytes: where the query does not look. */
  readonly blocked: Tensor;
}

interface Head {
  readonly predictor: MaskPredictor;
  readonly norm: ModuleWeights;
  readonly maskFeature: Tensor;
}

function predict(t: Tape, query: Tensor, head: Head, size: readonly [number, number]): Prediction {
  const tokens = t.again(head.norm, () => t.call('post_norm', query, () => layerNorm(t, query)));
  const classes = classScores(t, tokens, head.predictor);
  const embedding = maskEmbedding(t, tokens, head.predictor);
  const masks = maskLogits(t, embedding, head.maskFeature);
  const blocked = blockedPlaces(t, masks, size);
  t.keep(tokens, embedding, classes, masks);
  return { classes, masks, blocked };
}

/** Masks at the size of the next level, repeated for the heads; nothing here is trained. */
function blockedPlaces(t: Tape, masks: Tensor, [height, width]: readonly [number, number]): Tensor {
  const [batch = 1, queries = 1] = masks.shape;
  const wide =
    masks.dtype === 'half' && t.autocast ? derived(t, 'to', [masks], { shape: masks.shape, dtype: 'float' }) : masks;
  const small = { shape: [batch, queries, height, width], dtype: wide.dtype };
  const resized = derived(t, 'upsample_bilinear2d', [wide], small);
  const all = { shape: [batch * HEADS, queries, height * width], dtype: wide.dtype };
  const repeated = derived(t, 'repeat', [resized], all);
  t.keep(resized);
  const probabilities = derived(t, 'sigmoid', [repeated], all);
  const blocked = derived(t, 'lt', [repeated, probabilities], { shape: all.shape, dtype: 'byte' });
  t.keep(repeated);
  return blocked;
}

/** A query whose mask is empty looks everywhere. */
function neverAll(t: Tape, blocked: Tensor): Tensor {
  const [rows = 1, queries = 1] = blocked.shape;
  const counts = derived(t, 'sum', [blocked], { shape: [rows, queries], dtype: 'long' });
  const some = derived(t, 'ne', [counts], { shape: [rows, queries, 1], dtype: 'byte' });
  const result = derived(t, 'and', [blocked, some], { shape: blocked.shape, dtype: 'byte' });
  t.keep(some);
  return result;
}

function decoderLayer(
  t: Tape,
  query: Tensor,
  { level, positions, blocked }: { level: Level; positions: Tensor; blocked: Tensor },
): Tensor {
  const normed = (x: Tensor): Tensor => t.call('norm', x, () => layerNorm(t, x));
  return t.call('', [query, level.tokens, positions, level.positions, blocked], () => {
    const crossed = normed(
      positionedAttention(t, {
        query,
        key: level.tokens,
        queryPosition: positions,
        keyPosition: level.positions,
        mask: { kind: 'scores', source: blocked },
        heads: HEADS,
        dropout: 0,
      }),
    );
    const own = { query: crossed, key: crossed, queryPosition: positions, keyPosition: positions };
    const attended = normed(positionedAttention(t, { ...own, heads: HEADS, dropout: 0 }));
    return normed(reluFeedForward(t, attended, { width: FEEDFORWARD }));
  });
}

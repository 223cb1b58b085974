import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply, unary } from '../tape/ops-core.ts';
import { dropout } from '../tape/ops-layers.ts';
import { applyLinear, type LinearWeights, linear, linearWeights, matmul } from '../tape/ops-linear.ts';
import { crossEntropy } from '../tape/ops-loss.ts';
import { derived } from '../tape/ops-masks.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat, slice } from '../tape/ops-parts.ts';
import { repeat } from '../tape/ops-reduce.ts';
import { clone, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { hfMaskBackbone } from './hf-mask-backbone.ts';
import { type HfMaskLosses, hfMaskLosses, weightedSum } from './hf-mask-loss.ts';
import type { HfMaskPrediction } from './hf-mask-matching.ts';
import { memories } from './hf-mask-memories.ts';
import { predictMasks, type QueryHead, queryHead } from './hf-mask-predictor.ts';
import { maskTargets } from './hf-mask-targets.ts';
import { maskedDecoderLayer, repeatedQueries } from './hf-masked-decoder.ts';
import { noCheckpointing } from './hf-mobilenet-v2.ts';
import { oneFormerMatch } from './hf-oneformer-matching.ts';
import { oneFormerText } from './hf-oneformer-text.ts';
import { hfPixelDecoder } from './hf-pixel-decoder.ts';
import { hfSinePositions } from './hf-sine-positions.ts';
import { l2Norm } from './l2-norm.ts';
import { multiHeadAttention } from './multi-head-attention.ts';
import { type Network, optionBoolean, optionNumber, type Run, trainingImage } from './network.ts';

const CHANNELS = 256;
const HEADS = 8;
const FEEDFORWARD = 2048;
const LAYERS = 9;
const LEVELS = 3;
const QUERY_LAYERS = 2;
const DROPOUT = 0.1;
/** Tokens of a text, and learned contexts beside the texts. */
const TOKENS = 77;
const CONTEXTS = 16;

/** Two post-norm layers that look for queries in the finest map; attention weights are dropped out too. */
function queryTransformer(t: Tape, inputs: { places: Tensor; feature: Tensor; task: Tensor; count: number }): Tensor {
  const { places, feature, task, count } = inputs;
  const [batch = 1] = feature.shape;
  return t.call('query_transformer', [feature, task], () => {
    const encoding = hfSinePositions(t, feature, CHANNELS / 2);
    // The embedding stays in a cache of one entry.
    t.hold(encoding);
    const projected = t.within('query_input_projection', () =>
      conv2d(t, feature, { out: CHANNELS, kernel: 1, bias: true }),
    );
    const asTokens = (x: Tensor): Tensor => permute(t, flatten(t, x, 2), [2, 0, 1]);
    const memory = asTokens(encoding);
    const positions = asTokens(projected);
    const queryPositions = repeatedQueries(t, slice(t, places, 0, count - 1), batch);
    let x = repeat(t, task, [count - 1, 1, 1]);
    for (let layer = 0; layer < QUERY_LAYERS; layer += 1) x = queryLayer(t, x, { memory, positions, queryPositions });
    const out = layerNorm(t, x);
    t.keep(encoding, projected, queryPositions);
    return out;
  });
}

function queryLayer(
  t: Tape,
  x: Tensor,
  { memory, positions, queryPositions }: { memory: Tensor; positions: Tensor; queryPositions: Tensor },
): Tensor {
  const attention = { heads: HEADS, dropout: DROPOUT };
  return t.call('layers', [x, memory, positions], () => {
    const both = add(t, x, queryPositions);
    const own = multiHeadAttention(t, { query: both, key: both, value: x }, attention);
    const first = layerNorm(t, add(t, x, dropout(t, own, DROPOUT)));
    const asked = add(t, first, queryPositions);
    const known = add(t, memory, positions);
    const seen = multiHeadAttention(t, { query: asked, key: known, value: memory }, attention);
    const second = layerNorm(t, add(t, first, dropout(t, seen, DROPOUT)));
    const wide = dropout(t, relu(t, linear(t, second, FEEDFORWARD), false), DROPOUT);
    const fed = linear(t, wide, CHANNELS);
    const out = layerNorm(t, add(t, second, dropout(t, fed, DROPOUT)));
    t.keep(both, fed);
    return out;
  });
}

interface Decoded {
  readonly predicted: readonly HfMaskPrediction[];
  /** Q×B×C before the layers, for the contrastive loss. */
  readonly queries: Tensor;
  readonly held: readonly Tensor[];
}

interface DecoderInputs {
  readonly levels: readonly Tensor[];
  readonly feature: Tensor;
  /** B×256. */
  readonly task: Tensor;
  readonly count: number;
  readonly numClasses: number;
}

function decode(t: Tape, { levels, feature, task, count, numClasses }: DecoderInputs): Decoded {
  return t.call('transformer_module', [...levels, feature, task], () => {
    const [batch = 1] = feature.shape;
    const table = t.param(count, CHANNELS);
    const { memory, positions } = memories(t, levels);
    const places = repeatedQueries(t, table, batch);
    const head = queryHead(t);
    const classifier = linearWeights(t, CHANNELS, numClasses + 1);
    const token = t.again(head.norm, () => layerNorm(t, reshape(t, task, [1, batch, CHANNELS])));
    const found = queryTransformer(t, { places: table, feature, task: token, count });
    const queries = concat(t, [found, token], 0);
    let hidden = clone(t, queries);
    const predicted: HfMaskPrediction[] = [];
    let blocked = predictWith(t, { hidden, feature, level: levels[0], head, classifier, predicted });
    for (let layer = 0; layer < LAYERS; layer += 1) {
      const level = layer % LEVELS;
      const inputs = { memory: memory[level] ?? hidden, memoryPositions: positions[level] ?? hidden, blocked };
      hidden = maskedDecoderLayer(t, { queries: hidden, queryPositions: places, ...inputs });
      const old = blocked;
      blocked = predictWith(t, { hidden, feature, level: levels[(layer + 1) % LEVELS], head, classifier, predicted });
      t.keep(old);
    }
    t.keep(...memory, ...positions, places, blocked);
    return { predicted, queries, held: [hidden, queries] };
  });
}

interface Predicting {
  readonly hidden: Tensor;
  readonly feature: Tensor;
  readonly level: Tensor | undefined;
  readonly head: QueryHead;
  readonly classifier: LinearWeights;
  /** Where the prediction goes. */
  readonly predicted: HfMaskPrediction[];
}

/** Classes and masks of one layer; returns where the next may not look. */
function predictWith(t: Tape, { hidden, feature, level, head, classifier, predicted }: Predicting): Tensor {
  const size = level === undefined ? ([1, 1] as const) : sizeOf(level);
  const { queries, masks, blocked } = predictMasks(t, { hidden, feature, size, head });
  const classes = t.within('class_embed', () => applyLinear(t, transpose(t, queries, 0, 1), classifier));
  predicted.push({ classes, masks });
  return blocked;
}

interface Outcome extends Omit<Decoded, 'queries'> {
  readonly queries: Tensor;
  /** B×Q×256, in training. */
  readonly text: Tensor | undefined;
}

function predict(run: Run, image: Tensor): Outcome {
  const { t, spec, w } = run;
  if (w.gradientCheckpointing) throw noCheckpointing('OneFormer');
  const training = optionBoolean(spec, 'isTraining', true);
  const count = optionNumber(spec, 'numQueries', 150);
  return t.call('model', image, () => {
    const [batch = 1, , height = 1, width = 1] = image.shape;
    const mask = derived(t, 'ones', [], { shape: [batch, height, width], dtype: 'float' });
    const taskIds = t.target([batch, TOKENS], 'long');
    const features = t.freeze(w.frozenBackbone, () => hfMaskBackbone(run, image));
    const { levels, maskFeature } = hfPixelDecoder(t, features, training ? DROPOUT : 0);
    const numbers = derived(t, 'to', [taskIds], { shape: [batch, TOKENS], dtype: 'float' });
    const task = t.call('task_encoder', numbers, () =>
      linear(t, relu(t, linear(t, numbers, CHANNELS), false), CHANNELS),
    );
    const text =
      training && t.training
        ? oneFormerText(t, t.target([batch, count - CONTEXTS, TOKENS], 'long'), CONTEXTS)
        : undefined;
    const decoded = decode(t, { levels, feature: maskFeature, task, count, numClasses: w.numClasses });
    t.keep(mask);
    const held = [...features, ...levels, maskFeature, task, ...decoded.held, ...(text === undefined ? [] : [text])];
    return { predicted: decoded.predicted, queries: decoded.queries, held, text };
  });
}

/** Queries and texts of a batch, each as one normalised row, compared both ways. */
function contrastiveLoss(t: Tape, queries: Tensor, text: Tensor): Tensor {
  const [batch = 1] = text.shape;
  const temperature = t.param();
  const row = (x: Tensor): Tensor => l2Norm(t, reshape(t, x, [batch, -1]), 1);
  const images = row(permute(t, queries, [1, 0, 2]));
  const texts = row(text);
  const factor = unary(t, unary(t, temperature, 'exp', { keeps: 'output' }), 'clamp', { keeps: 'input' });
  const pairs = matmul(t, reshape(t, texts, [1, batch, -1]), transpose(t, reshape(t, images, [1, batch, -1]), 1, 2));
  const scaled = multiply(t, reshape(t, pairs, [batch, batch]), factor);
  const entropy = (logits: Tensor): Tensor =>
    crossEntropy(t, logits, derived(t, 'arange', [], { shape: [batch], dtype: 'long' }));
  const loss = add(t, entropy(transpose(t, scaled, 0, 1)), entropy(scaled));
  t.keep(images, texts, factor, scaled);
  return loss;
}

/** OneFormerForUniversalSegmentation of transformers 5.24 on Swin; trained with its text encoder (`is_training=True`). */
export const hfOneFormer: Readonly<Record<string, Network>> = {
  'transformers/oneformer': {
    train: (run) => {
      const { t, w } = run;
      const image = trainingImage(run);
      const truth = maskTargets(t, w);
      const weights = t.buffer([w.numClasses + 1]);
      const { predicted, queries, text, held } = predict(run, image);
      const criterion = { truth, weights, match: oneFormerMatch };
      const lossesOf = (prediction: HfMaskPrediction): HfMaskLosses => hfMaskLosses(t, prediction, criterion);
      const last = predicted.slice(-1).map(lossesOf);
      const contrast = text === undefined ? undefined : contrastiveLoss(t, queries, text);
      const losses = [...last, ...predicted.slice(0, -1).map(lossesOf)];
      const masks = weightedSum(t, losses);
      const loss = contrast === undefined ? masks : add(t, masks, contrast);
      const output = [...held, ...predicted.flatMap(({ classes, masks: maps }) => [classes, maps])];
      t.keep(...output);
      if (w.outputHeld) t.hold(...output);
      return loss;
    },
    infer: (run, image) => {
      const { predicted, held } = predict(run, image);
      run.t.keep(...held, ...predicted.flatMap(({ classes, masks }) => [classes, masks]));
      return null;
    },
  },
};

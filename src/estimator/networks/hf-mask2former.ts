import { applyLinear, linearWeights } from '../tape/ops-linear.ts';
import { derived } from '../tape/ops-masks.ts';
import { transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { hfMaskBackbone } from './hf-mask-backbone.ts';
import { hfMaskLosses, weightedSum } from './hf-mask-loss.ts';
import { type HfMaskPrediction, hfMatchByPoints } from './hf-mask-matching.ts';
import { memories } from './hf-mask-memories.ts';
import { predictMasks, queryHead, unblocked } from './hf-mask-predictor.ts';
import { maskTargets } from './hf-mask-targets.ts';
import { maskedDecoderLayer, repeatedQueries } from './hf-masked-decoder.ts';
import { noCheckpointing } from './hf-mobilenet-v2.ts';
import { hfPixelDecoder } from './hf-pixel-decoder.ts';
import { type Network, optionNumber, type Run, trainingImage } from './network.ts';

const CHANNELS = 256;
const LAYERS = 9;
const LEVELS = 3;

interface Decoded {
  /** Q×B×C after the norm, for the queries themselves and every layer. */
  readonly queries: readonly Tensor[];
  readonly masks: readonly Tensor[];
  readonly held: readonly Tensor[];
}

function decode(
  t: Tape,
  { levels, feature, count }: { levels: readonly Tensor[]; feature: Tensor; count: number },
): Decoded {
  return t.call('transformer_module', [...levels, feature], () => {
    const placeTable = t.param(count, CHANNELS);
    const queryTable = t.param(count, CHANNELS);
    const { memory, positions } = memories(t, levels);
    const [batch = 1] = feature.shape;
    const places = repeatedQueries(t, placeTable, batch);
    const start = repeatedQueries(t, queryTable, batch);
    const head = queryHead(t);
    const sizes = levels.map(sizeOf);
    let hidden = start;
    let predicted = predictMasks(t, { hidden, feature, size: sizes[0] ?? [1, 1], head });
    const held = [start];
    const queries = [predicted.queries];
    const masks = [predicted.masks];
    for (let layer = 0; layer < LAYERS; layer += 1) {
      const level = layer % LEVELS;
      const blocked = unblocked(t, predicted.blocked);
      const inputs = { memory: memory[level] ?? start, memoryPositions: positions[level] ?? start, blocked };
      hidden = maskedDecoderLayer(t, { queries: hidden, queryPositions: places, ...inputs });
      predicted = predictMasks(t, { hidden, feature, size: sizes[(layer + 1) % LEVELS] ?? [1, 1], head });
      t.keep(blocked);
      held.push(hidden);
      queries.push(predicted.queries);
      masks.push(predicted.masks);
    }
    t.keep(...memory, ...positions, places, predicted.blocked);
    // The embedding of the last level stays in a cache of one entry.
    const [last] = positions.slice(-1);
    if (last !== undefined) t.hold(last);
    return { queries, masks, held };
  });
}

interface Outcome {
  readonly predicted: readonly HfMaskPrediction[];
  /** What the model's frame holds. */
  readonly held: readonly Tensor[];
  /** Last hidden states of backbone, pixel decoder and decoder, which the output object holds beside the last prediction. */
  readonly lastStates: readonly Tensor[];
}

/** Predictions of the queries and of all nine layers, in that order. */
function predictions(run: Run, image: Tensor): Outcome {
  const { t, spec, w } = run;
  if (w.gradientCheckpointing) throw noCheckpointing('Mask2Former');
  const { decoded, held, lastStates } = t.call('model', image, () => {
    const [batch = 1, , height = 1, width = 1] = image.shape;
    const mask = derived(t, 'ones', [], { shape: [batch, height, width], dtype: 'float' });
    const {
      maps,
      features: backbone,
      pixels,
    } = t.call('pixel_level_module', image, () => {
      const features = t.freeze(w.frozenBackbone, () => hfMaskBackbone(run, image));
      const decoding = hfPixelDecoder(t, features);
      t.keep(...features);
      return { maps: decoding.levels, features, pixels: decoding.maskFeature };
    });
    const count = optionNumber(spec, 'numQueries', 100);
    const result = decode(t, { levels: maps, feature: pixels, count });
    t.keep(mask, ...maps);
    return {
      decoded: result,
      held: [...backbone, ...maps, pixels, ...result.held, ...result.queries, ...result.masks],
      lastStates: [...backbone.slice(-1), pixels, ...result.held.slice(-1)],
    };
  });
  const classifier = linearWeights(t, CHANNELS, w.numClasses + 1);
  const predicted = decoded.queries.map((queries, index) => ({
    classes: t.within('class_predictor', () => applyLinear(t, transpose(t, queries, 0, 1), classifier)),
    masks: decoded.masks[index] ?? queries,
  }));
  return { predicted, held, lastStates };
}

/** Mask2FormerForUniversalSegmentation of transformers 5.24 on Swin and ResNet: losses after every layer, the last first. */
export const hfMask2Former: Readonly<Record<string, Network>> = {
  'transformers/mask2former': {
    train: (run) => {
      const { t, w } = run;
      const image = trainingImage(run);
      const truth = maskTargets(t, w);
      const criterion = { truth, weights: t.buffer([w.numClasses + 1]), match: hfMatchByPoints };
      const { predicted, held, lastStates } = predictions(run, image);
      const ordered = [...predicted.slice(-1), ...predicted.slice(0, -1)];
      const losses = ordered.map((prediction) => hfMaskLosses(t, prediction, criterion));
      const loss = weightedSum(t, losses);
      t.keep(...held, ...predicted.flatMap(({ classes, masks }) => [classes, masks]));
      if (w.outputHeld) t.hold(...lastStates, ...predicted.slice(-1).flatMap(({ classes, masks }) => [classes, masks]));
      return loss;
    },
    infer: (run, image) => {
      const { predicted, held } = predictions(run, image);
      run.t.keep(...held, ...predicted.map(({ classes }) => classes));
      return null;
    },
  },
};

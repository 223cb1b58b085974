import { ModuleWeights } from '../tape/module-weights.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { derived } from '../tape/ops-masks.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { stack, unbind } from '../tape/ops-parts.ts';
import { repeat } from '../tape/ops-reduce.ts';
import { flatten, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { fpnPixelDecoder } from './fpn-pixel-decoder.ts';
import { classScores, layeredMaskLogits, maskEmbedding, maskPredictor } from './mask-embedding.ts';
import type { MaskPredictions } from './masked-attention-decoder.ts';
import { positionedAttention, reluFeedForward } from './mmcv-transformer.ts';
import { sinePositions } from './sine-positions.ts';

const CHANNELS = 256;
const LAYERS = 6;
const HEADS = 8;
const FEEDFORWARD = 2048;
const DROPOUT = 0.1;

export interface DetrOptions {
  readonly queries: number;
  readonly numClasses: number;
  /** Transformer layers before the FPN of the pixel decoder. */
  readonly encoderLayers: number;
}

/** Mask of padded places at the coarsest map: nothing is padded, but it is computed and used. */
function paddingMask(t: Tape, coarse: Tensor, [height, width]: readonly [number, number]): Tensor {
  const [batch = 1, , coarseHeight = 1, coarseWidth = 1] = coarse.shape;
  const ones = derived(t, 'new_ones', [], { shape: [batch, height, width], dtype: 'float' });
  const small = derived(t, 'upsample_nearest2d', [ones], {
    shape: [batch, coarseHeight, coarseWidth],
    dtype: 'float',
  });
  const mask = derived(t, 'to', [small], { shape: [batch, coarseHeight, coarseWidth], dtype: 'byte' });
  t.keep(ones);
  return mask;
}

/** MaskFormerHead.forward of mmdet 3.3 (Cheng et al. 2021): six decoder layers over the coarsest map. */
export function detrDecoder(t: Tape, maps: readonly Tensor[], options: DetrOptions): MaskPredictions {
  return t.call('', maps, () => {
    const [coarse] = maps.slice(-1);
    if (coarse === undefined) throw new RangeError('no feature maps');
    const [batch = 1] = coarse.shape;
    const padding = paddingMask(t, coarse, imageSize(maps));
    const { encoderLayers } = options;
    const { maskFeature, memory: coded } = fpnPixelDecoder(t, maps, { encoderLayers, padding });
    const encoding = sinePositions(t, padding, CHANNELS / 2);
    const memory = encoderLayers > 0 ? coded : project(t, coded);
    const tokens = permute(t, flatten(t, memory, 2), [0, 2, 1]);
    const keyPositions = permute(t, flatten(t, encoding, 2), [0, 2, 1]);
    const keys = reshape(t, padding, [batch, -1]);
    const table = reshape(t, t.param(options.queries, CHANNELS), [1, options.queries, CHANNELS]);
    const queryPositions = repeat(t, table, [batch, 1, 1]);
    const target = derived(t, 'zeros_like', [queryPositions], { shape: queryPositions.shape, dtype: 'float' });
    const decoded = decode(t, { query: target, tokens, queryPositions, keyPositions, keys });
    const predictor = maskPredictor(t, options.numClasses);
    const classes = classScores(t, decoded, predictor);
    const embedding = maskEmbedding(t, decoded, predictor);
    const masks = layeredMaskLogits(t, embedding, maskFeature);
    t.keep(padding, maskFeature, encoding, memory, queryPositions, target, decoded, embedding);
    return { classes: unbind(t, classes), masks: unbind(t, masks) };
  });
}

function project(t: Tape, map: Tensor): Tensor {
  return t.within('decoder_input_proj', () => conv2d(t, map, { out: CHANNELS, kernel: 1, bias: true }));
}

interface DecoderInputs {
  readonly query: Tensor;
  readonly tokens: Tensor;
  readonly queryPositions: Tensor;
  readonly keyPositions: Tensor;
  readonly keys: Tensor;
}

/** DetrTransformerDecoder: all layers' normalised outputs, L×B×Q×C. */
function decode(t: Tape, inputs: DecoderInputs): Tensor {
  return t.call('transformer_decoder', [inputs.query, inputs.tokens, inputs.queryPositions], () => {
    const weights = new ModuleWeights();
    const postNorm = (x: Tensor): Tensor => t.again(weights, () => t.call('post_norm', x, () => layerNorm(t, x)));
    let query = inputs.query;
    const outputs: Tensor[] = [];
    for (let layer = 0; layer < LAYERS; layer += 1) {
      const input = query;
      query = t.call(`layers.${layer}`, [input, inputs.tokens, inputs.keys], () =>
        decoderLayer(t, { ...inputs, query: input }),
      );
      outputs.push(postNorm(query));
    }
    const last = postNorm(query);
    const all = stack(t, outputs);
    t.keep(...outputs, last);
    return all;
  });
}

function decoderLayer(t: Tape, { query, tokens, queryPositions, keyPositions, keys }: DecoderInputs): Tensor {
  const normed = (x: Tensor): Tensor => t.call('norm', x, () => layerNorm(t, x));
  const common = { heads: HEADS, dropout: DROPOUT, queryPosition: queryPositions };
  const own = normed(positionedAttention(t, { ...common, query, key: query, keyPosition: queryPositions }));
  const mask = { kind: 'keys', source: keys } as const;
  const crossed = normed(
    positionedAttention(t, { ...common, query: own, key: tokens, keyPosition: keyPositions, mask }),
  );
  return normed(reluFeedForward(t, crossed, { width: FEEDFORWARD, dropout: DROPOUT }));
}

/** Image size that belongs to maps whose finest has a quarter of its side. */
export function imageSize(maps: readonly Tensor[]): readonly [number, number] {
  const [, , height = 1, width = 1] = maps[0]?.shape ?? [];
  return [4 * height, 4 * width];
}

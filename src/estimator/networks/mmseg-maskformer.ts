import { add, flatten, permute, reshape, stack, unbind } from '../tape/ops-core.ts';
import { conv2d, layerNorm, resize } from '../tape/ops-layers.ts';
import { derived } from '../tape/ops-masks.ts';
import { repeat } from '../tape/ops-reduce.ts';
import type { Tensor } from '../tape/storage.ts';
import { ModuleWeights, type Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { groupNormed } from './deformable-pixel-decoder.ts';
import { classScores, layeredMaskLogits, maskEmbedding, maskPredictor } from './mask-embedding.ts';
import { maskLosses } from './mask-losses.ts';
import { truthFromLabels } from './mask-matching.ts';
import type { MaskPredictions } from './masked-attention-decoder.ts';
import { positionedAttention, reluFeedForward } from './mmcv-transformer.ts';
import { imageSize, maskBackbone, semanticMap } from './mmseg-mask2former.ts';
import { encoderDecoder, type Segmentor } from './mmseg-segmentor.ts';
import { type Network, optionNumber, type Run } from './network.ts';
import { sinePositions } from './sine-positions.ts';

const CHANNELS = 256;
const LAYERS = 6;
const HEADS = 8;
const FEEDFORWARD = 2048;
const DROPOUT = 0.1;

/** PixelDecoder: an FPN with GroupNorm from the coarsest map to the finest, then a 3×3 convolution (mmdet 3.3). */
function pixelDecoder(t: Tape, features: readonly Tensor[]): Tensor {
  return t.call('pixel_decoder', features, () => {
    const [last] = features.slice(-1);
    if (last === undefined) throw new RangeError('no feature maps');
    let y = groupNormed(t, 'last_feat_conv', last, { kernel: 3, bias: false, activated: true });
    for (const [index, feature] of [...features.slice(0, -1).entries()].toReversed()) {
      const lateral = groupNormed(t, `lateral_convs.${index}`, feature, { kernel: 1, bias: false, activated: false });
      const merged = add(t, lateral, resize(t, y, sizeOf(lateral), 'nearest'));
      t.keep(y);
      y = groupNormed(t, `output_convs.${index}`, merged, { kernel: 3, bias: false, activated: true });
      t.keep(lateral);
    }
    const feature = t.within('mask_feature', () => conv2d(t, y, { out: CHANNELS, kernel: 3, padding: 1, bias: true }));
    t.keep(y);
    return feature;
  });
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
function forward(t: Tape, maps: readonly Tensor[], options: { queries: number; numClasses: number }): MaskPredictions {
  return t.call('', maps, () => {
    const [coarse] = maps.slice(-1);
    if (coarse === undefined) throw new RangeError('no feature maps');
    const [batch = 1] = coarse.shape;
    const padding = paddingMask(t, coarse, imageSize(maps));
    const maskFeature = pixelDecoder(t, maps);
    const encoding = sinePositions(t, padding, CHANNELS / 2);
    const memory = t.within('decoder_input_proj', () => conv2d(t, coarse, { out: CHANNELS, kernel: 1, bias: true }));
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

function maskformer(run: Run): Segmentor {
  const { spec, w } = run;
  const options = { queries: optionNumber(spec, 'numQueries', 100), numClasses: w.numClasses };
  return {
    backbone: maskBackbone(run, 'batch'),
    decodeHead: (t, maps) => semanticMap(t, forward(t, maps, options), imageSize(maps)),
    decodeLosses: (t, maps, label) => {
      const truth = truthFromLabels(t, label, w.instancesPerImage);
      return {
        losses: maskLosses(t, forward(t, maps, options), truth, { by: 'pixels', style: 'mmdet' }),
        accuracies: [],
      };
    },
    auxiliaryHeads: [],
  };
}

export const maskformerNetworks: Readonly<Record<string, Network>> = { 'mmseg/maskformer': encoderDecoder(maskformer) };

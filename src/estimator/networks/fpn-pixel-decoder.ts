import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { resize } from '../tape/ops-resize.ts';
import { flatten, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { groupNormed } from './deformable-pixel-decoder.ts';
import { normed, positionedAttention, reluFeedForward } from './mmcv-transformer.ts';
import { sinePositions } from './sine-positions.ts';

const CHANNELS = 256;
const HEADS = 8;
const FEEDFORWARD = 2048;
const DROPOUT = 0.1;

export interface FpnPixelDecoding {
  /** B×256×H/4×W/4. */
  readonly maskFeature: Tensor;
  /** What the transformer decoder looks at, at stride 32. */
  readonly memory: Tensor;
}

/**
 * PixelDecoder of MaskFormer (Cheng et al. 2021; mmdet 3.3): an FPN with GroupNorm from the coarsest map to the finest,
 * then a 3×3 convolution. With `encoderLayers` the coarsest map goes through a transformer encoder first.
 */
export function fpnPixelDecoder(
  t: Tape,
  features: readonly Tensor[],
  { encoderLayers, padding }: { encoderLayers: number; padding: Tensor },
): FpnPixelDecoding {
  return t.call('pixel_decoder', features, () => {
    const [last] = features.slice(-1);
    if (last === undefined) throw new RangeError('no feature maps');
    const memory = encoderLayers === 0 ? last : encode(t, last, { layers: encoderLayers, padding });
    const name = encoderLayers === 0 ? 'last_feat_conv' : 'encoder_out_proj';
    let y = groupNormed(t, name, memory, { kernel: 3, bias: false, activated: true });
    for (const [index, feature] of [...features.slice(0, -1).entries()].toReversed()) {
      const lateral = groupNormed(t, `lateral_convs.${index}`, feature, { kernel: 1, bias: false, activated: false });
      const merged = add(t, lateral, resize(t, y, sizeOf(lateral), 'nearest'));
      t.keep(y);
      y = groupNormed(t, `output_convs.${index}`, merged, { kernel: 3, bias: false, activated: true });
      t.keep(lateral);
    }
    const maskFeature = t.within('mask_feature', () =>
      conv2d(t, y, { out: CHANNELS, kernel: 3, padding: 1, bias: true }),
    );
    t.keep(y, memory);
    return { maskFeature, memory };
  });
}

/** DetrTransformerEncoder on the tokens of the coarsest map, brought to 256 channels; back as a map. */
function encode(t: Tape, map: Tensor, { layers, padding }: { layers: number; padding: Tensor }): Tensor {
  const projected = t.within('encoder_in_proj', () => conv2d(t, map, { out: CHANNELS, kernel: 1, bias: true }));
  const [batch = 1, , height = 1, width = 1] = projected.shape;
  const encoding = sinePositions(t, padding, CHANNELS / 2);
  const positions = permute(t, flatten(t, encoding, 2), [0, 2, 1]);
  const keys = reshape(t, padding, [batch, -1]);
  let tokens = permute(t, flatten(t, projected, 2), [0, 2, 1]);
  for (let layer = 0; layer < layers; layer += 1) {
    const input = tokens;
    tokens = t.call(`encoder.layers.${layer}`, [input, positions, keys], () => {
      const attended = normed(
        t,
        positionedAttention(t, {
          query: input,
          key: input,
          queryPosition: positions,
          keyPosition: positions,
          mask: { kind: 'keys', source: keys },
          heads: HEADS,
          dropout: DROPOUT,
        }),
      );
      return normed(t, reluFeedForward(t, attended, { width: FEEDFORWARD, dropout: DROPOUT }));
    });
  }
  t.keep(projected, positions);
  return reshape(t, permute(t, tokens, [0, 2, 1]), [batch, CHANNELS, height, width]);
}

import { relu, softmax } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { linear } from '../tape/ops-linear.ts';
import { deformableSampling, derived, dividedBy, maskedFill } from '../tape/ops-masks.ts';
import { groupNorm } from '../tape/ops-norm.ts';
import { concat, select, split } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { flatten, permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { normed, reluFeedForward } from './mmcv-transformer.ts';
import { sinePositions } from './sine-positions.ts';

const CHANNELS = 256;
const GROUPS = 32;
const HEADS = 8;
const POINTS = 4;
const LEVELS = 3;
const FEEDFORWARD = 1024;
const LAYERS = 6;

/** Convolution, GroupNorm of 32 groups, and ReLU where asked: mmcv's ConvModule. */
export function groupNormed(
  t: Tape,
  name: string,
  x: Tensor,
  options: { kernel: 1 | 3; bias: boolean; activated: boolean },
): Tensor {
  return t.call(name, x, () => {
    const { kernel, bias } = options;
    const convolved = conv2d(t, x, { out: CHANNELS, kernel, padding: kernel === 3 ? 1 : 0, bias });
    const normalised = groupNorm(t, convolved, GROUPS);
    return options.activated ? relu(t, normalised) : normalised;
  });
}

/** What every encoder layer gets beside its tokens. */
interface Context {
  readonly positions: Tensor;
  readonly padding: Tensor;
  readonly references: Tensor;
  readonly shapes: Tensor;
  readonly starts: Tensor;
}

export interface PixelDecoding {
  /** B×256×H/4×W/4. */
  readonly maskFeature: Tensor;
  /** Maps at strides 32, 16, 8: views of one tensor of tokens. */
  readonly levels: readonly Tensor[];
}

/**
 * MSDeformAttnPixelDecoder of Mask2Former (Cheng et al. 2022; mmdet 3.3): six layers of deformable attention over the
 * three coarse maps (features are finest first), then one FPN step to the finest.
 */
export function deformablePixelDecoder(t: Tape, features: readonly Tensor[]): PixelDecoding {
  return t.call('pixel_decoder', features, () => {
    const coarse = features.slice(1).toReversed();
    const levelTable = t.param(LEVELS, CHANNELS);
    const inputs = coarse.map((map, index) => levelInput(t, map, { index, levelTable }));
    const context = contextOf(t, inputs);
    const tokens = concat(
      t,
      inputs.map((input) => input.tokens),
      1,
    );
    const positions = concat(
      t,
      inputs.map((input) => input.positions),
      1,
    );
    const memory = t.call('encoder', [tokens, positions], () => encode(t, tokens, { ...context, positions }));
    const turned = permute(t, memory, [0, 2, 1]);
    const sizes = coarse.map(sizeOf);
    const parts = split(
      t,
      turned,
      2,
      sizes.map(([height, width]) => height * width),
    );
    const levels = parts.map((part, index) =>
      reshape(t, part, [part.shape[0] ?? 1, CHANNELS, ...(sizes[index] ?? [])]),
    );
    const maskFeature = finest(t, features[0], levels);
    const locals = inputs.flatMap((input) => [input.tokens, input.positions, input.encoding]);
    t.keep(...locals, tokens, positions, memory, context.padding, context.references);
    return { maskFeature, levels };
  });
}

interface LevelInput {
  readonly tokens: Tensor;
  readonly positions: Tensor;
  readonly encoding: Tensor;
  readonly padding: Tensor;
  readonly references: Tensor;
}

function levelInput(t: Tape, map: Tensor, { index, levelTable }: { index: number; levelTable: Tensor }): LevelInput {
  const [batch = 1, , height = 1, width = 1] = map.shape;
  const projected = groupNormed(t, `input_convs.${index}`, map, { kernel: 1, bias: true, activated: false });
  const padding = derived(t, 'new_zeros', [], { shape: [batch, height, width], dtype: 'byte' });
  const encoding = sinePositions(t, padding, CHANNELS / 2);
  const level = reshape(t, select(t, levelTable), [1, CHANNELS, 1, 1]);
  const positions = add(t, level, encoding);
  const references = derived(t, 'div', [], { shape: [height * width, 2], dtype: 'float' });
  const asTokens = (x: Tensor): Tensor => permute(t, flatten(t, x, 2), [0, 2, 1]);
  return { tokens: asTokens(projected), positions: asTokens(positions), encoding, padding, references };
}

function contextOf(t: Tape, inputs: readonly LevelInput[]): Omit<Context, 'positions'> {
  const paddings = inputs.map((input) => input.padding);
  const [batch = 1] = inputs[0]?.tokens.shape ?? [];
  const total = inputs.reduce((sum, input) => sum + (input.tokens.shape[1] ?? 0), 0);
  const padding = derived(t, 'cat', paddings, { shape: [batch, total, 1], dtype: 'byte' });
  const shapes = derived(t, 'cat', [], { shape: [LEVELS, 2], dtype: 'long' });
  const starts = derived(t, 'cat', [], { shape: [LEVELS], dtype: 'long' });
  const places = inputs.map((input) => input.references);
  const references = derived(t, 'repeat', places, { shape: [batch, total, 1, LEVELS, 1, 2], dtype: 'float' });
  return { padding, shapes, starts, references };
}

function encode(t: Tape, tokens: Tensor, context: Context): Tensor {
  let query = tokens;
  for (let layer = 0; layer < LAYERS; layer += 1) {
    const input = query;
    query = t.call(`layers.${layer}`, [input, context.positions], () => {
      const attended = normed(t, deformableAttention(t, input, context));
      return normed(t, reluFeedForward(t, attended, { width: FEEDFORWARD }));
    });
  }
  return query;
}

/** mmcv's MultiScaleDeformableAttention as self-attention; positions steer places and weights, not values. */
function deformableAttention(t: Tape, identity: Tensor, context: Context): Tensor {
  return t.call('self_attn', [identity, context.positions], () => {
    const [batch = 1, count = 1] = identity.shape;
    const query = add(t, identity, context.positions);
    const projected = maskedFill(t, linear(t, identity, CHANNELS), context.padding);
    const value = reshape(t, projected, [batch, count, HEADS, CHANNELS / HEADS]);
    const grid = [batch, count, HEADS, LEVELS, POINTS];
    const offsets = reshape(t, linear(t, query, HEADS * LEVELS * POINTS * 2), [...grid, 2]);
    const scores = reshape(t, linear(t, query, HEADS * LEVELS * POINTS), [batch, count, HEADS, LEVELS * POINTS]);
    const weights = reshape(t, softmax(t, scores), grid);
    const normaliser = derived(t, 'stack', [context.shapes], { shape: [1, 1, 1, LEVELS, 1, 2], dtype: 'long' });
    const locations = add(t, context.references, dividedBy(t, offsets, normaliser));
    const sampled = deformableSampling(t, {
      value,
      locations,
      weights,
      geometry: [context.shapes, context.starts],
    });
    const out = linear(t, sampled, CHANNELS);
    const sum = add(t, out, identity);
    t.keep(query, offsets, locations, out, normaliser);
    return sum;
  });
}

function finest(t: Tape, map: Tensor | undefined, levels: readonly Tensor[]): Tensor {
  const above = levels[levels.length - 1];
  if (map === undefined || above === undefined) throw new RangeError('no feature maps');
  const lateral = groupNormed(t, 'lateral_convs.0', map, { kernel: 1, bias: false, activated: false });
  const merged = add(t, lateral, resize(t, above, sizeOf(lateral)));
  const output = groupNormed(t, 'output_convs.0', merged, { kernel: 3, bias: false, activated: true });
  const feature = t.within('mask_feature', () => conv2d(t, output, { out: CHANNELS, kernel: 1, bias: true }));
  t.keep(lateral, output);
  return feature;
}

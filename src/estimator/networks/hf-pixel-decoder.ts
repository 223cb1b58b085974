import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropout } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { derived } from '../tape/ops-masks.ts';
import { groupNorm, layerNorm } from '../tape/ops-norm.ts';
import { concat, select, split } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { flatten, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import { type DeformableContext, hfDeformableAttention } from './hf-deformable-attention.ts';
import { hfSinePositions } from './hf-sine-positions.ts';

const CHANNELS = 256;
const GROUPS = 32;
const FEEDFORWARD = 1024;
const LAYERS = 6;

export interface HfPixelDecoding {
  /** B×256×H/4×W/4. */
  readonly maskFeature: Tensor;
  /** Maps at strides 32, 16, 8: views of one tensor of tokens. */
  readonly levels: readonly Tensor[];
}

/** Convolution and GroupNorm in a Sequential. */
function groupNormed(
  t: Tape,
  name: string,
  x: Tensor,
  options: { kernel: 1 | 3; bias: boolean; active: boolean },
): Tensor {
  return t.call(name, x, () => {
    const { kernel, bias, active } = options;
    const normalised = groupNorm(
      t,
      conv2d(t, x, { out: CHANNELS, kernel, padding: kernel === 3 ? 1 : 0, bias }),
      GROUPS,
    );
    return active ? relu(t, normalised, false) : normalised;
  });
}

/**
 * Pixel decoder of Mask2Former and OneFormer in transformers 5.24: six layers of deformable attention over the three
 * coarse maps (features are finest first), then one FPN step. `rate`: dropout in the layers (OneFormer).
 */
export function hfPixelDecoder(t: Tape, features: readonly Tensor[], rate = 0): HfPixelDecoding {
  return t.call('decoder', features, () => {
    const coarse = features.slice(-3).toReversed();
    const embedded: Tensor[] = [];
    const encodings: Tensor[] = [];
    for (const [level, map] of coarse.entries()) {
      embedded.push(groupNormed(t, `input_projections.${level}`, map, { kernel: 1, bias: true, active: false }));
      encodings.push(hfSinePositions(t, map, CHANNELS / 2));
    }
    const { tokens, context, held } = encoderInputs(t, embedded, encodings);
    const memory = t.call('encoder', [tokens], () => encode(t, tokens, context, rate));
    const parts = split(
      t,
      memory,
      1,
      context.sizes.map(([height, width]) => height * width),
    );
    const levels = parts.map((part, index) => asMap(t, part, context.sizes[index] ?? [1, 1]));
    const maskFeature = finest(t, features[0] ?? memory, levels);
    t.keep(...embedded, ...encodings, ...held, memory);
    return { maskFeature, levels };
  });
}

function asMap(t: Tape, tokens: Tensor, size: readonly [number, number]): Tensor {
  const [batch = 1, , channels = 1] = tokens.shape;
  return reshape(t, transpose(t, tokens, 1, 2), [batch, channels, ...size]);
}

const asTokens = (t: Tape, x: Tensor): Tensor => transpose(t, flatten(t, x, 2), 1, 2);

/** Maps as one row of tokens; positions with a learned vector a level; masks, ratios and reference points without a gradient. */
function encoderInputs(t: Tape, maps: readonly Tensor[], encodings: readonly Tensor[]) {
  const sizes = maps.map(sizeOf);
  const masks = maps.map(({ shape: [batch = 1, , height = 1, width = 1] }) =>
    derived(t, 'zeros', [], { shape: [batch, height, width], dtype: 'byte' }),
  );
  const tokens = concat(
    t,
    maps.map((map) => asTokens(t, map)),
    1,
  );
  const [batch = 1, count = 1] = tokens.shape;
  const padding = derived(t, 'cat', masks, { shape: [batch, count], dtype: 'byte' });
  const table = t.param(maps.length, CHANNELS);
  const placed = encodings.map((encoding) =>
    add(t, asTokens(t, encoding), reshape(t, select(t, table), [1, 1, CHANNELS])),
  );
  const positions = concat(t, placed, 1);
  const joined = derived(t, 'cat', [], { shape: [batch, count, 2], dtype: tokens.dtype });
  const references = derived(t, 'mul', [joined], { shape: [batch, count, maps.length, 2], dtype: tokens.dtype });
  const context: DeformableContext = { positions, padding, references, sizes };
  return { tokens, context, held: [...masks, tokens, padding, positions] };
}

function encode(t: Tape, tokens: Tensor, context: DeformableContext, rate: number): Tensor {
  let x = tokens;
  for (let layer = 0; layer < LAYERS; layer += 1) x = encoderLayer(t, x, context, rate);
  t.keep(context.references);
  return x;
}

/** Post-norm layer, with a check for infinities in training. */
function encoderLayer(t: Tape, x: Tensor, context: DeformableContext, rate: number): Tensor {
  return t.call('layers', x, () => {
    const [attended, weights] = hfDeformableAttention(t, x, context);
    const middle = layerNorm(t, add(t, x, dropout(t, attended, rate)));
    const wide = dropout(t, relu(t, linear(t, middle, FEEDFORWARD), false), rate);
    const out = layerNorm(t, add(t, middle, dropout(t, linear(t, wide, x.shape[2] ?? 1), rate)));
    t.keep(middle);
    if (t.training) checkFinite(t, out);
    t.keep(weights, out);
    return out;
  });
}

/** `torch.isfinite(x).all()`: a copy and three masks of bytes. */
function checkFinite(t: Tape, x: Tensor): void {
  const bytes = { shape: x.shape, dtype: 'byte' } as const;
  const absolute = derived(t, 'abs', [x], { shape: x.shape, dtype: x.dtype });
  const bounded = derived(t, 'ne', [absolute], bytes);
  const known = derived(t, 'eq', [x], bytes);
  const finite = derived(t, 'mul', [bounded, known], bytes);
  t.keep(absolute);
  derived(t, 'all', [finite], { shape: [], dtype: 'byte' });
}

function finest(t: Tape, map: Tensor, levels: readonly Tensor[]): Tensor {
  const above = levels[levels.length - 1] ?? map;
  const lateral = groupNormed(t, 'adapter_1', map, { kernel: 1, bias: false, active: false });
  const merged = add(t, lateral, resize(t, above, sizeOf(lateral)));
  const output = groupNormed(t, 'layer_1', merged, { kernel: 3, bias: false, active: true });
  const feature = t.within('mask_projection', () => conv2d(t, output, { out: CHANNELS, kernel: 1, bias: true }));
  t.keep(lateral, output);
  return feature;
}

import { AppError } from '../../errors.ts';
import { gelu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat, roll, slice } from '../tape/ops-parts.ts';
import { flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { sizeOf } from './blocks.ts';
import type { Network, Run } from './network.ts';
import { plainLoop } from './plain-loop.ts';
import { mergeWindows, partition, windowAttention } from './swin.ts';

const WINDOW = 7;
const WIDTH = 96;
const HEADS = [3, 6, 12, 24];
/** Two blocks a stage, four stages; stochastic depth grows to 0.2 over the encoder, the decoder mirrors it. */
const BLOCKS = 2;
const DROP_RATE = 0.2;

interface Grid {
  readonly height: number;
  readonly width: number;
}

/** One block; its windows, their attention and the merged map are locals that live until it returns. */
function block(t: Tape, x: Tensor, grid: Grid, at: { stage: number; index: number }): Tensor {
  const [batch = 1, , channels = 1] = x.shape;
  const { height, width } = grid;
  const shifts = at.index % 2 === 1 && Math.min(height, width) > WINDOW;
  const count = (height * width) / WINDOW ** 2;
  const rate = (DROP_RATE * (BLOCKS * at.stage + at.index)) / (4 * BLOCKS - 1);
  return t.call('', x, () => {
    const mask = shifts ? t.buffer([count, WINDOW ** 2, WINDOW ** 2]) : undefined;
    const map = reshape(t, layerNorm(t, x), [batch, height, width, channels]);
    const shifted = shifts ? roll(t, map) : map;
    const windows = reshape(t, partition(t, shifted, WINDOW), [-1, WINDOW ** 2, channels]);
    const attended = windowAttention(t, windows, { heads: HEADS[at.stage] ?? 3, window: WINDOW, mask });
    const merged = mergeWindows(t, attended, { batch, padded: grid, window: WINDOW });
    t.keep(shifted);
    const tokens = reshape(t, shifts ? roll(t, merged) : merged, [batch, height * width, channels]);
    const middle = add(t, x, dropPath(t, tokens, rate, false));
    const normalized = layerNorm(t, middle);
    const expanded = t.call('mlp', normalized, () => {
      const hidden = gelu(t, linear(t, normalized, 4 * channels));
      return linear(t, hidden, channels);
    });
    const out = add(t, middle, dropPath(t, expanded, rate, false));
    t.keep(windows, attended, merged);
    return out;
  });
}

function blocks(t: Tape, x: Tensor, grid: Grid, stage: number): Tensor {
  let feature = x;
  for (let index = 0; index < BLOCKS; index += 1) feature = block(t, feature, grid, { stage, index });
  return feature;
}

/** Four interleaved slices joined, normalised and halved. */
function merge(t: Tape, x: Tensor, grid: Grid): Tensor {
  const [batch = 1, , channels = 1] = x.shape;
  const { height, width } = grid;
  return t.call('downsample', x, () => {
    const map = reshape(t, x, [batch, height, width, channels]);
    const parts = [0, 1, 2, 3].map(() => slice(t, slice(t, map, 1, height / 2), 2, width / 2));
    const joined = reshape(t, concat(t, parts, 3), [batch, (height * width) / 4, 4 * channels]);
    const reduced = linear(t, layerNorm(t, joined), 2 * channels, { bias: false });
    return reduced;
  });
}

/** A linear layer whose channels become `factor`² pixels. */
function expand(t: Tape, x: Tensor, grid: Grid, { factor, out }: { factor: number; out: number }): Tensor {
  const [batch = 1] = x.shape;
  const { height, width } = grid;
  return t.call('upsample', x, () => {
    const wide = linear(t, x, factor * factor * out, { bias: false });
    const pixels = reshape(t, wide, [batch, height, width, factor, factor, out]);
    const spread = reshape(t, permute(t, pixels, [0, 1, 3, 2, 4, 5]), [batch, factor * factor * height * width, out]);
    return layerNorm(t, spread);
  });
}

function encoder(t: Tape, image: Tensor): { tokens: Tensor; skips: readonly Tensor[] } {
  const [height, width] = sizeOf(image);
  const patches = t.call('patch_embed', image, () => {
    const map = conv2d(t, image, { out: WIDTH, kernel: 4, stride: 4, bias: true });
    return layerNorm(t, transpose(t, flatten(t, map, 2), 1, 2));
  });
  const skips: Tensor[] = [];
  let tokens = patches;
  for (let stage = 0; stage < 4; stage += 1) {
    const grid = { height: height / (4 * 2 ** stage), width: width / (4 * 2 ** stage) };
    const input = tokens;
    skips.push(input);
    tokens = t.call(`layers.${stage}`, input, () => {
      const refined = blocks(t, input, grid, stage);
      return stage < 3 ? merge(t, refined, grid) : refined;
    });
  }
  return { tokens: layerNorm(t, tokens), skips };
}

function decoder(t: Tape, image: Tensor, deepest: Tensor, skips: readonly Tensor[]): Tensor {
  const [height, width] = sizeOf(image);
  let tokens = deepest;
  for (let stage = 3; stage >= 0; stage -= 1) {
    const grid = { height: height / (4 * 2 ** stage), width: width / (4 * 2 ** stage) };
    const channels = WIDTH * 2 ** stage;
    const skip = skips[stage];
    if (stage < 3 && skip !== undefined) {
      const joined = concat(t, [tokens, skip], 2);
      tokens = t.within(`concat_back_dim.${3 - stage}`, () => linear(t, joined, channels));
    }
    const input = tokens;
    tokens = t.call(`layers_up.${3 - stage}`, input, () => {
      const refined = stage < 3 ? blocks(t, input, grid, stage) : input;
      return stage > 0 ? expand(t, refined, grid, { factor: 2, out: channels / 2 }) : refined;
    });
  }
  return tokens;
}

function swinUnet({ t, w, spec }: Run, image: Tensor): Tensor {
  const [height, width] = sizeOf(image);
  const step = 32 * WINDOW;
  if (height % step !== 0 || width % step !== 0) {
    throw new AppError('unsupported-combination', `${spec.architecture} needs sides that are multiples of ${step}`, {
      details: { rule: 'multiple-of', height, width, multipleOf: step },
    });
  }
  return t.call('swin_unet', image, () => {
    const { tokens, skips } = encoder(t, image);
    const decoded = decoder(t, image, tokens, skips);
    const grid = { height: height / 4, width: width / 4 };
    const full = t.within('up', () => expand(t, layerNorm(t, decoded), grid, { factor: 4, out: WIDTH }));
    t.keep(decoded);
    const map = permute(t, reshape(t, full, [full.shape[0] ?? 1, height, width, WIDTH]), [0, 3, 1, 2]);
    const logits = t.within('output', () => conv2d(t, map, { out: w.numClasses, kernel: 1 }));
    t.keep(...skips);
    return logits;
  });
}

/** Swin-Unet (HuCaoFighting/Swin-Unet, Cao et al. 2021): Swin-T encoder, mirrored decoder, B×3×224×224 → B×classes×224×224. */
export const swinUnetNetworks: Readonly<Record<string, Network>> = { 'original/swin-unet': plainLoop(swinUnet) };

import { gelu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropPath } from '../tape/ops-layers.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { contiguous, flatten, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { multiHeadAttention } from './multi-head-attention.ts';

export interface MitOptions {
  /** First width; stages are ×1, ×2, ×5, ×8. */
  readonly width: number;
  readonly depths: readonly number[];
  /** Largest stochastic depth rate, reached linearly. */
  readonly dropPathRate: number;
  readonly checkpoint: boolean;
}

const HEADS = [1, 2, 5, 8];
const REDUCTIONS = [8, 4, 2, 1];

/** B×L×C → B×C×H×W: a view. */
export function tokensToMap(t: Tape, x: Tensor, size: readonly [number, number]): Tensor {
  const [batch = 1, , channels = 1] = x.shape;
  return reshape(t, transpose(t, x, 1, 2), [batch, channels, size[0], size[1]]);
}

/** B×C×H×W → B×L×C as a row-major copy. */
export function mapToTokens(t: Tape, x: Tensor): Tensor {
  return contiguous(t, transpose(t, flatten(t, x, 2), 1, 2));
}

/** Mix Transformer of MMSegmentation (SegFormer, Xie et al. 2021): four maps at strides 4, 8, 16, 32. */
export function mixTransformer(t: Tape, image: Tensor, options: MitOptions): readonly Tensor[] {
  const total = options.depths.reduce((sum, depth) => sum + depth, 0);
  const outputs: Tensor[] = [];
  let block = 0;
  let x = image;
  for (const [stage, depth] of options.depths.entries()) {
    const input = x;
    x = t.within(`layers.${stage}`, () => {
      const { tokens, size } = overlapEmbed(t, input, {
        channels: options.width * (HEADS[stage] ?? 1),
        kernel: stage === 0 ? 7 : 3,
        stride: stage === 0 ? 4 : 2,
      });
      let feature = tokens;
      for (let index = 0; index < depth; index += 1) {
        const layer = {
          heads: HEADS[stage] ?? 1,
          reduction: REDUCTIONS[stage] ?? 1,
          dropPath: total > 1 ? (options.dropPathRate * block) / (total - 1) : 0,
        };
        feature = encoderLayer(t, feature, size, { ...layer, checkpoint: options.checkpoint });
        block += 1;
      }
      return tokensToMap(t, layerNorm(t, feature), size);
    });
    outputs.push(x);
  }
  return outputs;
}

function overlapEmbed(
  t: Tape,
  x: Tensor,
  options: { channels: number; kernel: number; stride: number },
): { tokens: Tensor; size: readonly [number, number] } {
  return t.call('', x, () => {
    const map = conv2d(t, x, {
      out: options.channels,
      kernel: options.kernel,
      stride: options.stride,
      padding: Math.floor(options.kernel / 2),
      bias: true,
    });
    const tokens = layerNorm(t, transpose(t, flatten(t, map, 2), 1, 2));
    return { tokens, size: [map.shape[2] ?? 1, map.shape[3] ?? 1] as const };
  });
}

interface LayerOptions {
  readonly heads: number;
  readonly reduction: number;
  readonly dropPath: number;
  readonly checkpoint: boolean;
}

function encoderLayer(t: Tape, x: Tensor, size: readonly [number, number], options: LayerOptions): Tensor {
  return t.call('', x, () =>
    t.checkpointReentrant(options.checkpoint && x.requiresGrad, [x], () => {
      const attended = attention(t, layerNorm(t, x), { identity: x, size, options });
      const fed = feedForward(t, layerNorm(t, attended), { identity: attended, size, rate: options.dropPath });
      t.keep(attended);
      return fed;
    }),
  );
}

interface Residual {
  readonly identity: Tensor;
  readonly size: readonly [number, number];
}

/** Attention with keys and values from a strided convolution of the map. */
function attention(t: Tape, x: Tensor, { identity, size, options }: Residual & { options: LayerOptions }): Tensor {
  return t.call('', [x, identity], () => {
    const source = options.reduction > 1 ? reducedTokens(t, x, size, options.reduction) : x;
    const query = transpose(t, x, 0, 1);
    const key = transpose(t, source, 0, 1);
    const attended = transpose(t, multiHeadAttention(t, { query, key, value: key }, { heads: options.heads }), 0, 1);
    const out = add(t, identity, dropPath(t, attended, options.dropPath, true));
    t.keep(source, attended);
    return out;
  });
}

/** Tokens after a convolution of kernel and stride `ratio` over their map, normalised. */
export function reducedTokens(t: Tape, x: Tensor, size: readonly [number, number], ratio: number): Tensor {
  const map = conv2d(t, tokensToMap(t, x, size), { out: x.shape[2] ?? 1, kernel: ratio, stride: ratio, bias: true });
  return layerNorm(t, mapToTokens(t, map));
}

/** Feed-forward network with a depthwise 3×3 convolution between its two 1×1 convolutions. */
function feedForward(t: Tape, x: Tensor, { identity, size, rate }: Residual & { rate: number }): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('ffn', [x, identity], () => {
    const map = tokensToMap(t, x, size);
    const hidden = t.call('', map, () => {
      const wide = conv2d(t, map, { out: 4 * channels, kernel: 1, bias: true });
      const mixed = conv2d(t, wide, { out: 4 * channels, kernel: 3, padding: 1, groups: 4 * channels, bias: true });
      return conv2d(t, gelu(t, mixed), { out: channels, kernel: 1, bias: true });
    });
    const tokens = mapToTokens(t, hidden);
    const out = add(t, identity, dropPath(t, tokens, rate, true));
    t.keep(tokens);
    return out;
  });
}

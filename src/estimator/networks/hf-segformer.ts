import { AppError } from '../../errors.ts';
import { gelu, relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { dropout, dropPath } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { batchNorm, layerNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { clone, flatten, permute, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import type { AttentionKind } from '../workload.ts';
import { sizeOf } from './blocks.ts';
import { fromHeads, hfAttention, toHeads } from './hf-attention.ts';
import { hfSemanticModel } from './hf-loss.ts';
import { tokensToMap } from './mit.ts';
import { type Network, optionNumber, type Run } from './network.ts';

/** [hidden sizes, blocks per stage, decoder width]: configurations of nvidia/mit-b0 … b5. */
const VARIANTS: Readonly<Record<string, readonly [readonly number[], readonly number[], number]>> = {
  'mit-b0': [[32, 64, 160, 256], [2, 2, 2, 2], 256],
  'mit-b1': [[64, 128, 320, 512], [2, 2, 2, 2], 256],
  'mit-b2': [[64, 128, 320, 512], [3, 4, 6, 3], 768],
  'mit-b3': [[64, 128, 320, 512], [3, 4, 18, 3], 768],
  'mit-b4': [[64, 128, 320, 512], [3, 8, 27, 3], 768],
  'mit-b5': [[64, 128, 320, 512], [3, 6, 40, 3], 768],
};

const HEADS = [1, 2, 5, 8];
const REDUCTIONS = [8, 4, 2, 1];
const DROP_PATH = 0.1;

type Size = readonly [number, number];

interface Layer {
  readonly size: Size;
  readonly heads: number;
  readonly reduction: number;
  readonly rate: number;
  readonly attention: AttentionKind;
  readonly checkpoint: boolean;
}

function encoder({ t, w }: Run, image: Tensor, sizes: readonly number[], depths: readonly number[]): readonly Tensor[] {
  const total = depths.reduce((sum, depth) => sum + depth, 0);
  let block = 0;
  let x = image;
  return t.call('segformer', image, () =>
    depths.map((depth, stage) => {
      const input = x;
      x = t.call(`stages.${stage}`, input, () => {
        const { tokens, size } = overlapEmbed(t, input, { channels: sizes[stage] ?? 1, first: stage === 0 });
        let feature = tokens;
        for (let index = 0; index < depth; index += 1, block += 1) {
          const rate = (DROP_PATH * block) / Math.max(1, total - 1);
          const layer = {
            size,
            heads: HEADS[stage] ?? 1,
            reduction: REDUCTIONS[stage] ?? 1,
            rate,
            attention: w.attention,
            checkpoint: w.gradientCheckpointing,
          };
          feature = encoderLayer(t, feature, layer);
        }
        const [batch = 1, , channels = 1] = feature.shape;
        const map = reshape(t, layerNorm(t, feature), [batch, size[0], size[1], channels]);
        return clone(t, permute(t, map, [0, 3, 1, 2]));
      });
      return x;
    }),
  );
}

function overlapEmbed(
  t: Tape,
  x: Tensor,
  { channels, first }: { channels: number; first: boolean },
): { tokens: Tensor; size: Size } {
  return t.call('patch_embeddings', x, () => {
    const map = conv2d(t, x, {
      out: channels,
      kernel: first ? 7 : 3,
      stride: first ? 4 : 2,
      padding: first ? 3 : 1,
      bias: true,
    });
    return { tokens: layerNorm(t, transpose(t, flatten(t, map, 2), 1, 2)), size: sizeOf(map) };
  });
}

/** The eager attention matrix lives to the end of the layer: `hidden_states, _ = self.attention(…)`. */
function encoderLayer(t: Tape, x: Tensor, layer: Layer): Tensor {
  return t.call('', x, () =>
    t.checkpoint(layer.checkpoint, [x], () => {
      const normalised = layerNorm(t, x);
      const { output, weights } = selfAttention(t, normalised, layer);
      const middle = add(t, dropPath(t, output, layer.rate, true), x);
      const fed = mixFeedForward(t, layerNorm(t, middle), layer.size);
      const out = add(t, dropPath(t, fed, layer.rate, true), middle);
      if (weights !== undefined) t.keep(weights);
      return out;
    }),
  );
}

function selfAttention(t: Tape, x: Tensor, layer: Layer): { output: Tensor; weights: Tensor | undefined } {
  const channels = x.shape[2] ?? 1;
  return t.call('attention', x, () => {
    const query = toHeads(t, linear(t, x, channels), layer.heads);
    const source = layer.reduction > 1 ? t.call('sequence_reduction', x, () => reduceTokens(t, x, layer)) : x;
    const key = toHeads(t, linear(t, source, channels), layer.heads);
    const value = toHeads(t, linear(t, source, channels), layer.heads);
    const { output, weights } = hfAttention(t, { query, key, value }, layer.attention);
    const projected = linear(t, fromHeads(t, output), channels);
    t.keep(query, source, key, value, output);
    return { output: projected, weights };
  });
}

function reduceTokens(t: Tape, x: Tensor, { size, reduction }: Layer): Tensor {
  const map = conv2d(t, tokensToMap(t, x, size), {
    out: x.shape[2] ?? 1,
    kernel: reduction,
    stride: reduction,
    bias: true,
  });
  return layerNorm(t, transpose(t, flatten(t, map, 2), 1, 2));
}

function mixFeedForward(t: Tape, x: Tensor, size: Size): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('mlp', x, () => {
    const wide = linear(t, x, 4 * channels);
    const mixed = t.call('dwconv', wide, () => {
      const map = conv2d(t, tokensToMap(t, wide, size), {
        out: 4 * channels,
        kernel: 3,
        padding: 1,
        groups: 4 * channels,
        bias: true,
      });
      return transpose(t, flatten(t, map, 2), 1, 2);
    });
    return linear(t, gelu(t, mixed), channels);
  });
}

/** Plain linear projections, maps resized to stride 4 and joined deepest first, one 1×1 fusion. */
function decodeHead(t: Tape, maps: readonly Tensor[], options: { width: number; numClasses: number }): Tensor {
  const [first] = maps;
  if (first === undefined) throw new RangeError('no feature maps');
  return t.call('decode_head', maps, () => {
    const projected = maps.map((map) => {
      const tokens = t.call('linear_projections', map, () =>
        linear(t, transpose(t, flatten(t, map, 2), 1, 2), options.width),
      );
      return resize(t, tokensToMap(t, tokens, sizeOf(map)), sizeOf(first));
    });
    const fused = conv2d(t, concat(t, projected.toReversed(), 1), { out: options.width, kernel: 1 });
    const activated = dropout(t, relu(t, batchNorm(t, fused), false), 0.1);
    const logits = conv2d(t, activated, { out: options.numClasses, kernel: 1, bias: true });
    t.keep(...projected, activated);
    return logits;
  });
}

function logits(run: Run, image: Tensor): { logits: Tensor; held: readonly Tensor[] } {
  const { t, spec, w } = run;
  const variant = Object.hasOwn(VARIANTS, spec.backbone ?? '') ? VARIANTS[spec.backbone ?? ''] : undefined;
  if (variant === undefined) {
    throw new AppError('unknown-backbone', `SegFormer of transformers is not known on ${spec.backbone}`, {
      details: { architecture: 'segformer', known: Object.keys(VARIANTS) },
    });
  }
  const [sizes, depths, width] = variant;
  const maps = t.freeze(w.frozenBackbone, () => encoder(run, image, sizes, depths));
  const decoderWidth = optionNumber(spec, 'decoderHiddenSize', width);
  return { logits: decodeHead(t, maps, { width: decoderWidth, numClasses: w.numClasses }), held: maps };
}

/** SegformerForSemanticSegmentation of transformers 5.24. */
export const hfSegformer: Readonly<Record<string, Network>> = { 'transformers/segformer': hfSemanticModel(logits) };

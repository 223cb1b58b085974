import { activate } from '../tape/ops-activation.ts';
import { add } from '../tape/ops-core.ts';
import { dropout } from '../tape/ops-layers.ts';
import { linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import { resize } from '../tape/ops-resize.ts';
import { contiguous, reshape, transpose } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import { fromHeads, plainAttention, toHeads } from './hf-attention.ts';
import { hfSemanticModel, refuseSingleClass, type SemanticOutput } from './hf-loss.ts';
import { dilatedStages, mobileBlock, mobileConv, mobileDeepLab } from './hf-mobile-parts.ts';
import { lookUp, unknownBackbone } from './mmseg-names.ts';
import { type Network, optionNumber, type Run } from './network.ts';

/** [token widths, channels of stem and stages, expansion]: apple/mobilevit-small, -x-small, -xx-small (Mehta & Rastegari 2022). */
const VARIANTS: Readonly<Record<string, readonly [readonly number[], readonly number[], number]>> = {
  'mobilevit-s': [[144, 192, 240], [16, 32, 64, 96, 128, 160], 4],
  'mobilevit-xs': [[96, 120, 144], [16, 32, 48, 64, 80, 96], 4],
  'mobilevit-xxs': [[64, 80, 96], [16, 16, 24, 48, 64, 80], 2],
};
const TRANSFORMER_LAYERS = [2, 4, 3];
const HEADS = 4;
const PATCH = 2;
const DROPOUT = 0.1;

interface Stage {
  readonly out: number;
  readonly expansion: number;
  readonly stride: number;
  readonly dilation: number;
  readonly width: number;
  readonly layers: number;
  readonly checkpoint: boolean;
}

function transformerLayer(t: Tape, x: Tensor): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('', x, () => {
    const attended = attention(t, layerNorm(t, x));
    const middle = add(t, attended, x);
    const normalised = layerNorm(t, middle);
    const wide = t.call('intermediate', normalised, () => activate(t, linear(t, normalised, 2 * channels), 'silu'));
    const out = t.call('output', [wide, middle], () => add(t, dropout(t, linear(t, wide, channels), DROPOUT), middle));
    t.keep(attended, middle);
    return out;
  });
}

function attention(t: Tape, x: Tensor): Tensor {
  const channels = x.shape[2] ?? 1;
  return t.call('attention', x, () => {
    const context = t.call('attention', x, () => {
      const query = toHeads(t, linear(t, x, channels), HEADS);
      const key = toHeads(t, linear(t, x, channels), HEADS);
      const value = toHeads(t, linear(t, x, channels), HEADS);
      const output = plainAttention(t, { query, key, value });
      t.keep(query, key, value);
      return fromHeads(t, output);
    });
    const out = t.call('output', context, () => dropout(t, linear(t, context, channels), DROPOUT));
    t.keep(context);
    return out;
  });
}

/** B×C×H×W → (B·4)×N×C: the pixels of 2×2 patches attend to their like in other patches. */
function unfold(t: Tape, x: Tensor): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = x.shape;
  const [rows, columns] = [Math.ceil(height / PATCH), Math.ceil(width / PATCH)];
  const even = rows * PATCH === height && columns * PATCH === width;
  const map = even ? x : resize(t, x, [rows * PATCH, columns * PATCH]);
  const strips = transpose(t, reshape(t, map, [batch * channels * rows, PATCH, columns, PATCH]), 1, 2);
  const patches = transpose(t, reshape(t, strips, [batch, channels, rows * columns, PATCH * PATCH]), 1, 3);
  const tokens = reshape(t, patches, [batch * PATCH * PATCH, rows * columns, channels]);
  t.keep(map);
  return tokens;
}

function fold(t: Tape, tokens: Tensor, like: Tensor): Tensor {
  const [batch = 1, channels = 1, height = 1, width = 1] = like.shape;
  const [rows, columns] = [Math.ceil(height / PATCH), Math.ceil(width / PATCH)];
  const grid = reshape(t, contiguous(t, tokens), [batch, PATCH * PATCH, rows * columns, channels]);
  const strips = reshape(t, transpose(t, grid, 1, 3), [batch * channels * rows, columns, PATCH, PATCH]);
  const map = reshape(t, transpose(t, strips, 1, 2), [batch, channels, rows * PATCH, columns * PATCH]);
  return rows * PATCH === height && columns * PATCH === width ? map : resize(t, map, [height, width]);
}

function vitStage(t: Tape, x: Tensor, stage: Stage): Tensor {
  return t.call('layer', x, () =>
    t.checkpoint(stage.checkpoint, [x], () => {
      const down = mobileBlock(t, 'downsampling_layer', x, stage);
      const channels = channelsOf(down);
      const local = mobileConv(t, 'conv_kxk', down, { out: channels, kernel: 3 });
      const thin = mobileConv(t, 'conv_1x1', local, { out: stage.width, kernel: 1, norm: false, activation: 'none' });
      const patches = unfold(t, thin);
      let tokens = patches;
      t.call('transformer', patches, () => {
        for (let index = 0; index < stage.layers; index += 1) tokens = transformerLayer(t, tokens);
      });
      const normalised = layerNorm(t, tokens);
      const folded = fold(t, normalised, thin);
      t.keep(thin);
      const projected = mobileConv(t, 'conv_projection', folded, { out: channels, kernel: 1 });
      const joined = concat(t, [down, projected], 1);
      const out = mobileConv(t, 'fusion', joined, { out: channels, kernel: 3 });
      t.keep(normalised, projected, down);
      return out;
    }),
  );
}

function forward(run: Run, image: Tensor): SemanticOutput {
  const { t, spec, w } = run;
  const variant = lookUp(VARIANTS, spec.backbone);
  if (variant === undefined) throw unknownBackbone(run, Object.keys(VARIANTS));
  refuseSingleClass(w);
  const [widths, channels, expansion] = variant;
  const outputStride = w.outputStride ?? optionNumber(spec, 'outputStride', 16);
  const hidden: Tensor[] = [];
  t.freeze(w.frozenBackbone, () =>
    t.call('mobilevit', image, () => {
      const stem = mobileConv(t, 'conv_stem', image, { out: channels[0] ?? 1, kernel: 3, stride: 2 });
      hidden.push(mobileBlock(t, 'layer', stem, { out: channels[1] ?? 1, expansion, stride: 1 }));
      let x = hidden[0] ?? stem;
      for (const stride of [2, 1, 1]) x = mobileBlock(t, 'layer', x, { out: channels[2] ?? 1, expansion, stride });
      hidden.push(x);
      const steps = [{ stride: 2, dilation: 1 }, ...dilatedStages(outputStride)];
      for (const [index, step] of steps.entries()) {
        const sizes = {
          width: widths[index] ?? 1,
          layers: TRANSFORMER_LAYERS[index] ?? 1,
          out: channels[index + 3] ?? 1,
        };
        x = vitStage(t, x, { ...step, ...sizes, expansion, checkpoint: w.gradientCheckpointing });
        hidden.push(x);
      }
      t.keep(stem);
    }),
  );
  const last = hidden[hidden.length - 1] ?? image;
  return { logits: mobileDeepLab(t, last, { width: 256, numClasses: w.numClasses }), held: hidden };
}

/** MobileViTForSemanticSegmentation of transformers 5.24; attention is always unfused. */
export const hfMobileVit: Readonly<Record<string, Network>> = { 'transformers/mobilevit': hfSemanticModel(forward) };

import { relu, softmax } from '../tape/ops-activation.ts';
import { add, byteSize, multiply } from '../tape/ops-core.ts';
import { groupNorm } from '../tape/ops-norm.ts';
import { split } from '../tape/ops-parts.ts';
import { sum } from '../tape/ops-resize.ts';
import { expand, reshape } from '../tape/ops-shape.ts';
import { freshRule } from '../tape/rules.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import { hfSemanticModel, refuseSingleClass, type SemanticOutput } from './hf-loss.ts';
import { dilatedStages, mobileBlock, mobileConv, mobileDeepLab } from './hf-mobile-parts.ts';
import { toMultiple } from './hf-mobilenet-v2.ts';
import { unknownBackbone } from './mmseg-names.ts';
import { type Network, optionNumber, type Run } from './network.ts';

const EXPANSION = 2;
const TRANSFORMER_LAYERS = [2, 4, 3];
const TOKEN_WIDTHS = [128, 192, 256];
const CHANNELS = [256, 384, 512];
const PATCH = 2;

interface Stage {
  readonly out: number;
  readonly stride: number;
  readonly dilation: number;
  readonly width: number;
  readonly layers: number;
  readonly checkpoint: boolean;
}

/** `F.unfold` or `F.fold` of 2×2 patches without overlap: a copy. */
function rearranged(t: Tape, x: Tensor, name: 'im2col' | 'col2im', shape: readonly number[]): Tensor {
  t.begin(name, [x]);
  const storage = t.allocate(shape, x.dtype);
  t.work('pointwise', x.dtype === 'half', { macs: 0, bytes: 2 * byteSize(x) });
  return t.result({ storage, shape, dtype: x.dtype }, { name, inputs: [x], saved: [], rule: freshRule });
}

/** Attention of linear cost on B×C×4×N: one score a patch weighs the keys into a context vector. */
function linearAttention(t: Tape, x: Tensor): Tensor {
  const channels = channelsOf(x);
  const plain = { kernel: 1, norm: false, bias: true, activation: 'none' } as const;
  return t.call('attention', x, () => {
    const packed = mobileConv(t, 'qkv_proj', x, { ...plain, out: 1 + 2 * channels });
    const [query = packed, key = packed, value = packed] = split(t, packed, 1, [1, channels, channels]);
    const scores = softmax(t, query);
    const context = sum(t, multiply(t, key, scores), [-1], true);
    const mixed = multiply(t, relu(t, value, false), expand(t, context, value.shape));
    const out = mobileConv(t, 'out_proj', mixed, { ...plain, out: channels });
    t.keep(packed, scores, context, mixed);
    return out;
  });
}

function transformerLayer(t: Tape, x: Tensor): Tensor {
  const channels = channelsOf(x);
  const plain = { kernel: 1, norm: false, bias: true } as const;
  return t.call('', x, () => {
    const normalised = groupNorm(t, x, 1);
    const attended = linearAttention(t, normalised);
    const middle = add(t, attended, x);
    const again = groupNorm(t, middle, 1);
    const fed = t.call('ffn', again, () => {
      const wide = mobileConv(t, 'conv1', again, { ...plain, out: Math.floor((2 * channels) / 16) * 16 });
      return mobileConv(t, 'conv2', wide, { ...plain, out: channels, activation: 'none' });
    });
    const out = add(t, fed, middle);
    t.keep(normalised, attended, middle, fed);
    return out;
  });
}

function vitStage(t: Tape, x: Tensor, stage: Stage): Tensor {
  return t.call('layer', x, () =>
    t.checkpoint(stage.checkpoint, [x], () => {
      const down = mobileBlock(t, 'downsampling_layer', x, { ...stage, expansion: EXPANSION });
      const channels = channelsOf(down);
      const local = mobileConv(t, 'conv_kxk', down, { out: channels, kernel: 3, groups: channels });
      const thin = mobileConv(t, 'conv_1x1', local, { out: stage.width, kernel: 1, norm: false, activation: 'none' });
      const [batch = 1, width = 1, rows = 1, columns = 1] = thin.shape;
      const count = Math.floor(rows / PATCH) * Math.floor(columns / PATCH);
      const patches = rearranged(t, thin, 'im2col', [batch, width * PATCH * PATCH, count]);
      let tokens = reshape(t, patches, [batch, width, PATCH * PATCH, count]);
      t.call('transformer', patches, () => {
        for (let index = 0; index < stage.layers; index += 1) tokens = transformerLayer(t, tokens);
      });
      const normalised = groupNorm(t, tokens, 1);
      const flat = reshape(t, normalised, [batch, width * PATCH * PATCH, count]);
      const folded = rearranged(t, flat, 'col2im', thin.shape);
      t.keep(thin);
      const out = mobileConv(t, 'conv_projection', folded, { out: channels, kernel: 1, activation: 'none' });
      t.keep(normalised);
      return out;
    }),
  );
}

/** `mobilevitv2-1.25` → 1.25. */
function multiplierOf(run: Run): number {
  const found = /^mobilevitv2-([\d.]+)$/.exec(run.spec.backbone ?? '')?.[1];
  const multiplier = found === undefined ? Number.NaN : Number(found);
  if (multiplier >= 0.25 && multiplier <= 4) return multiplier;
  throw unknownBackbone(run, ['mobilevitv2-0.5', 'mobilevitv2-1.0', 'mobilevitv2-2.0']);
}

function forward(run: Run, image: Tensor): SemanticOutput {
  const { t, spec, w } = run;
  refuseSingleClass(w);
  const multiplier = multiplierOf(run);
  const outputStride = w.outputStride ?? optionNumber(spec, 'outputStride', 16);
  const hidden: Tensor[] = [];
  t.freeze(w.frozenBackbone, () =>
    t.call('mobilevitv2', image, () => {
      const width = toMultiple(Math.max(16, Math.min(64, 32 * multiplier)), 8, 16);
      const stem = mobileConv(t, 'conv_stem', image, { out: width, kernel: 3, stride: 2 });
      const narrow = { out: toMultiple(64 * multiplier, 16), expansion: EXPANSION, stride: 1 };
      let x = mobileBlock(t, 'layer', stem, narrow);
      hidden.push(x);
      for (const stride of [2, 1]) {
        x = mobileBlock(t, 'layer', x, { out: toMultiple(128 * multiplier), expansion: EXPANSION, stride });
      }
      hidden.push(x);
      const steps = [{ stride: 2, dilation: 1 }, ...dilatedStages(outputStride)];
      for (const [index, step] of steps.entries()) {
        const out = toMultiple((CHANNELS[index] ?? 1) * multiplier);
        const sizes = {
          out,
          width: toMultiple((TOKEN_WIDTHS[index] ?? 1) * multiplier),
          layers: TRANSFORMER_LAYERS[index] ?? 1,
        };
        x = vitStage(t, x, { ...step, ...sizes, checkpoint: w.gradientCheckpointing });
        hidden.push(x);
      }
      t.keep(stem);
    }),
  );
  const last = hidden[hidden.length - 1] ?? image;
  return { logits: mobileDeepLab(t, last, { width: 512, numClasses: w.numClasses }), held: hidden };
}

/** MobileViTV2ForSemanticSegmentation of transformers 5.24 (Mehta & Rastegari 2022). */
export const hfMobileVitV2: Readonly<Record<string, Network>> = {
  'transformers/mobilevitv2': hfSemanticModel(forward),
};

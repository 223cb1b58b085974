import { gelu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { add, multiply } from '../tape/ops-core.ts';
import { linear } from '../tape/ops-linear.ts';
import { layerNorm } from '../tape/ops-norm.ts';
import { pad } from '../tape/ops-parts.ts';
import { permute, reshape } from '../tape/ops-shape.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf, layerNorm2d, sizeOf } from './blocks.ts';
import { type EncoderTable, missingHalf, type Step } from './encoder.ts';

interface Variant {
  readonly depths: readonly number[];
  readonly widths: readonly number[];
  /** 1×1 convolutions instead of linear layers (timm's small variants). */
  readonly convMlp?: boolean;
}

/** Liu et al. 2022, §3; the sizes below tiny are timm's own. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  convnext_atto: { depths: [2, 2, 6, 2], widths: [40, 80, 160, 320], convMlp: true },
  convnext_femto: { depths: [2, 2, 6, 2], widths: [48, 96, 192, 384], convMlp: true },
  convnext_pico: { depths: [2, 2, 6, 2], widths: [64, 128, 256, 512], convMlp: true },
  convnext_nano: { depths: [2, 2, 8, 2], widths: [80, 160, 320, 640], convMlp: true },
  convnext_tiny_hnf: { depths: [3, 3, 9, 3], widths: [96, 192, 384, 768], convMlp: true },
  convnext_tiny: { depths: [3, 3, 9, 3], widths: [96, 192, 384, 768] },
  convnext_small: { depths: [3, 3, 27, 3], widths: [96, 192, 384, 768] },
  convnext_base: { depths: [3, 3, 27, 3], widths: [128, 256, 512, 1024] },
  convnext_large: { depths: [3, 3, 27, 3], widths: [192, 384, 768, 1536] },
  convnext_large_mlp: { depths: [3, 3, 27, 3], widths: [192, 384, 768, 1536] },
  convnext_xlarge: { depths: [3, 3, 27, 3], widths: [256, 512, 1024, 2048] },
  convnext_xxlarge: { depths: [3, 4, 30, 3], widths: [384, 768, 1536, 3072] },
};

function mlp(t: Tape, x: Tensor, convolutional: boolean): Tensor {
  const width = convolutional ? channelsOf(x) : (x.shape[3] ?? 1);
  const project = (input: Tensor, out: number): Tensor =>
    convolutional ? conv2d(t, input, { out, kernel: 1, bias: true }) : linear(t, input, out);
  return t.call('mlp', x, () => project(gelu(t, project(x, 4 * width)), width));
}

function block(t: Tape, x: Tensor, shape: { dilation: number; convMlp: boolean }): Tensor {
  const width = channelsOf(x);
  const { dilation, convMlp } = shape;
  return t.call('', x, () => {
    const mixed = conv2d(t, x, { out: width, kernel: 7, padding: 3 * dilation, dilation, groups: width, bias: true });
    const refined = convMlp
      ? mlp(t, layerNorm2d(t, 'norm', mixed), true)
      : permute(t, mlp(t, layerNorm(t, permute(t, mixed, [0, 2, 3, 1])), false), [0, 3, 1, 2]);
    const scaled = multiply(t, refined, reshape(t, t.param(width), [1, width, 1, 1]));
    return add(t, scaled, x);
  });
}

/** Norm and a 2×2 convolution; where its stride became a dilation, the sides are kept by padding. */
function downsample(t: Tape, x: Tensor, shape: { out: number; dilation: number }): Tensor {
  const { out, dilation } = shape;
  return t.call('downsample', x, () => {
    const normalized = layerNorm2d(t, '0', x);
    if (dilation === 1) return conv2d(t, normalized, { out, kernel: 2, stride: 2, bias: true });
    if (dilation > 2) return conv2d(t, normalized, { out, kernel: 2, padding: 1, dilation: 2, bias: true });
    const [height, width] = sizeOf(x);
    return t.call('1', normalized, () => {
      const padded = pad(t, normalized, [x.shape[0] ?? 1, channelsOf(x), height + 1, width + 1]);
      return conv2d(t, padded, { out, kernel: 2, bias: true });
    });
  });
}

function stage(t: Tape, x: Tensor, index: number, at: { variant: Variant; outputStride: number }): Tensor {
  const { variant, outputStride } = at;
  const dilation = Math.max(1, (4 * 2 ** index) / outputStride);
  const out = variant.widths[index] ?? 96;
  const convMlp = variant.convMlp ?? false;
  return t.call(`stages_${index}`, x, () => {
    const entered = index === 0 ? x : downsample(t, x, { out, dilation });
    return t.call('blocks', entered, () => {
      let feature = entered;
      for (let layer = 0; layer < (variant.depths[index] ?? 0); layer += 1)
        feature = block(t, feature, { dilation, convMlp });
      return feature;
    });
  });
}

function stem(t: Tape, x: Tensor, width: number): Tensor {
  const patches = t.within('stem_0', () => conv2d(t, x, { out: width, kernel: 4, stride: 4, bias: true }));
  return layerNorm2d(t, 'stem_1', patches);
}

/** timm 1.0.31 ConvNeXt behind `features_only`: no norm after the stages, none of them beyond the deepest map. */
export const timmConvnextEncoders: EncoderTable = Object.fromEntries(
  Object.entries(VARIANTS).map(([name, variant]) => [
    `tu-${name}`,
    {
      dilates: true,
      minimumDepth: 2,
      features: (t, image, { depth, outputStride }) => {
        const steps = [0, 1, 2, 3].map(
          (index): Step =>
            (tape, x) =>
              stage(tape, x, index, { variant, outputStride }),
        );
        const maps: Tensor[] = [];
        let feature = stem(t, image, variant.widths[0] ?? 96);
        for (const step of steps.slice(0, depth - 1)) {
          feature = step(t, feature);
          maps.push(feature);
        }
        t.keep(...maps);
        return [image, missingHalf(t, image), ...maps];
      },
    },
  ]),
);

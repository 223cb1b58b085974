import { relu } from '../tape/ops-activation.ts';
import { conv2d } from '../tape/ops-conv.ts';
import { averagePool, maxPool } from '../tape/ops-layers.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import { concat } from '../tape/ops-parts.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import { type EncoderTable, runSteps, type Step } from './encoder.ts';

interface Variant {
  readonly stem: number;
  readonly growth: number;
  readonly layers: readonly number[];
}

/** Huang et al. 2017, table 1. */
const VARIANTS: Readonly<Record<string, Variant>> = {
  densenet121: { stem: 64, growth: 32, layers: [6, 12, 24, 16] },
  densenet169: { stem: 64, growth: 32, layers: [6, 12, 32, 32] },
  densenet201: { stem: 64, growth: 32, layers: [6, 12, 48, 32] },
  densenet161: { stem: 96, growth: 48, layers: [6, 12, 36, 24] },
};

function denseLayer(t: Tape, maps: readonly Tensor[], growth: number): Tensor {
  return t.call('', maps, () => {
    const joined = concat(t, maps, 1);
    const bottleneck = conv2d(t, relu(t, batchNorm(t, joined)), { out: 4 * growth, kernel: 1 });
    t.keep(joined);
    const refined = conv2d(t, relu(t, batchNorm(t, bottleneck)), { out: growth, kernel: 3, padding: 1 });
    t.keep(bottleneck);
    return refined;
  });
}

/** Every layer joins the block's input and all maps before it. */
function denseBlock(t: Tape, name: string, x: Tensor, shape: { count: number; growth: number }): Tensor {
  return t.call(name, x, () => {
    const maps = [x];
    for (let layer = 0; layer < shape.count; layer += 1) maps.push(denseLayer(t, [...maps], shape.growth));
    const joined = concat(t, maps, 1);
    t.keep(...maps);
    return joined;
  });
}

function steps({ stem, growth, layers }: Variant): Step[] {
  const scales = layers.map((count, index): Step => {
    const last = index === layers.length - 1;
    return (t, x) => {
      const input =
        index === 0
          ? maxPool(t, x, { kernel: 3, stride: 2, padding: 1 })
          : averagePool(t, conv2d(t, x, { out: channelsOf(x) / 2, kernel: 1 }), { kernel: 2, stride: 2 });
      const dense = denseBlock(t, `denseblock${index + 1}`, input, { count, growth });
      const normalized = t.within(last ? 'norm5' : `transition${index + 1}`, () => batchNorm(t, dense));
      return last ? normalized : relu(t, normalized);
    };
  });
  return [(t, x) => relu(t, batchNorm(t, conv2d(t, x, { out: stem, kernel: 7, stride: 2, padding: 3 }))), ...scales];
}

/** torchvision's DenseNet as segmentation_models_pytorch 0.6 cuts it: after each transition's norm. */
export const densenetEncoders: EncoderTable = Object.fromEntries(
  Object.entries(VARIANTS).map(([name, variant]) => [
    name,
    {
      dilates: false,
      features: (t, image, { depth }) => [
        image,
        ...t.within('features', () => runSteps(t, image, steps(variant), { count: depth })),
      ],
    },
  ]),
);

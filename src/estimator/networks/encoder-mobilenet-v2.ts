import { activate } from '../tape/ops-activation.ts';
import { type ConvOptions, conv2d } from '../tape/ops-conv.ts';
import { add } from '../tape/ops-core.ts';
import { batchNorm } from '../tape/ops-norm.ts';
import type { Tensor } from '../tape/storage.ts';
import type { Tape } from '../tape/tape.ts';
import { channelsOf } from './blocks.ts';
import { type EncoderRequest, type EncoderTable, runSteps, type Step } from './encoder.ts';

/** Expansion, width, repeats, stride of the seven groups. Sandler et al. 2018, table 2. */
const GROUPS = [
  [1, 16, 1, 1],
  [6, 24, 2, 2],
  [6, 32, 3, 2],
  [6, 64, 4, 2],
  [6, 96, 3, 1],
  [6, 160, 3, 2],
  [6, 320, 1, 1],
] as const;

/** Convolution, norm and in-place ReLU6 (torchvision's Conv2dNormActivation). */
export function convRelu6(t: Tape, x: Tensor, options: ConvOptions): Tensor {
  return t.call('', x, () => activate(t, batchNorm(t, conv2d(t, x, options)), 'relu6', true));
}

export interface InvertedOptions {
  readonly out: number;
  readonly expansion: number;
  readonly stride: number;
  readonly dilation: number;
}

/** torchvision's InvertedResidual: `x + conv(x)` where the shape stays. */
export function invertedResidual(t: Tape, x: Tensor, block: InvertedOptions): Tensor {
  const { out, expansion, stride, dilation } = block;
  return t.call('', x, () => {
    const refined = t.call('conv', x, () => {
      const width = channelsOf(x) * expansion;
      const expanded = expansion === 1 ? x : convRelu6(t, x, { out: width, kernel: 1 });
      const spatial = { out: width, kernel: 3, stride, padding: dilation, dilation, groups: width };
      return batchNorm(t, conv2d(t, convRelu6(t, expanded, spatial), { out, kernel: 1 }));
    });
    return block.stride === 1 && channelsOf(x) === out ? add(t, x, refined) : refined;
  });
}

/** Index in `features` of the last module of each scale: 1, 3, 6, 13, 18. */
function steps(outputStride: EncoderRequest['outputStride']): Step[] {
  const modules: Step[] = [
    (t, x) => t.within('0', () => convRelu6(t, x, { out: 32, kernel: 3, stride: 2, padding: 1 })),
  ];
  for (const [expansion, out, repeats, stride] of GROUPS) {
    for (let repeat = 0; repeat < repeats; repeat += 1) {
      const index = modules.length;
      const scale = index >= 14 ? 32 : index >= 7 ? 16 : 8;
      const dilated = scale > outputStride;
      const block = {
        out,
        expansion,
        stride: repeat === 0 && !dilated ? stride : 1,
        dilation: dilated ? scale / outputStride : 1,
      };
      modules.push((t, x) => t.within(`${index}`, () => invertedResidual(t, x, block)));
    }
  }
  modules.push((t, x) => t.within('18', () => convRelu6(t, x, { out: 1280, kernel: 1 })));
  return [
    [0, 2],
    [2, 4],
    [4, 7],
    [7, 14],
    [14, 19],
  ].map(
    ([from, to]) =>
      (t, x) =>
        modules.slice(from, to).reduce((feature, module) => module(t, feature), x),
  );
}

/** torchvision's MobileNetV2 as segmentation_models_pytorch 0.6 cuts it; its loop runs one scale too far. */
export const mobilenetV2Encoders: EncoderTable = {
  mobilenet_v2: {
    dilates: true,
    features: (t, image, { depth, outputStride }) => [
      image,
      ...t.within('features', () => runSteps(t, image, steps(outputStride), { count: depth, ahead: true })),
    ],
  },
};
